"""Answers as objects: what people ask for by name, the whole document beside it, pandas and HTML where they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Optional

from mpet.errors import UsageError

SIGNIFICANT_DIGITS = 3
FINISHED = ("accepted", "rejected")  # states of an upload that the server has read


def frame_of(rows: Iterable[dict[str, Any]]) -> Any:
    """Rows as a pandas DataFrame. pandas is not needed for anything else."""
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("this needs pandas: pip install 'mpet[pandas]'") from error
    return pd.DataFrame(list(rows))


def shown_number(value: Any) -> str:
    """Three significant digits; a dash where there is no number.

    >>> shown_number(1234.5), shown_number(0.00012345), shown_number(None), shown_number(16)
    ('1230', '0.000123', '-', '16')
    """
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    rounded = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return f"{rounded:.0f}" if abs(rounded) >= 10**SIGNIFICANT_DIGITS else f"{rounded:.{SIGNIFICANT_DIGITS}g}"


def html_table(caption: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown_number(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def columns_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Names in the first row whose values are neither lists nor objects."""
    return [name for name, value in rows[0].items() if not isinstance(value, (list, dict))] if rows else []


def html_of_rows(caption: str, rows: Sequence[dict[str, Any]]) -> str:
    names = columns_of(rows)
    return html_table(caption, names, [[row.get(name) for name in names] for row in rows])


@dataclass(frozen=True)
class CurvePoint:
    """One number of threads: the time in seconds with its interval. None: not predicted."""

    n: int
    time_s: Optional[float]
    low_s: Optional[float] = None
    high_s: Optional[float] = None
    speedup: Optional[float] = None
    efficiency: Optional[float] = None


@dataclass(frozen=True)
class Answer:
    """An answer of the API; `document` is all of it."""

    document: dict[str, Any] = field(repr=False)


