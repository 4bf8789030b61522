"""Readers for the results of pytest-benchmark, criterion, JMH, `go test -bench` and github-action-benchmark.

Each reader returns `Run`s: a single one for most formats, and one per commit for github-action-benchmark. Times are
converted to seconds per operation, and rates to their reciprocals. A file that cannot be read raises UsageError with
the file, the line or the benchmark, and the reason. Names come from the code of other people. They are unchanged here
and escaped where they are shown.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Optional

from mpet.ci.history import LEAST_S, MOST_S, Run, Value
from mpet.errors import UsageError

MOST_BYTES = 64 << 20
MOST_BENCHMARKS = 10_000  # per run
MOST_RUNS = 10_000
MOST_FILES = 20_000  # per criterion folder
LONGEST_NAME = 500
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "hr": 3600.0}
GO_LINE = re.compile(r"(Benchmark\S*?)(?:-\d+)?\s+\d+\s+(\S+) ns/op(?:\s|$)")


def seconds_of(value: Any, unit: Any, place: str) -> float:
    """Return the seconds per operation of a time such as `ns/op` or a rate such as `ops/s`.

    >>> seconds_of(4, "ns/op", ""), seconds_of(50, "ops/ms", ""), seconds_of(4, "iter/sec", "")
    (4e-09, 2e-05, 0.25)
    """
    number = number_of(value, place)
    first, _, second = str(unit).strip().partition("/")
    if first in SECONDS:
        return number * SECONDS[first]
    if second in SECONDS:
        return SECONDS[second] / number
    raise UsageError(f"{place}: {str(unit)[:40]!r} is not a unit of time")


def number_of(value: Any, place: str) -> float:
    """Return a positive, finite number. Raise UsageError if the value is not one."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{place}: {str(value)[:40]!r} is not a positive number")
    return number


def member(document: Any, name: str, kind: type, place: str) -> Any:
    """Return `document[name]`. Raise UsageError if it is missing or not of this kind."""
    if not isinstance(document, dict) or not isinstance(document.get(name), kind):
        raise UsageError(f"{place}: {name} is missing or not of type {kind.__name__}")
    return document[name]


def optional_number(value: Any) -> float:
    """Return a number that describes a spread, or 0.0 if there is none, such as JMH's "NaN"."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if 0 <= number < math.inf else 0.0


def checked_name(name: Any, place: str) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise UsageError(f"{place}: a benchmark needs a name of 1 to {LONGEST_NAME} characters")
    return name


def collect(pairs: Iterable[tuple[str, Value]], place: str) -> dict[str, Value]:
    """Return the values by name. Raise UsageError if a name occurs twice, or if there are no values."""
    values: dict[str, Value] = {}
    for name, value in pairs:
        if name in values:
            raise UsageError(f"{place}: {name!r} occurs twice")
        if not LEAST_S <= value.seconds <= MOST_S:
            raise UsageError(f"{place}: {name!r} takes {value.seconds:.3g} s, which is out of range")
        values[name] = value
        if len(values) > MOST_BENCHMARKS:
            raise UsageError(f"{place}: more than {MOST_BENCHMARKS} benchmarks")
    if not values:
        raise UsageError(f"{place}: no benchmark with a time")
    return values


def value_of_samples(samples: Sequence[float]) -> Value:
    return Value(fmean(samples), stdev(samples) if len(samples) > 1 else 0.0, len(samples))


def read_text(path: Path) -> str:
    """Return the text of a file. Raise UsageError if it has more than MOST_BYTES."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error


def parse_json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{place}: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise UsageError(f"{place}: nested too deeply") from error
    except ValueError as error:  # a number with thousands of digits
        raise UsageError(f"{place}: {error}") from error


def read_pytest_benchmark(path: Path) -> list[Run]:
    """Read the file of `pytest --benchmark-json FILE`. The times are medians of the rounds."""
    document = parse_json(read_text(path), str(path))
    benchmarks = member(document, "benchmarks", list, str(path))

    def pairs() -> Iterable[tuple[str, Value]]:
        for index, entry in enumerate(benchmarks):
            place = f"{path}: benchmarks[{index}]"
            name = checked_name(entry.get("fullname") if isinstance(entry, dict) else None, place)
            stats = member(entry, "stats", dict, f"{place} {name}")
            seconds = number_of(stats.get("median", stats.get("mean")), f"{place} {name}: median")
            rounds = stats.get("rounds")
            count = rounds if isinstance(rounds, int) and 0 < rounds < 10**12 else 1
            yield name, Value(seconds, optional_number(stats.get("stddev")), count)

    info = document.get("machine_info")
    info = info if isinstance(info, dict) else {}
    cpu = info.get("cpu")
    facts = {"cpu": cpu.get("brand_raw") if isinstance(cpu, dict) else cpu, "python": info.get("python_version")}
    commit = document.get("commit_info")
    return [
        Run(
            values=collect(pairs(), str(path)),
            commit=text_of(commit.get("id")) if isinstance(commit, dict) else "",
            machine=machine_facts(facts),
        )
    ]


