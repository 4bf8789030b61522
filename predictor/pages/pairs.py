"""The two boxes of the front page, which offer only pairs that have an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse

from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.availability import answered_pairs
from predictor.core.database import Database
from predictor.snapshot.cache import read_database
from profiles.arrays import BoolArray
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.identity.programs import programs_by_source, region_rows
from profiles.models import Platform, Profile, Workload

MOST_IN_BOX = 600  # of each; any other name can be typed
MOST_PROGRAM_SOURCES = 20  # their programs are offered
PROGRAM_MARK = "program "


@dataclass(frozen=True)
class Offer:
    """What a box offers: the label that is shown and sent, and the slug or the address that it stands for."""

    label: str
    stands_for: str


@dataclass(frozen=True)
class OfferedPairs:
    """Workloads and machines that have an answer together with what the other box has."""

    workloads: list[Offer]
    programs: list[Offer]
    machines: list[Offer]


def offered_pairs(user: Any, workload: str = "", target: str = "") -> OfferedPairs:
    """What the boxes offer where they hold the slugs `workload` and `target`; empty: nothing yet."""
    workloads, machines = set(), set()
    answered: set[str] = set()
    for origins in (MEASURED, SIMULATED):
        database = read_database(user, origins=origins)
        table = answer_table(database)
        if target in database.platforms:
            wanted = table[:, database.platforms.index(target)]
        else:
            wanted = np.full(len(database.workloads), not target) & table.any(axis=1)
        known = np.bincount(database.workload_index, minlength=len(database.workloads)) > 0
        own = {database.workloads[row] for row in np.flatnonzero(known).tolist()} - answered
        workloads |= {database.workloads[row] for row in np.flatnonzero(wanted).tolist()} & own
        rows = [database.workloads.index(slug) for slug in ({workload} if workload else own) & own]
        columns = table[rows].any(axis=0) if rows else np.zeros(len(database.platforms), dtype=bool)
        machines |= {database.platforms[column] for column in np.flatnonzero(columns).tolist()}
        answered |= own
    return OfferedPairs(offers(Workload, user, workloads), offered_programs(user), offers(Platform, user, machines))


def answer_table(database: Database) -> BoolArray:
    """Whether the default method has an answer, workloads x platforms. Computed once for each database."""
    table: BoolArray = database.derive("answered pairs", lambda: answered_pairs(database))
    return table


def offers(model: Any, user: Any, slugs: set[str]) -> list[Offer]:
    rows = model.objects.offered_to(user).filter(slug__in=sorted(slugs)[:MOST_IN_BOX])
    return [Offer(disambiguated_name(row), row.slug) for row in disambiguate(rows, user)]


def offered_programs(user: Any) -> list[Offer]:
    """The programs that were profiled last; each stands for the address of its page."""
    sources = region_rows(Profile.objects.visible_to(user)).order_by("-source").values_list("source", flat=True)
    newest = list(sources.distinct()[:MOST_PROGRAM_SOURCES])
    return [
        Offer(f"{PROGRAM_MARK}{program.name}", reverse("program", args=program.address))
        for programs in programs_by_source(newest, user).values()
        for program in programs
    ]