class Table(Answer):
    """An answer with rows."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    @property
    def frame(self) -> Any:
        return frame_of(self.rows)


class Prediction(Answer):
    """How a workload will run on a platform."""

    @property
    def workload(self) -> str:
        return str(self.document["workload"])

    @property
    def target(self) -> str:
        return str(self.document["target"])

    @property
    def revision(self) -> int:
        return int(self.document["revision"])

    @property
    def method(self) -> str:
        return str(self.document["method"])

    @property
    def url(self) -> Optional[str]:
        return self.document.get("url")

    @property
    def page(self) -> Optional[str]:
        """What people open: the answer with its figures, and what it rests on."""
        return self.url.replace("/api/v1/", "/", 1) if self.url else None

    @property
    def t1_s(self) -> Optional[float]:
        return self.document["t1_s"]

    @property
    def warnings(self) -> list[str]:
        return list(self.document.get("warnings", []))

    @property
    def points(self) -> list[CurvePoint]:
        names = CurvePoint.__dataclass_fields__
        return [CurvePoint(**{name: point.get(name) for name in names}) for point in self.document["curve"]]

    @property
    def best(self) -> CurvePoint:
        """The point of least time."""
        timed = [point for point in self.points if point.time_s is not None]
        if not timed:
            raise UsageError("this answer has no times")
        return min(timed, key=lambda point: point.time_s or 0.0)

    @property
    def curve(self) -> Any:
        """A DataFrame: n, time_s, low_s, high_s, speedup, efficiency."""
        return frame_of(vars(point) for point in self.points)

    def _repr_html_(self) -> str:
        rows = [(point.n, point.time_s, point.low_s, point.high_s, point.speedup) for point in self.points]
        caption = f"{self.workload} on {self.target} ({self.method}, revision {self.revision})"
        return html_table(caption, ("n", "time in s", "low", "high", "speedup"), rows)


class Ranking(Table):
    """A workload on every platform, the fastest first."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(self.document["results"])

    @property
    def refused(self) -> list[dict[str, Any]]:
        return list(self.document.get("refused", []))

    @property
    def refusals(self) -> list[str]:
        """Why platforms have no place, a line for each reason, and what would give most of them one."""
        summary = self.document.get("refused_summary") or []
        lines = [f"{one['count']} machines have no place: {one['reason']}" for one in summary]
        return [*lines, str(self.document["advice"])] if self.document.get("advice") else lines

    @property
    def platforms(self) -> list[str]:
        return [str(row["platform"]) for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        names = ("place", "platform", "n_best", "time_s", "low_s", "high_s", "relative")
        return html_table("ranking", names, [[row.get(name) for name in names] for row in self.rows])


class Comparison(Table):
    """Platforms or workloads beside each other."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The first list of objects in the document: what is compared, a row each."""
        for value in self.document.values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                return list(value)
        return []

    @property
    def coverage(self) -> list[str]:
        """How many workloads of each platform are compared as whole machines, how many otherwise, and why; a line a
        platform but the first. Empty for a comparison of workloads."""
        lines = []
        for row in self.rows[1:]:
            if "compared_whole" in row:
                left_out = {
                    "without a common n": row["left_out_no_common_n"],
                    "not run on the first": row["left_out_not_on_first"],
                }
                reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
                lines.append(
                    f"{row['platform']}: {row['compared_whole']} workloads compared as whole machines, "
                    f"{row['compared_at_equal_n']} at an equal n only (not run on every core of both), "
                    f"{sum(left_out.values())} left out" + (f" ({reasons})" if reasons else "")
                )
        return lines

    def _repr_html_(self) -> str:
        return html_of_rows("comparison", self.rows) + "".join(f"<p>{escape(line)}</p>" for line in self.coverage)


@dataclass(frozen=True)
class ForeignFile:
    """How a file of another tool is to be read: its form (`hyperfine`, `csv`, ...; docs/formats-in.md), the machine
    where the file does not say it, by slug or as the text of a platform.json, and the titles of a table's columns."""

    form: str
    platform: Optional[str] = None
    platform_json: Optional[str] = None
    columns: dict[str, str] = field(default_factory=dict)

    def fields(self) -> dict[str, str]:
        """As the API takes them."""
        columns = json.dumps(self.columns) if self.columns else None
        given = {"platform": self.platform, "platform_json": self.platform_json, "columns": columns}
        return {"form": self.form} | {name: value for name, value in given.items() if value}


class UploadPreview(Table):
    """What the server would store of a file."""

    @property
    def errors(self) -> list[dict[str, Any]]:
        return list(self.document.get("errors") or [])

    @property
    def warnings(self) -> list[str]:
        return list(self.document.get("warnings") or [])

    @property
    def workloads(self) -> list[dict[str, Any]]:
        return list(self.document.get("workloads") or [])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One for each workload and n: workload, n, time_s (the median)."""
        return [
            {"workload": workload["name"], "n": n, "time_s": time_s}
            for workload in self.workloads
            for n, time_s in zip(workload["n"], workload["time_s"])
        ]

    def _repr_html_(self) -> str:
        return html_of_rows("would be stored", self.rows)


class UploadReport(Answer):
    """What came of an upload."""

    @property
    def id(self) -> str:
        return str(self.document["id"])

    @property
    def status(self) -> str:
        return str(self.document["status"])

    @property
    def is_done(self) -> bool:
        return self.status in FINISHED

    @property
    def is_accepted(self) -> bool:
        return self.status == "accepted"

    @property
    def errors(self) -> list[dict[str, Any]]:
        return list((self.document.get("report") or {}).get("errors") or [])

    @property
    def warnings(self) -> list[str]:
        return list((self.document.get("report") or {}).get("warnings") or [])

    @property
    def profiles(self) -> list[str]:
        return [str(key) for key in self.document.get("profiles") or []]

    @property
    def programs(self) -> list[dict[str, Any]]:
        return list(self.document.get("programs") or [])

    def _repr_html_(self) -> str:
        rows = [("error", str(error.get("reason"))) for error in self.errors] + [("warning", w) for w in self.warnings]
        return html_table(f"upload {self.id}: {self.status}, {len(self.profiles)} profiles", ("", "what"), rows)
