"""The reader of Google Benchmark's JSON (`--benchmark_out_format=json`). Each repetition is a run.

The thread count is the member `threads` of a run, or the suffix `/threads:N` of its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benchmarks.archive import quoted
from benchmarks.formats.collecting import LONGEST_FIELD, SECONDS_PER_UNIT, Collected, ForeignFile, as_count, as_number
from profiles.measurements import PlatformRecord, WorkloadRecord

SUFFIXES = re.compile(r"/(?:threads|repeats|iterations|min_time|min_warmup_time):[^/]*|/(?:real|process|manual)_time")
THREADS_SUFFIX = re.compile(r"/threads:(\d+)")
PREFERRED_AGGREGATES = ("median", "mean")  # used if single repetitions are not reported


def read_google_benchmark(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    document = collected.document(file)
    content = document.value
    benchmarks = content.get("benchmarks") if isinstance(content, dict) else None
    if not isinstance(benchmarks, list) or not all(isinstance(one, dict) for one in benchmarks):
        collected.refuse(file, 1, "is not Google Benchmark JSON: it has no list of benchmarks")
    context = content.get("context")
    if isinstance(context, dict):
        collected.environment.setdefault("google_benchmark", context)
        _describe_platform(collected, context)
    single = {_run_name(one) for one in benchmarks if one.get("run_type", "iteration") == "iteration"}
    aggregate = {
        _run_name(one): name
        for name in reversed(PREFERRED_AGGREGATES)
        for one in benchmarks
        if one.get("aggregate_name") == name
    }
    for place, one in enumerate(benchmarks):
        if one.get("error_occurred") or one.get("skipped"):
            collected.left_out["runs that ended with an error or were skipped"] += 1
        elif one.get("run_type", "iteration") == "iteration" or (
            _run_name(one) not in single and one.get("aggregate_name") == aggregate.get(_run_name(one))
        ):
            _add_run(collected, file, one, document.line(["benchmarks", place]))


def _run_name(one: dict[str, Any]) -> str:
    return str(one.get("run_name", one.get("name", "")))[:LONGEST_FIELD]


def _add_run(collected: Collected, file: ForeignFile, one: dict[str, Any], line: int) -> None:
    name = _run_name(one)
    unit = SECONDS_PER_UNIT.get(str(one.get("time_unit", "ns")))
    time = as_number(one.get("real_time"))
    if unit is None:
        unknown = quoted(one.get("time_unit"))
        collected.note(file.name, line, f"time_unit is {unknown}, not ns, us, ms or s", "unit")
        return
    suffix = THREADS_SUFFIX.search(name)
    short = SUFFIXES.sub("", name)
    family, _, arguments = short.partition("/")
    workload = WorkloadRecord(short, family, runtime="std::thread", input=arguments or None)
    threads = one.get("threads", suffix[1] if suffix else 1)
    collected.add(workload, threads, None if time is None else time * unit, file=file, line=line)


def _describe_platform(collected: Collected, context: dict[str, Any]) -> None:
    """Describe the platform by its host name, processors, clock and caches. The file does not name the processor
    model."""
    host, threads = context.get("host_name"), as_count(context.get("num_cpus"))
    if isinstance(host, str) and host.strip() and threads is not None and threads > 0:
        mhz = as_number(context.get("mhz_per_cpu"))
        collected.describe(PlatformRecord(host, "", threads=threads, max_mhz=mhz, **_cache_bytes(context, threads)))


def _cache_bytes(context: dict[str, Any], threads: int) -> dict[str, Any]:
    sizes = {}
    caches = context.get("caches")
    for cache in caches if isinstance(caches, list) else []:
        if not isinstance(cache, dict) or cache.get("type") == "Instruction":
            continue
        level, size, sharing = (as_count(cache.get(name)) for name in ("level", "size", "num_sharing"))
        if level in (1, 2, 3) and size is not None and sharing is not None and sharing > 0:
            sizes[f"l{level}{'d' if level == 1 else ''}_bytes"] = size * max(1, threads // sharing)
    return sizes
