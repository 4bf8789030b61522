"""The reader of Extra-P's text and JSON Lines formats.

One parameter must count threads, such as p or n. Only metrics that are times in seconds are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from benchmarks.archive import quoted
from benchmarks.formats.collecting import Collected, ForeignFile, as_number, spell_parameters, thread_parameter
from profiles.measurements import WorkloadRecord

TIME_METRICS = (
    "",
    "<default>",
    "time",
    "runtime",
    "run time",
    "wall time",
    "walltime",
    "time [s]",
    "time_s",
    "seconds",
)
MOST_PARAMETERS = 4
POINT = re.compile(r"\(([^()]*)\)")


def read_extra_p(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    lines = collected.lines(file)
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        _read_json_lines(collected, file, lines)
    else:
        _read_text(collected, file, lines)


def _read_json_lines(collected: Collected, file: ForeignFile, lines: Sequence[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            collected.refuse(file, number, f"is not valid JSON: {error}")
        if not isinstance(row, dict) or not isinstance(row.get("params"), dict) or "value" not in row:
            collected.refuse(file, number, "has no params or no value")
        region, metric = row.get("callpath", ""), row.get("metric", "")
        _add(collected, file, number, region=region, metric=metric, parameters=row["params"], values=[row["value"]])


def _add(
    collected: Collected,
    file: ForeignFile,
    line: int,
    *,
    region: Any,
    metric: Any,
    parameters: Mapping[str, Any],
    values: Sequence[Any],
) -> None:
    if str(metric).casefold() not in TIME_METRICS:
        collected.left_out[f"values of the metric {quoted(str(metric))}, which is not a time"] += len(values)
        return
    threads = thread_parameter(parameters)
    if threads is None:
        names = ", ".join(map(quoted, islice(parameters, MOST_PARAMETERS))) or "none"
        collected.note(file.name, line, f"no parameter is the thread count (p, n, threads, ...): {names}", "parameter")
        return
    name = str(region) if region not in ("", "<root>") else file.name.rpartition(".")[0] or file.name
    application, arrow, _ = name.partition("->")
    workload = WorkloadRecord(
        name,
        application=application if arrow else None,
        section=name.rpartition("->")[2] if arrow else None,
        input=spell_parameters({key: _number_or_text(value) for key, value in parameters.items()}, threads),
    )
    for value in values:
        collected.add(workload, parameters[threads], value, file=file, line=line)


def _number_or_text(value: Any) -> Any:
    number = as_number(value)
    return value if number is None else number


def _read_text(collected: Collected, file: ForeignFile, lines: Sequence[str]) -> None:
    """Read lines that begin with PARAMETER, POINTS, REGION, METRIC or DATA. The k-th DATA line of a metric belongs to
    the k-th point."""
    parameters: list[str] = []
    points: list[list[str]] = []
    region, metric, position = "", "", 0
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        field, _, value = " ".join(line.split()).partition(" ")
        if field == "PARAMETER":
            parameters += value.split()
        elif field == "POINTS":
            points += _read_points(collected, file, number, value, len(parameters))
        elif field == "REGION":
            region, position = value, 0
        elif field == "METRIC":
            metric, position = value, 0
        elif field == "DATA":
            if position >= len(points):
                collected.refuse(file, number, f"is DATA without a point: only {len(points)} POINTS are defined")
            point = dict(zip(parameters, points[position], strict=True))
            position += 1
            _add(collected, file, number, region=region, metric=metric, parameters=point, values=value.split())
        else:
            collected.refuse(file, number, f"begins with {quoted(field)}, not a keyword of Extra-P's text format")


def _read_points(
    collected: Collected, file: ForeignFile, line: int, value: str, parameter_count: int
) -> Iterator[list[str]]:
    if not 1 <= parameter_count <= MOST_PARAMETERS:
        collected.refuse(file, line, f"POINTS of {parameter_count} parameters; 1 to 4 are accepted")
    groups = POINT.findall(value) if "(" in value else value.split()
    for group in groups:
        point = group.split()
        if len(point) != parameter_count:
            reason = f"point {quoted(group)} has {len(point)} values for {parameter_count} parameters"
            collected.refuse(file, line, reason)
        yield point
