"""What the pages offer to choose from, and the pair that they begin with; the two boxes of the front page, which offer
only pairs that have an answer. And what is read of an address of such a page."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from django.conf import settings
from django.urls import reverse

from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.availability import answered_pairs
from predictor.core.comparisons.documents import positions_with_most_profiles
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.snapshot.cache import read_database
from profiles.arrays import BoolArray
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.models import Platform, Profile, Workload
from profiles.identity.programs import programs_by_source, region_rows

MOST_OFFERED = 150  # on the front page
MOST_NAMES_IN_LIST = 2000  # of a field; any other visible name can be typed
LARGEST_WORKLOADS_SEEN = 64
MOST_IN_BOX = 600  # of the front page, in each; any other name can be typed
MOST_PROGRAM_SOURCES = 20  # their programs are offered
PROGRAM_MARK = "program "


def mixing_choices(method: str, chosen: str) -> list[tuple[str, bool]]:
    """What `mix_runtimes` may be, and which of it is chosen; empty for a method that has no such setting."""
    kind = typing.get_type_hints(METHODS[method].settings).get("mix_runtimes") if method in METHODS else None
    choices = typing.get_args(kind)
    return [(choice, choice == (chosen or choices[0])) for choice in choices]


def offered_names(model: Any, user: Any, chosen: str, *, scaling: bool = False) -> list[tuple[str, str]]:
    """Slugs and names to choose from, the chosen one among them, those of one name with a label (`disambiguate`);
    `scaling`: of what ran with more than one thread."""
    offered = disambiguate(model.objects.offered_to(user, scaling=scaling)[:MOST_OFFERED], user)
    rows = [(row.slug, disambiguated_name(row)) for row in offered]
    if not chosen or chosen in dict(rows):
        return rows
    (name,) = model.objects.visible_to(user).filter(slug=chosen).values_list("name", flat=True) or (chosen,)
    return [(chosen, name), *rows]


def first_pair(user: Any) -> tuple[str, str]:
    """The workload and the machine that an empty form shows: those of MPET_FIRST_PAIR where the user sees them, else
    the workload with the most profiles that has curves, on the machine that has it and most profiles. Measured profiles
    come before simulated ones; where nothing has a curve, any pair."""
    if len(settings.FIRST_PAIR) == 2:
        workload, target = settings.FIRST_PAIR
        rows = ((Workload, workload), (Platform, target))
        if all(model.objects.visible_to(user).filter(slug=slug).exists() for model, slug in rows):
            return workload, target
    for needs_curves in (True, False):
        for origins in (MEASURED, SIMULATED):
            database = read_database(user, origins=origins)
            for workload in positions_with_most_profiles(database, "workloads", LARGEST_WORKLOADS_SEEN):
                if needs_curves and not has_curves(database, workload):
                    continue
                platforms = np.unique(database.platform_index[database.rows_of_workload(workload)])
                profiles = np.bincount(database.platform_index)[platforms]
                return database.workloads[workload], database.platforms[platforms[profiles.argmax()]]
    return "", ""


def has_curves(database: Database, workload: int) -> bool:
    """Whether the workload was measured on two platforms or more, at more than one thread count."""
    rows = database.rows_of_workload(workload)
    lengths = database.curve_offsets[rows + 1] - database.curve_offsets[rows]
    return len(np.unique(database.platform_index[rows[lengths > 1]])) > 1


def asks_for_public(parameters: Mapping[str, str]) -> bool:
    """Whether the check box of a form, or the parameter of an address, asks for public data only."""
    return parameters.get("public_only", "").lower() in {"true", "on", "1"}


def given_parameters(parameters: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Those of these parameters that the address has a value for."""
    return {name: parameters[name] for name in names if parameters.get(name)}


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
        # Workloads x platforms, computed once for each database.
        table: BoolArray = database.derive("answered pairs", partial(answered_pairs, database))
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