def read_criterion(path: Path) -> list[Run]:
    """Read the folder `target/criterion`, or the messages of `cargo criterion --message-format=json`."""
    if not path.is_dir():
        return [Run(values=collect(_criterion_messages(path), str(path)))]

    def pairs() -> Iterable[tuple[str, Value]]:
        for number, estimates in enumerate(sorted(path.rglob("new/estimates.json"))):
            if number >= MOST_FILES:
                raise UsageError(f"{path}: more than {MOST_FILES} estimates")
            folder = estimates.parent
            document = parse_json(read_text(estimates), str(estimates))
            typical = "slope" if isinstance(document, dict) and document.get("slope") else "mean"
            point = member(document, typical, dict, str(estimates)).get("point_estimate")
            spread = document.get("std_dev")
            name = _member_of_file(folder / "benchmark.json", "full_id", folder.parent.relative_to(path).as_posix())
            repeats = len(_member_of_file(folder / "sample.json", "times", [])) or 1
            name = checked_name(name, str(estimates))
            seconds = number_of(point, f"{estimates}: {typical}") * 1e-9
            spread_ns = optional_number(spread.get("point_estimate") if isinstance(spread, dict) else None)
            yield name, Value(seconds, spread_ns * 1e-9, repeats)

    return [Run(values=collect(pairs(), str(path)))]


def _member_of_file(path: Path, name: str, default: Any) -> Any:
    """Return a member of a JSON file, which must be of the same kind as the default. Return the default if there is no
    file."""
    if not path.is_file():
        return default
    return member(parse_json(read_text(path), str(path)), name, type(default), str(path))


def _criterion_messages(path: Path) -> Iterable[tuple[str, Value]]:
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.startswith("{"):
            continue
        place = f"{path}: line {number}"
        message = parse_json(line, place)
        if message.get("reason") != "benchmark-complete":
            continue
        name = checked_name(message.get("id"), place)
        typical = member(message, "typical", dict, f"{place} {name}")
        seconds = seconds_of(typical.get("estimate"), typical.get("unit"), f"{place} {name}")
        counts, totals = message.get("iteration_count"), message.get("measured_values")
        samples = []
        if isinstance(counts, list) and isinstance(totals, list):
            unit = typical.get("unit")
            samples = [seconds_of(total, unit, place) / number_of(n, place) for n, total in zip(counts, totals)]
        spread = value_of_samples(samples) if samples else Value(seconds)
        yield name, Value(seconds, spread.spread_s, spread.repeats)


def read_jmh(path: Path) -> list[Run]:
    """Read the file of `java -jar benchmarks.jar -rf json`."""
    document = parse_json(read_text(path), str(path))
    if not isinstance(document, list):
        raise UsageError(f"{path}: not a list of JMH results")

    def pairs() -> Iterable[tuple[str, Value]]:
        for index, entry in enumerate(document):
            place = f"{path}: [{index}]"
            name = checked_name(entry.get("benchmark") if isinstance(entry, dict) else None, place)
            params = entry.get("params")
            if isinstance(params, dict) and params:
                name += "[" + ",".join(f"{key}={params[key]}" for key in sorted(params)) + "]"
            place = f"{place} {checked_name(name, place)}"
            metric = member(entry, "primaryMetric", dict, place)
            unit = metric.get("scoreUnit")
            raw = metric.get("rawData")
            forks = raw if isinstance(raw, list) and all(isinstance(fork, list) for fork in raw) else []
            samples = [seconds_of(score, unit, place) for fork in forks for score in fork]
            spread = value_of_samples(samples) if samples else Value(1.0)
            yield name, Value(seconds_of(metric.get("score"), unit, place), spread.spread_s, spread.repeats)

    first = document[0] if document and isinstance(document[0], dict) else {}
    return [Run(values=collect(pairs(), str(path)), machine=machine_facts({"jdk": first.get("jdkVersion")}))]


