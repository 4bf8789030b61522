"""What the pages offer to choose from, and the pair that they begin with."""

import typing
from typing import Any

import numpy as np

from predictor.core.assembly import MEASURED, SIMULATED
from predictor.core.comparisons.documents import positions_with_most_profiles
from predictor.core.database import Database
from predictor.core.methods import METHODS
from predictor.predictions.confidence import LEVELS
from predictor.predictions.request import PredictionRequest, RequestError
from predictor.predictions.service import confidence_of_answer
from predictor.snapshot.cache import read_database
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name

MOST_OFFERED = 150  # on the front page
MOST_NAMES_IN_LIST = 2000  # of a field; any other visible name can be typed
TARGETS_TRIED, WORKLOADS_TRIED = 3, 6
MOST_PROFILES_TRIED = 5000
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
    return rows if not chosen or chosen in dict(rows) else [(chosen, chosen), *rows]


def first_pair(user: Any) -> tuple[str, str]:
    """The pair that a visitor sees first: the surest answer that has a curve, from measured profiles where there are
    such, else from simulated ones; where nothing has a curve, any pair."""
    for origins in (MEASURED, SIMULATED):
        if pair := most_confident_pair(read_database(user, origins=origins), user):
            return pair
    for origins in (MEASURED, SIMULATED):
        database = read_database(user, origins=origins)
        for workload in positions_with_most_profiles(database, "workloads", 1):
            return database.workloads[workload], database.platforms[platforms_of(database, workload)[0]]
    return "", ""


def most_confident_pair(database: Database, user: Any) -> tuple[str, str] | None:
    """The pair whose answer has the highest confidence, of a few workloads with a curve on a few of their platforms;
    None where nothing has a curve. Computed once for each database."""
    pair: tuple[str, str] | None = database.derive(
        ("most confident pair",), lambda: _find_most_confident_pair(database, user)
    )
    return pair


def _find_most_confident_pair(database: Database, user: Any) -> tuple[str, str] | None:
    """The target first, with one workload, and then the workload there. Of a large database, whose answers take long,
    the first pair."""
    most = positions_with_most_profiles(database, "workloads", LARGEST_WORKLOADS_SEEN)
    workloads = [workload for workload in most if has_curves(database, workload)]
    if not workloads:
        return None
    targets = platforms_of(database, workloads[0])[:TARGETS_TRIED]
    if len(database) > MOST_PROFILES_TRIED:
        return database.workloads[workloads[0]], database.platforms[targets[0]]
    target = min(targets, key=lambda target: confidence_key(database, workloads[0], target, user))
    there = [workload for workload in workloads if target in platforms_of(database, workload)]
    workload = min(there[:WORKLOADS_TRIED], key=lambda workload: confidence_key(database, workload, target, user))
    return database.workloads[workload], database.platforms[target]


def confidence_key(database: Database, workload: int, target: int, user: Any) -> tuple[float, float]:
    """The key that sorts answers by confidence: its level, then the width of the interval. Infinite where the pair is
    refused."""
    request = PredictionRequest(database.workloads[workload], database.platforms[target])
    try:
        confidence = confidence_of_answer(request, user)
    except RequestError:
        return np.inf, np.inf
    width = confidence["half_width"]
    return LEVELS.index(confidence["level"]), np.inf if width is None else width


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
