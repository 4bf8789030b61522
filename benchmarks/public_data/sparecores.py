"""The source SpareCores sc-inspector-data: benchmarks of the servers of cloud providers.

The files are `data/<provider>/<server>/<task>/<file>`. Each server is a platform.
docs/public-data-reference.md describes how the files are stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from benchmarks.public_data.hardware import (
    clock_in,
    lshw_memory_bytes,
    read_json,
    read_lscpu,
    read_lstopo,
    read_platform,
)
from benchmarks.public_data.interface import MeasuredFolder, PublicSource, RefusedFolder
from profiles.identity.spelling import fold_spelling
from profiles.measurements import PlatformRecord, WorkloadRecord

RESULTS = {
    "geekbench": "results.json",
    **dict.fromkeys(("stressng_benchmarks", "stressngfull", "compression_text", "llm"), "stdout"),
}
WANTED = {
    *(f"{task}/{member}" for task, result in RESULTS.items() for member in (result, "meta.json")),
    *("lscpu/stdout", "lstopo/stdout", "lshw/stdout", "geekbench/stdout"),
}
PATH = re.compile(r"(?:^|/)data/([^/]+/[^/]+)/([^/]+/[^/]+)$")
BURSTABLE = re.compile(
    r"aws/t\d|azure/Standard_B\d|gcp/(e2|f1|g1)-|alicloud/ecs\.(t\d|e-|n1|n2|n4|mn4|s\d|xn4)|ovh/d2-|upcloud/(STARTER|DEV)"
)
BOGO_OPERATIONS = 1_000_000  # of stress-ng, to which the stored times refer, as in `make stress-ng` of the kit
COMPRESSED_BYTES = 1_000_000_000
SECTIONS = {"Single-Core Performance": False, "Multi-Core Performance": True}


class SpareCores(PublicSource):
    """The source `sparecores`."""

    name = "sparecores"
    title = "SpareCores sc-inspector-data"
    licence = "CC BY-SA 4.0"
    citation = "Spare Cores team: sc-inspector-data, https://github.com/SpareCores/sc-inspector-data"
    note = (
        "Each server of a provider is a platform. Geekbench, stress-ng and compression ran at n = 1 and n = all "
        "threads; stress-ng --cpu-method div16 at more. Geekbench times are 1/score, in an unknown unit; stress-ng, "
        "compression and div16 are independent copies, whose time is that of a fixed amount of work by all copies."
    )
    archive_url = "https://codeload.github.com/SpareCores/sc-inspector-data/tar.gz/refs/heads/main"
    version = 1
    scattered = False

    def wanted(self, path: str) -> tuple[str, str] | None:
        found = PATH.search(path)
        return (found[1], found[2]) if found and found[2] in WANTED else None

    def read(self, folder: str, files: Mapping[str, bytes]) -> MeasuredFolder:
        if BURSTABLE.match(folder):
            raise RefusedFolder("a burstable or shared type, whose speed depends on credits")
        measured = MeasuredFolder(_read_server(folder, files))
        for task, read_task in TASKS.items():
            if f"{task}/{RESULTS[task]}" in files and (version := _version_of(files, task, measured)) is not None:
                try:
                    read_task(files[f"{task}/{RESULTS[task]}"], version, measured)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    measured.left_out[f"{task}: its result has an unknown format"] += 1
        if not measured.times:
            raise RefusedFolder("no benchmark has a usable result")
        return measured


def _read_server(folder: str, files: Mapping[str, bytes]) -> PlatformRecord:
    lscpu = read_lscpu(files, "lscpu/stdout")
    geekbench = files.get("geekbench/stdout", b"").decode(errors="replace")
    platform = read_platform(folder, lscpu, read_lstopo(files, "lstopo/stdout"))
    processor = re.search(r"CPU Information\n +Name +(.*)", geekbench)
    if processor and not _same_processor(platform.cpu_model, processor[1]):
        raise RefusedFolder("lscpu and Geekbench name different processors")
    base = re.search(r"Base Frequency +(.*)", geekbench)
    return replace(
        platform,
        base_mhz=platform.base_mhz or (clock_in(base[1]) if base else None),
        memory_bytes=lshw_memory_bytes(files, "lshw/stdout") or platform.memory_bytes,
    )


def _same_processor(one: str, other: str) -> bool:
    """Return whether two tools name the same processor. Geekbench omits the word CPU and the clock, and names Arm cores
    ARMv8.

    >>> _same_processor("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "Intel Xeon E5-2686 v4")
    True
    >>> _same_processor("AMD EPYC-Rome Processor", "AMD EPYC-Milan Processor")
    False
    """
    short, long = sorted((_short_name(one), _short_name(other)), key=len)
    return other.startswith("ARM ") or short in long


def _short_name(processor: str) -> str:
    return fold_spelling(re.sub(r"\bCPU\b|\b0(?= @)|@.*", "", processor))


def _version_of(files: Mapping[str, bytes], task: str, measured: MeasuredFolder) -> str | None:
    """Return the version of a task's program, "" if it is unknown, or None if the task failed."""
    try:
        meta = read_json(files, f"{task}/meta.json")
        status = meta.get("exit_code")
    except (RefusedFolder, AttributeError):
        meta, status = {}, "unknown"
    if status != 0:
        measured.left_out[f"{task}: ended with status {status}"] += 1
        return None
    return str(meta.get("version") or "")[:50]


def _inverse(rate: Any, amount: float = 1.0) -> float | None:
    is_rate = isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate < float("inf")
    return amount / rate if is_rate else None


def _read_geekbench(content: bytes, version: str, measured: MeasuredFolder) -> None:
    for section, workloads in json.loads(content).items():
        n = measured.platform.threads or 1 if SECTIONS[section] else 1
        for name, result in workloads.items():
            if name != "Score":
                key = re.sub(r"\W+", "_", name.lower())[:100]
                major = f"{version.partition('.')[0]}.x"
                workload = WorkloadRecord(f"geekbench/{key}", "geekbench", key, version=major)
                measured.add(workload, n, _inverse(result.get("score")), relative=True)


def stress_ng_workload(stressor: str, version: str) -> WorkloadRecord:
    """Return the workload of a stressor, with the same name as in the kit's `make stress-ng`."""
    return WorkloadRecord(
        *(f"stress-ng/{stressor}", "stress-ng", stressor),
        runtime="processes",
        input=f"{BOGO_OPERATIONS} bogo operations",
        version=version,
    )


def _read_stress_ng(content: bytes, version: str, measured: MeasuredFolder) -> None:
    for stressor, results in json.loads(content)["stressors"].items():
        for n, result in results.items():
            rate = (result or {}).get("bogo_ops_per_sec")
            measured.add(stress_ng_workload(stressor[:100], version), int(n), _inverse(rate, BOGO_OPERATIONS))


def _read_div16(content: bytes, version: str, measured: MeasuredFolder) -> None:
    for line in content.decode().split():
        n, rate = line.split(",")
        measured.add(stress_ng_workload("cpu-div16", version), int(n), _inverse(float(rate), BOGO_OPERATIONS))


def _read_compression(content: bytes, version: str, measured: MeasuredFolder) -> None:
    for codec, level, result in _compression_results(json.loads(content)):
        options = "".join(f"_{name[0]}{value}" for name, value in sorted((result.get("extra_args") or {}).items()))
        for direction in ("compress", "decompress"):
            section = f"{codec}_{level}{options}_{direction}"[:150]
            workload = WorkloadRecord(
                *(f"compression/{section}", "compression", section), runtime="processes", input="1 GB of text"
            )
            measured.add(workload, int(result["threads"]), _inverse(result.get(direction), COMPRESSED_BYTES))


def _compression_results(codecs: Mapping[str, Mapping[str, list[Any]]]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for codec, levels in codecs.items():
        yield from ((codec, level, result) for level, results in levels.items() for result in results)


def _read_llama(content: bytes, version: str, measured: MeasuredFolder) -> None:
    for line in content.decode().splitlines():
        case = json.loads(line)
        model = str(case["model_filename"]).rpartition("/")[2].removesuffix(".gguf")[:100]
        tokens = f"pp{int(case['n_prompt'])}" if case["n_prompt"] else f"tg{int(case['n_gen'])}"
        workload = WorkloadRecord(
            *(f"llama.cpp/{model}/{tokens}", "llama.cpp", f"{model}/{tokens}"), input=tokens, version=version
        )
        for repeat, nanoseconds in enumerate(case["samples_ns"][:100], start=1):
            measured.add(workload, int(case["n_threads"]), _inverse(1, float(nanoseconds) * 1e-9), repeat=repeat)


TASKS = {
    "geekbench": _read_geekbench,
    "stressng_benchmarks": _read_stress_ng,
    "stressngfull": _read_div16,
    "compression_text": _read_compression,
    "llm": _read_llama,
}
