"""Ablation of mpet2020: the number of candidates, the exponent k and the distances are changed one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from predictor.core.answers import Method
from predictor.core.evaluate import ErrorPart, Outcome
from predictor.core.mpet2020.method import MPET2020, Mpet2020Settings
from research.paper.statistics import PART_NAMES, PaperRow, table_5_statistics

# Numbers of (workloads, platforms).
LIMITS = ((1, 1), (3, 3), (5, 5), (10, 3), (10, 10))
EXPONENTS = (0, 1, 2, 3)
DISTANCES = ("mean", "individual")
VARIED_PARTS: tuple[ErrorPart, ...] = ("t1", "scaling")


@dataclass(frozen=True)
class Variant:
    """Settings with one changed choice.

    The choice is changed for t(1) and for the vector, which do not depend on each other.
    """

    varied: str
    value: str
    settings: Mpet2020Settings

    @property
    def method(self) -> Method[Any]:
        return replace(MPET2020, name=f"{self.varied}: {self.value}")


def variants() -> list[Variant]:
    """Return all variants of the paper's comparison: LIMITS, EXPONENTS, and pairs of DISTANCES."""
    by_number = [_variant("limits", f"{b} workloads, {p} platforms", workloads=b, platforms=p) for b, p in LIMITS]
    by_number += [_variant("exponent", f"k = {k}", k=k) for k in EXPONENTS]
    return by_number + [
        _variant("distances", f"D_a {a}, D_p {p}", workload_distance=a, platform_distance=p)
        for a in DISTANCES
        for p in DISTANCES
    ]


def _variant(varied: str, value: str, **choices: Any) -> Variant:
    named = {f"{part}_{name}": choice for part in VARIED_PARTS for name, choice in choices.items()}
    return Variant(varied, value, Mpet2020Settings(**named))


def ablation_rows(chosen: Sequence[Variant], outcomes: Mapping[str, Sequence[Outcome]]) -> list[PaperRow]:
    """Return one row for each part and variant. `is_default` is True for the paper's own choice for the part."""
    return [
        {
            "part": PART_NAMES[part],
            "varied": variant.varied,
            "value": variant.value,
            "is_default": _is_default(variant, part),
            **table_5_statistics(outcomes[variant.method.name], part),
        }
        for part in VARIED_PARTS
        for variant in chosen
    ]


def _is_default(variant: Variant, part: ErrorPart) -> bool:
    names = [name for name in vars(variant.settings) if name.startswith(f"{part}_")]
    default = Mpet2020Settings()
    return all(getattr(variant.settings, name) == getattr(default, name) for name in names)