def read_go(path: Path) -> list[Run]:
    """Read the output of `go test -bench . -count N`, which has one line per repeat."""
    samples: dict[str, list[float]] = {}
    facts: dict[str, Any] = {}
    package = ""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        key, colon, text = line.partition(": ")
        if colon and key == "pkg":
            package = text.strip()
        elif colon and key in ("cpu", "goos", "goarch"):
            facts[key] = text.strip()
        found = GO_LINE.match(line)
        if found:
            place = f"{path}: line {number}"
            name = checked_name(f"{package}.{found[1]}" if package else found[1], place)
            samples.setdefault(name, []).append(number_of(found[2], f"{place} {name}") * 1e-9)
    values = collect(((name, value_of_samples(times)) for name, times in samples.items()), str(path))
    return [Run(values=values, machine=machine_facts(facts))]


def read_github_action_benchmark(path: Path) -> list[Run]:
    """Read `data.js` of github-action-benchmark, which has a run for each commit. Leave out values that are not
    times."""
    text = read_text(path)
    document = parse_json(text[max(text.find("{"), 0) :].rstrip().rstrip(";"), str(path))
    runs: list[Run] = []
    for suite, entries in member(document, "entries", dict, str(path)).items():
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            place = f"{path}: {suite}[{index}]"
            commit = member(entry, "commit", dict, place)
            pairs, extras = [], []
            for bench in member(entry, "benches", list, place):
                name = checked_name(bench.get("name") if isinstance(bench, dict) else None, place)
                unit = str(bench.get("unit", "")).strip()
                if {*unit.split("/")} & {*SECONDS}:
                    pairs.append((name, _value_of_bench(bench, unit, f"{place} {name}")))
                extras.append(str(bench.get("extra", "")))
            if pairs:
                when = number_of(entry.get("date"), f"{place}: date") / 1000
                facts = {"cpu": next(filter(None, map(_cpu_of_extra, extras)), None)}
                moment = datetime.fromtimestamp(min(when, 4e9), timezone.utc).isoformat()
                runs.append(Run(collect(pairs, place), text_of(commit.get("id")), moment, machine=machine_facts(facts)))
            if len(runs) > MOST_RUNS:
                raise UsageError(f"{path}: more than {MOST_RUNS} runs")
    if not runs:
        raise UsageError(f"{path}: no run with a time")
    return sorted(runs, key=lambda run: run.time)


def _value_of_bench(bench: dict[str, Any], unit: str, place: str) -> Value:
    seconds = seconds_of(bench.get("value"), unit, place)
    spread = re.search(r"[\d.]+(?:e[+-]?\d+)?", str(bench.get("range", ""))[:80])
    repeats = re.search(r"(?:rounds|\d+ runs?|samples)\D{0,3}(\d+)", str(bench.get("extra", ""))[:400])
    spread_s = optional_number(spread[0]) if spread else 0.0
    if unit.partition("/")[0] in SECONDS:
        spread_s *= SECONDS[unit.partition("/")[0]]  # the spread of a rate (pytest's stddev) is in seconds already
    return Value(seconds, min(spread_s, seconds), int(repeats[1]) if repeats and len(repeats[1]) < 10 else 1)


def _cpu_of_extra(extra: str) -> Optional[str]:
    """Return the CPU that some projects, such as timezonefinder, write after their numbers, or None.

    >>> _cpu_of_extra("rounds: 59 on AMD EPYC 7763 64-Core Processor @ 3.2433 GHz")
    'AMD EPYC 7763 64-Core Processor'
    """
    found = re.search(r" on ([^\n@]{4,100})(?: @ |\n|$)", extra[-300:])
    return found[1].strip() if found else None


def text_of(value: Any) -> str:
    return value[:100] if isinstance(value, str) else ""


def machine_facts(facts: dict[str, Any]) -> dict[str, str]:
    return {name: text_of(value) for name, value in facts.items() if text_of(value)}


READERS: dict[str, Callable[[Path], list[Run]]] = {
    "pytest-benchmark": read_pytest_benchmark,
    "criterion": read_criterion,
    "jmh": read_jmh,
    "go": read_go,
    "github-action-benchmark": read_github_action_benchmark,
}


def read_results(path: Path, form: str) -> list[Run]:
    """Return the runs in a file of this format, or in a folder of criterion."""
    if form not in READERS:
        raise UsageError(f"--as {form}: choose {', '.join(READERS)}")
    return READERS[form](path)


def read_run(path: Path, form: str) -> Run:
    """Return the run in a file of this format. Raise UsageError if the file does not have exactly one."""
    runs = read_results(path, form)
    if len(runs) != 1:
        raise UsageError(f"{path} has {len(runs)} runs; expected one")
    return runs[0]
