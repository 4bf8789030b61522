"""What the pages offer to choose from, and the pair that they begin with."""

import typing
from typing import Any

import numpy as np
from django.conf import settings

from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.comparisons.documents import positions_with_most_profiles
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.snapshot.cache import read_database
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.models import Platform, Workload

MOST_OFFERED = 150  # on the front page
MOST_NAMES_IN_LIST = 2000  # of a field; any other visible name can be typed
LARGEST_WORKLOADS_SEEN = 64


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
                if not needs_curves or has_curves(database, workload):
                    return database.workloads[workload], database.platforms[platforms_of(database, workload)[0]]
    return "", ""


def platforms_of(database: Database, workload: int) -> list[int]:
    """The platforms that have the workload, those with the most profiles first."""
    profiles = np.bincount(database.platform_index, minlength=len(database.platforms))
    platforms = database.platform_index[database.rows_of_workload(workload)].tolist()
    return sorted(set(platforms), key=lambda platform: (-profiles[platform], platform))


def has_curves(database: Database, workload: int) -> bool:
    """Whether the workload was measured on two platforms or more, at more than one thread count."""
    rows = database.rows_of_workload(workload)
    lengths = database.curve_offsets[rows + 1] - database.curve_offsets[rows]
    return len(np.unique(database.platform_index[rows[lengths > 1]])) > 1


def asks_for_public(value: Any) -> bool:
    """Whether a check box of a form, or the parameter of an address, asks for public data only."""
    return str(value).lower() in {"true", "on", "1"}
