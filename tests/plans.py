"""SQLite's query plans, and the plans that scan a large table in full, or once for each row of another table.

Without ANALYZE, SQLite chooses plans by the indexes alone, so a small database has the same plans as a large one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection

TABLES_OF_PROFILES = frozenset(
    f"profiles_{name}" for name in ("profile", "run", "counterreading", "scalingcurves", "featurevector")
)
# Nearly all rows have the same value in these columns, so an index lookup by them reads almost the whole table.
UNSELECTIVE = frozenset({"private_to_id", "hidden", "origin", "outlier_reason", "outlier_judge", "decomposed"})
LOOP = re.compile(r"(?:SCAN|SEARCH) (\w+)")
ALIAS = re.compile(r'"(\w+)" ([A-Z]\d+)\b')
EXPLAINED = ("SELECT", "UPDATE", "DELETE")
LONGEST_SHOWN = 90

Query = tuple[str, Any]  # SQL and its parameters


@dataclass(frozen=True)
class Step:
    """One row of EXPLAIN QUERY PLAN, with its child steps."""

    detail: str
    below: tuple[Step, ...]


@contextmanager
def captured_queries() -> Iterator[dict[str, Any]]:
    """Collect the distinct queries of the block, each with the parameters of its first execution."""
    queries: dict[str, Any] = {}

    def capture(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not many and sql.startswith(EXPLAINED):
            queries.setdefault(sql, params)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(capture):
        yield queries


def plan_of(sql: str, params: Any) -> tuple[Step, ...]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        rows = cursor.fetchall()

    def below(parent: int) -> tuple[Step, ...]:
        return tuple(Step(detail, below(key)) for key, of, _, detail in rows if of == parent)

    return below(0)


def whole_reads(sql: str, plan: tuple[Step, ...], tables: frozenset[str] = TABLES_OF_PROFILES) -> list[str]:
    """Return the steps of the plan that scan one of the tables in full, or all of its public rows."""
    return [step.detail for step in _all_steps(plan) if _reads_whole(sql, step, tables)]


def repeated_reads(sql: str, plan: tuple[Step, ...], tables: frozenset[str] = TABLES_OF_PROFILES) -> list[str]:
    """Return the subqueries of the plan that scan one of the tables in full for each row of another table.

    These are correlated subqueries, and lists whose result an inner loop runs through to look up its rows.
    """
    found = []
    for steps in _levels(plan):
        loops: list[str] = []
        for step in steps:
            if step.detail.startswith(("SCAN", "SEARCH")):
                loops.append(step.detail)
            elif "SUBQUERY" in step.detail and whole_reads(sql, step.below, tables):
                is_inner_list = step.detail.startswith("LIST") and len(loops) > 1 and "rowid=?" in loops[-1]
                if step.detail.startswith("CORRELATED") or is_inner_list:
                    found.append(f"{step.detail} of {loops[-1] if loops else 'the query'}")
    return found


def shortened(sql: str) -> str:
    """Return the query without its columns, shortened for a report."""
    text = re.sub(r"SELECT (DISTINCT )?.*? FROM", r"SELECT \1... FROM", sql.replace('"', ""), count=1)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + " ..."


def _levels(plan: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    yield plan
    for step in plan:
        yield from _levels(step.below)


def _all_steps(plan: tuple[Step, ...]) -> Iterator[Step]:
    for steps in _levels(plan):
        yield from steps


def _reads_whole(sql: str, step: Step, tables: frozenset[str]) -> bool:
    loop = LOOP.match(step.detail)
    if loop is None:
        return False
    named = {table for table, alias in ALIAS.findall(sql) if alias == loop[1]} | {loop[1]}
    if not named & tables:
        return False
    looked_up = set(re.findall(r"(\w+)[=<>]", step.detail))
    return step.detail.startswith("SCAN") or looked_up <= UNSELECTIVE
