"""The history of a repository's benchmarks: JSON lines, one run per line, the oldest first (`mpet-ci-history/1`).

    {"schema": "mpet-ci-history/1", "commit": "4f19952", "branch": "main", "time": "2026-11-24T10:00:00+00:00",
     "machine": {"cpu": "AMD EPYC 7763 64-Core Processor"}, "calibration": {"integer/1/py3.11": 0.0102},
     "values": {"test_parse": {"s": 0.0137, "sd": 0.0001, "n": 59}}}

Lines are only appended, so that the lines of two jobs can be merged, and an interrupted job damages only its own line.
"""

from __future__ import annotations

import json
import math
import platform
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpet.errors import UsageError

SCHEMA = "mpet-ci-history/1"
MOST_BYTES = 256 << 20
LEAST_S, MOST_S = 1e-12, 1e9  # a time outside of this range is an error


@dataclass(frozen=True)
class Value:
    """One benchmark in one run: seconds per operation, and the standard deviation and the number of its repeats."""

    seconds: float
    spread_s: float = 0.0
    repeats: int = 1


@dataclass(frozen=True)
class Run:
    """The benchmarks of one commit on one machine. `calibration` has the seconds of each kernel of `mpet ci
    calibrate`."""

    values: dict[str, Value]
    commit: str = ""
    time: str = ""  # ISO 8601
    branch: str = ""
    machine: dict[str, str] = field(default_factory=dict)
    calibration: dict[str, float] = field(default_factory=dict)

    @property
    def cpu(self) -> str:
        return self.machine.get("cpu", "")

    def line(self) -> str:
        values = {name: {"s": v.seconds, "sd": v.spread_s, "n": v.repeats} for name, v in self.values.items()}
        return json.dumps(
            {
                "schema": SCHEMA,
                "commit": self.commit,
                "branch": self.branch,
                "time": self.time,
                "machine": self.machine,
                "calibration": self.calibration,
                "values": values,
            }
        )


def run_of_line(line: str) -> Run:
    """Return the run in a line of the history. Raise ValueError with the reason if the line is invalid."""
    try:
        document = json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"schema is not {SCHEMA}")
    texts = {name: document.get(name, "") for name in ("commit", "branch", "time")}
    machine, calibration, values = (document.get(name, {}) for name in ("machine", "calibration", "values"))
    if not all(isinstance(one, dict) for one in (machine, calibration, values)):
        raise ValueError("machine, calibration and values must be objects")
    if not all(isinstance(text, str) for text in (*texts.values(), *machine.values())):
        raise ValueError("commit, branch, time and the values of machine must be strings")
    read = {}
    for name, value in values.items():
        if not isinstance(value, dict) or not all(_is_number(value.get(key, 0)) for key in ("s", "sd", "n")):
            raise ValueError(f"{name[:100]!r} needs the numbers s, sd and n")
        read[name] = Value(float(value.get("s", 0)), float(value.get("sd", 0)), int(value.get("n", 1)))
        if not LEAST_S <= read[name].seconds <= MOST_S or read[name].spread_s < 0 or read[name].repeats < 1:
            raise ValueError(f"{name[:100]!r} has a time, spread or number of repeats out of range")
    if not all(_is_number(seconds) and LEAST_S <= seconds <= MOST_S for seconds in calibration.values()):
        raise ValueError("calibration has a time out of range")
    return Run(read, **texts, machine=machine, calibration=calibration)


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        return False


def read_history(path: Path) -> list[Run]:
    """Return the runs in the file, the oldest first, or an empty list if the file does not exist."""
    if not path.exists():
        return []
    if path.stat().st_size > MOST_BYTES:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB; remove old lines")
    runs = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                runs.append(run_of_line(line))
            except ValueError as error:
                raise UsageError(f"{path}: line {number}: {error}") from error
    return sorted(runs, key=lambda run: run.time)


def append_runs(path: Path, runs: Iterable[Run]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(run.line() + "\n" for run in runs)


def cpu_model() -> str:
    """Return the CPU model of this machine as its vendor names it, or for Arm the numbers of implementer and part."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    if found:
        return found[1].strip()
    numbers = re.findall(r"^CPU (?:implementer|part)\s*:\s*(\S+)$", text, re.MULTILINE)[:2]
    if numbers:
        return f"{platform.machine()} {' '.join(numbers)}"
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return platform.processor() or platform.machine()
