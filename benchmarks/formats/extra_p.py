"""Extra-P's text and JSON Lines formats. Parameter p, n or another that counts threads; metric: a time in seconds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
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
        _Text(collected, file).read(lines)


def _read_json_lines(collected: Collected, file: ForeignFile, lines: Sequence[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            collected.refuse(file, number, f"is not valid JSON: {error}")
        if not isinstance(row, dict) or not isinstance(row.get("params"), dict) or "value" not in row:
            collected.refuse(file, number, "has no params and value")
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
        collected.left_out[f"values of the metric {quoted(str(metric))}, which is no time"] += len(values)
        return
    threads = thread_parameter(parameters)
    if threads is None:
        names = ", ".join(map(quoted, islice(parameters, MOST_PARAMETERS))) or "none"
        collected.note(file.name, line, f"no parameter counts threads (p, n, threads, ...): {names}", "parameter")
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


class _Text:
    """The state of the text format: its lines say PARAMETER, POINTS, REGION, METRIC and DATA."""

    def __init__(self, collected: Collected, file: ForeignFile) -> None:
        self.collected, self.file = collected, file
        self.parameters: list[str] = []
        self.points: list[list[str]] = []
        self.region = self.metric = ""
        self.position = 0

    def read(self, lines: Sequence[str]) -> None:
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            field, _, value = " ".join(line.split()).partition(" ")
            if field == "PARAMETER":
                self.parameters += value.split()
            elif field == "POINTS":
                self._read_points(value, number)
            elif field in ("REGION", "METRIC"):
                setattr(self, field.lower(), value)
                self.position = 0
            elif field == "DATA":
                self._read_data(value, number)
            else:
                self.collected.refuse(
                    self.file, number, f"begins with {quoted(field)}, no field of Extra-P's text format"
                )

    def _read_points(self, value: str, line: int) -> None:
        if not 1 <= len(self.parameters) <= MOST_PARAMETERS:
            self.collected.refuse(self.file, line, f"POINTS of {len(self.parameters)} parameters, not 1 to 4")
        groups = POINT.findall(value) if "(" in value else value.split()
        for group in groups:
            point = group.split()
            if len(point) != len(self.parameters):
                reason = f"point {quoted(group)} has {len(point)} values, there are {len(self.parameters)} parameters"
                self.collected.refuse(self.file, line, reason)
            self.points.append(point)

    def _read_data(self, value: str, line: int) -> None:
        if self.position >= len(self.points):
            self.collected.refuse(self.file, line, f"is DATA without a point: there are {len(self.points)} POINTS")
        parameters = dict(zip(self.parameters, self.points[self.position], strict=True))
        self.position += 1
        _add(
            *(self.collected, self.file, line),
            region=self.region,
            metric=self.metric,
            parameters=parameters,
            values=value.split(),
        )
