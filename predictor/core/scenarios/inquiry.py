"""A question to one database: what is asked, by which method, and what the database does not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from predictor.core.answers import Answer, Method, Query
from predictor.core.database import Database
from profiles.arrays import FloatArray
from profiles.scaling.runs import CurveTable


@dataclass(frozen=True, eq=False)
class ScenarioFacts:
    """Facts that scenarios use beside the database; each is read only when it is needed.

    `bound` of the workload: memory | communication | computation, None = unknown. `counted`: the relative measures at
    n = 1 of the database's rows (N, 7), NaN = not counted. `curves` of a row: all that was measured there.
    """

    bound: str | None = None
    counted: Callable[[], FloatArray | None] = lambda: None
    curves: Callable[[int], CurveTable | None] | None = None


@dataclass(frozen=True, eq=False)
class Inquiry:
    """What is asked of one database, by which method with which settings, and the facts beside the database."""

    database: Database
    query: Query
    method: Method[Any]
    settings: Any
    facts: ScenarioFacts

    @property
    def target(self) -> str:
        return self.database.platforms[self.query.target]

    @property
    def bends(self) -> tuple[float, float]:
        """n_nu and n_ht of the target, NaN = no such effect."""
        return float(self.database.n_nu[self.query.target]), float(self.database.n_ht[self.query.target])

    @property
    def predicts_elements(self) -> bool:
        """Whether the method predicts elements of the curve model (which it weighs with an exponent), not curves."""
        return hasattr(self.settings, "scaling_k")

    def at(self, n: tuple[int, ...]) -> Inquiry:
        """The same inquiry at other thread counts."""
        return replace(self, query=replace(self.query, n=n))

    def answer(self, database: Database | None = None, **changes: Any) -> Answer:
        """The method's answer to the query with these changes, from this or another database."""
        return self.method.predict(database or self.database, replace(self.query, **changes), self.settings)

    def setting(self, name: str, default: Any) -> Any:
        """A setting that not every method has."""
        return getattr(self.settings, name, default)
