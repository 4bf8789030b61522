"""What the pages say about likeness, from what the viewer's predictions may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictor.core.arrays import slug_index
from predictor.core.comparisons.mean_distances import Kind
from predictor.core.database import Database
from predictor.snapshot.building import MEASURED, SIMULATED, Snapshot
from predictor.snapshot.cache import read_snapshot
from profiles.models import Platform, Source, Workload

ORIGINS = ("measured", "simulated")
FEWEST, MOST = 2, 6  # platforms or workloads that can be compared with each other

MODELS: dict[str, Any] = {"platforms": Platform, "workloads": Workload}


def has_profiles(database: Database, kind: Kind, at: int) -> bool:
    rows = database.rows_of_platform(at) if kind == "platforms" else database.rows_of_workload(at)
    return bool(len(rows))


@dataclass(frozen=True, eq=False)
class Selection:
    """The profiles that a comparison looks at: all of `origins` that its viewer may predict from."""

    snapshot: Snapshot
    origins: tuple[str, ...]

    @property
    def database(self) -> Database:
        return self.snapshot.database

    @property
    def origin(self) -> str:
        """What they are: measured, simulated, or mixed."""
        simulated = self.snapshot.is_simulated
        if not len(simulated):
            return "simulated" if self.origins == SIMULATED else "measured"
        return "measured" if not simulated.any() else "simulated" if simulated.all() else "mixed"

    @property
    def asked(self) -> dict[str, str]:
        """The parameters that select the same, whatever else is stored."""
        return {"include_simulated": "true"} if len(self.origins) > 1 else {"origin": self.origins[0]}

    @property
    def leaves_simulated_out(self) -> bool:
        return self.origins == MEASURED


def select(
    user: Any,
    *,
    origin: str = "",
    include_simulated: bool | None = None,
    kind: Kind = "platforms",
    slugs: Sequence[str] = (),
) -> Selection:
    """The one rule of all pages and answers that compare, as predictions have it: measured profiles; simulated ones
    alone where none of `slugs` was measured (without any: not even two to compare); both only where that is asked
    for."""

    def of(*origins: str) -> Selection:
        return Selection(read_snapshot(user, origins=origins), origins)

    if origin:
        return of(origin)
    if include_simulated:
        return of(*MEASURED, *SIMULATED)
    measured = of(*MEASURED)
    there = known(measured.database, kind, slugs)
    if include_simulated is False or there == (1 if slugs else 2):
        return measured
    simulated = of(*SIMULATED)
    return simulated if known(simulated.database, kind, slugs) > there else measured


def known(database: Database, kind: Kind, slugs: Sequence[str]) -> int:
    """1 where one of the platforms or workloads has a profile there; without any, how many have one, 2 at most."""
    if not slugs:
        index = database.platform_index if kind == "platforms" else database.workload_index
        return min(2, len(np.unique(index[~database.hidden])))
    names = database.platforms if kind == "platforms" else database.workloads
    places = [at for at in (slug_index(names, slug) for slug in slugs) if at is not None]
    return int(any(has_profiles(database, kind, at) for at in places))


HINT = "Nothing of this was measured so that it can be compared. include_simulated=true takes simulated profiles too."


def provenance(user: Any, selection: Selection, is_empty: bool, **profiles: Any) -> dict[str, Any]:
    """What every answer that compares says of the profiles behind it: their origin, the datasets that they are from
    (`profiles` narrows these), and what to ask where nothing was found."""
    origin = "" if selection.origin == "mixed" else selection.origin
    datasets = Source.objects.datasets_behind(user, origin, **profiles)
    return {
        "origin": selection.origin,
        "hint": HINT if is_empty and selection.leaves_simulated_out else None,
        "sources": list(datasets.values("label", "licence", "citation")),
    }
