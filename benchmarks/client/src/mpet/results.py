"""Objects for the answers of the API: properties for common values, the whole document, pandas frames and HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Optional

from mpet.errors import UsageError

SIGNIFICANT_DIGITS = 3
# Of a warning: the workload at its beginning, and what else differs between warnings of one kind.
SUBJECT = re.compile(r"^\S.*?: ")
PARTICULARS = re.compile(r"'[^']*'|\d[\d.,e+-]*")
FINISHED = ("accepted", "rejected")  # states of an upload that the server has read


def frame_of(rows: Iterable[dict[str, Any]]) -> Any:
    """Return rows as a pandas DataFrame. Raise UsageError if pandas is missing, which nothing else needs."""
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("this needs pandas: pip install 'mpet[pandas]'") from error
    return pd.DataFrame(list(rows))


def shown_number(value: Any) -> str:
    """Return a number with three significant digits as text, and a dash for None.

    >>> shown_number(1234.5), shown_number(0.00012345), shown_number(None), shown_number(16)
    ('1230', '0.000123', '-', '16')
    """
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    rounded = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    return f"{rounded:.0f}" if abs(rounded) >= 10**SIGNIFICANT_DIGITS else f"{rounded:.{SIGNIFICANT_DIGITS}g}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def grouped_warnings(warnings: Iterable[str]) -> list[str]:
    """Return the first warning of each kind, and the number of others that differ only in workload and numbers.

    >>> grouped_warnings(["fft: grows by 50 % to n = 2", "a virtual machine", "sort: grows by 7.5 % to n = 16"])
    ['fft: grows by 50 % to n = 2 (and 1 similar warning)', 'a virtual machine']
    """
    kinds: dict[str, list[str]] = {}
    for warning in warnings:
        kinds.setdefault(PARTICULARS.sub("#", SUBJECT.sub("", warning)), []).append(warning)
    return [
        f"{first} (and {counted(len(others), 'similar warning')})" if others else first
        for first, *others in kinds.values()
    ]


def html_table(caption: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(shown_number(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def columns_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names in the first row whose values are neither lists nor objects."""
    return [name for name, value in rows[0].items() if not isinstance(value, (list, dict))] if rows else []


def html_of_rows(caption: str, rows: Sequence[dict[str, Any]]) -> str:
    names = columns_of(rows)
    return html_table(caption, names, [[row.get(name) for name in names] for row in rows])


@dataclass(frozen=True)
class CurvePoint:
    """The predicted time in seconds at one number of threads, with its interval. None means that it is not
    predicted."""

    n: int
    time_s: Optional[float]
    low_s: Optional[float] = None
    high_s: Optional[float] = None
    speedup: Optional[float] = None
    efficiency: Optional[float] = None


@dataclass(frozen=True)
class Answer:
    """An answer of the API. `document` is the whole answer."""

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
    """A prediction of a workload on a platform."""

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
        """Return the address of the web page with the prediction, its figures and its sources, or None."""
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
        """Return the point with the least time."""
        timed = [point for point in self.points if point.time_s is not None]
        if not timed:
            raise UsageError("this prediction has no times")
        return min(timed, key=lambda point: point.time_s or 0.0)

    @property
    def curve(self) -> Any:
        """Return a DataFrame with n, time_s, low_s, high_s, speedup and efficiency."""
        return frame_of(vars(point) for point in self.points)

    def _repr_html_(self) -> str:
        rows = [(point.n, point.time_s, point.low_s, point.high_s, point.speedup) for point in self.points]
        caption = f"{self.workload} on {self.target} ({self.method}, revision {self.revision})"
        return html_table(caption, ("n", "time in s", "low", "high", "speedup"), rows)


class Ranking(Table):
    """The ranking of all platforms for a workload, the fastest first."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(self.document["results"])

    @property
    def refused(self) -> list[dict[str, Any]]:
        return list(self.document.get("refused", []))

    @property
    def refusals(self) -> list[str]:
        """Return one line for each reason why platforms cannot be ranked, and the server's advice for most of them."""
        summary = self.document.get("refused_summary") or []
        lines = [f"{counted(one['count'], 'machine')} not ranked: {one['reason']}" for one in summary]
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
    """A comparison of platforms or workloads."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the first list of objects in the document. It has one row for each platform or workload."""
        for value in self.document.values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                return list(value)
        return []

    @property
    def coverage(self) -> list[str]:
        """Return one line for each platform except the first: how many workloads are compared as whole machines, how
        many only at an equal n, and how many are left out, with the reasons. The list is empty for a comparison of
        workloads."""
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
    """Instructions for reading a file of another tool: its format (`hyperfine`, `csv`, ...; docs/formats-in.md), the
    machine if the file does not name it (its slug, or the text of a platform.json), and the titles of a table's
    columns."""

    form: str
    platform: Optional[str] = None
    platform_json: Optional[str] = None
    columns: dict[str, str] = field(default_factory=dict)

    def fields(self) -> dict[str, str]:
        """Return the form fields of the API request."""
        columns = json.dumps(self.columns) if self.columns else None
        given = {"platform": self.platform, "platform_json": self.platform_json, "columns": columns}
        return {"form": self.form} | {name: value for name, value in given.items() if value}


class UploadPreview(Table):
    """A preview of what the server would store of a file."""

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
        """Return one row for each workload and n, with workload, n and time_s (the median)."""
        return [
            {"workload": workload["name"], "n": n, "time_s": time_s}
            for workload in self.workloads
            for n, time_s in zip(workload["n"], workload["time_s"])
        ]

    def _repr_html_(self) -> str:
        return html_of_rows("would be stored", self.rows)


class UploadReport(Answer):
    """The state of an upload, with its problems, profiles and programs."""

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
