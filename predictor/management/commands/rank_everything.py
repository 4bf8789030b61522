"""`manage.py rank_everything`: predictions of all workloads on all platforms."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.management.base import CommandError

from predictor.core.database import Database
from predictor.core.fleet_rankings import RankedPlatform, rank_workloads
from predictor.core.methods import DEFAULT_METHOD, METHODS
from predictor.management.subjects import WholeTableCommand
from profiles.dump.files import DumpRow
from profiles.dump.tables import DumpColumn, DumpTable
from profiles.jobs.executors import Executor

RANKINGS_TABLE = DumpTable(
    "rankings",
    "Every workload on every platform, as if it had not been measured there",
    (
        DumpColumn("workload", "string", "slug", required=True),
        DumpColumn("place", "integer", "1 is the fastest; null: no time can be predicted"),
        DumpColumn("platform", "string", "slug", required=True),
        DumpColumn("n_best", "integer", "thread count with the smallest predicted time"),
        DumpColumn("time_s", "number", "predicted time with n_best threads"),
        DumpColumn("low_s", "number", "the 90 % interval; null: none, or an estimate"),
        DumpColumn("high_s", "number", ""),
        DumpColumn("estimated", "boolean", "whether the time is an estimate, good for the order only", required=True),
        DumpColumn("refusal", "string", "reason why there is no time, else empty", required=True),
    ),
    ("workload", "platform"),
)


class Command(WholeTableCommand):
    help = "Predict every workload on every platform, and write all rankings as one table."
    table = RANKINGS_TABLE

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--method", choices=METHODS, default=DEFAULT_METHOD, help=f"prediction method (default: {DEFAULT_METHOD})"
        )
        parser.add_argument("--workloads", metavar="W[,W...]", help="slugs of the workloads to rank (default: all)")
        parser.add_argument("--estimate", action="store_true", help="estimate the times in one pass per workload")

    def parts_of_rows(
        self, database: Database, executor: Executor, options: dict[str, Any]
    ) -> tuple[int, Iterator[Iterator[DumpRow]]]:
        method, workloads = METHODS[options["method"]], workload_positions(database, options["workloads"])
        rankings = rank_workloads(
            database, method, method.settings(), workloads, is_estimated=options["estimate"], executor=executor
        )
        return len(workloads), (ranking_rows(database, rows, options["estimate"]) for rows in rankings)


def workload_positions(database: Database, names: str | None) -> list[int]:
    if names is None:
        return list(range(len(database.workloads)))
    position = {slug: index for index, slug in enumerate(database.workloads)}
    wanted = list(dict.fromkeys(filter(None, (name.strip() for name in names.split(",")))))
    unknown = [name for name in wanted if name not in position]
    if unknown or not wanted:
        raise CommandError(f"--workloads: no workload {', '.join(map(repr, unknown or ['']))}")
    return [position[name] for name in wanted]


def ranking_rows(database: Database, ranked: Sequence[RankedPlatform], is_estimated: bool) -> Iterator[DumpRow]:
    for place, row in enumerate(ranked, start=1):
        yield (
            database.workloads[row.workload],
            None if row.time_s is None else place,
            database.platforms[row.platform],
            *(row.n, row.time_s, row.low_s, row.high_s),
            is_estimated,
            row.refusal,
        )
