"""Dataset folders of public measurements that are not distributed with MPET (docs/accuracy/unseen.md).

    python -m research.unseen_data spec-cpu2017 CLONE FOLDER --release data-bookworm --flags O3
    python -m research.unseen_data sbc-bench CLONE FOLDER
    python -m research.unseen_data clickbench CLONE FOLDER --machines ../shared/data/sparecores-servers

CLONE is a clone of github.com/jiegec/blog-source, github.com/ThomasKaiser/sbc-bench or
github.com/ClickHouse/ClickBench. Times of the first two are of one thread, those of ClickBench of all threads.
"""

import argparse
import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from profiles.measurements.datasets import DATASET_PLATFORM_COLUMNS, DATASET_SCHEMA, RUN_COLUMNS

FEWEST_PLATFORMS = 10  # with a workload of sbc-bench; rarer ones are left out
OPENSSL_BLOCK_BYTES = (16, 64, 256, 1024, 8192, 16384)
LEAST_LATENCY_BLOCK, LEAST_LATENCY_NS = 262_144, 1.0  # smaller blocks have latencies of rounded tenths
LEAST_QUERY_SECONDS = 0.01  # shorter queries have times of rounded milliseconds
SECTION_HEAD = re.compile(
    r"(?m)^Executing (?:benchmark|ramlat)(?: single-threaded)?(?: on cpu(\d+)(?: \((.+?)\))?)?[^\n]*$"
)
ARM = re.compile("Graviton|Ampere|Apple|Kunpeng|Qualcomm|Yitian|Kirin|Axion")


class Measured(NamedTuple):
    """A CPU or core, and the times of its workloads in seconds, by name."""

    platform: dict[str, str]
    times: dict[str, list[float]]


def read_spec_cpu2017(clone: Path, release: str, flags: str | None) -> Iterator[Measured]:
    """Yield the CPUs with their times of SPEC CPU 2017 rate with one copy.

    A benchmark built with other compiler options is another workload. With `flags` only this build is read.
    """
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(clone.glob(f"docs/benchmark/{release}/*2017_rate1/*.txt")):
        built = re.fullmatch(r"(.+)_(O\d.*?)_\d+", path.stem)
        if built is None or flags not in (None, built[2]):
            continue
        runs = path.read_text(encoding="utf-8", errors="replace").partition("=====")[0]
        for benchmark, seconds in re.findall(r"(?m)^(\d+\.\w+) +1 +([\d.]+) +[\d.]+ +[*S]", runs):
            found[built[1].replace("_", " ")][f"spec/{benchmark}@{built[2]}"].append(float(seconds))
    for cpu, times in sorted(found.items()):
        yield Measured({"platform_id": cpu, "architecture": spec_architecture(cpu), "cpu_model": cpu}, dict(times))


def spec_architecture(cpu: str) -> str:
    """Return the instruction set of a CPU by its name.

    >>> spec_architecture("Apple M1 P-Core"), spec_architecture("AMD EPYC 7551")
    ('aarch64', 'x86_64')
    """
    by_name = {"POWER": "ppc64le", "Loongson": "loongarch64"}
    return next((set_ for name, set_ in by_name.items() if name in cpu), "aarch64" if ARM.search(cpu) else "x86_64")


def read_sbc_bench(clone: Path) -> Iterator[Measured]:
    """Yield each kind of core of each board, with its bandwidths and latencies (tinymembench, ramlat), ciphers
    (openssl) and compression (7-Zip). A rate counts as the time of a fixed amount of work."""
    cores: list[Measured] = []
    for path in sorted(clone.glob("results/*.txt")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.startswith("sbc-bench"):
            cores += read_board(path.stem, text)
    platforms = Counter(workload for core in cores for workload in core.times)
    for core in cores:
        common = {name: times for name, times in core.times.items() if platforms[name] >= FEWEST_PLATFORMS}
        yield core._replace(times=common)


def read_board(name: str, text: str) -> Iterator[Measured]:
    """Yield the kinds of cores of one result of sbc-bench."""
    model = re.search(r"(?m)^Model name: *(\S.*?) *$", text)
    architecture = re.search("aarch64|x86_64|riscv64|armv7l|loongarch64", text[:3000])
    clocks = dict(re.findall(r"Checking cpufreq OPP for cpu(\d+)[^\n]*:\n\nCpufreq OPP: +(\d+)", text))
    cores: dict[str, Measured] = {}
    heads = list(re.finditer(SECTION_HEAD, text))
    starts = [*(head.start() for head in heads), len(text)]
    for head, (start, end) in zip(heads, pairwise(starts), strict=True):
        section, cpu, core_name = text[start:end], *head.groups()
        if cpu and "tinymembench" in section and cpu not in cores:
            facts = {"platform_id": f"{name}-cpu{cpu}", "base_mhz": clocks.get(cpu, "")}
            facts |= {"architecture": architecture[0] if architecture else "", "microarchitecture": core_name or ""}
            facts["device_class"] = "embedded"
            facts["cpu_model"] = core_name or (model[1] if model else "unknown")
            cores[cpu] = Measured(facts, defaultdict(list))
        measured = [cores[cpu]] if cpu in cores else list(cores.values()) if "each cluster" in head[0] else []
        for core, workload, seconds in times_in_section(section, measured):
            core.times[workload].append(seconds)
    yield from cores.values()


def times_in_section(section: str, cores: list[Measured]) -> Iterator[tuple[Measured, str, float]]:
    """Yield the times of a section of a result with their core. OpenSSL has one line for each of the cores."""
    if not cores:
        return
    ciphers: dict[str, int] = defaultdict(int)
    for cipher, rates in re.findall(r"(?m)^(aes-\d+-cbc) +((?:[\d.]+k +){5}[\d.]+k)", section):
        if ciphers[cipher] < len(cores):
            for size, rate in zip(OPENSSL_BLOCK_BYTES, rates.split(), strict=True):
                yield cores[ciphers[cipher]], f"openssl/{cipher}-{size}", 1e6 / float(rate.rstrip("k"))
        ciphers[cipher] += 1
    for operation, rate in re.findall(r"(?m)^ ((?:C |standard )[^:]*?) +: +([\d.]+) MB/s", section):
        yield cores[0], f"tinymembench/{re.sub(r'[ ()]+', '-', operation).strip('-')}", 1e3 / float(rate)
    without_huge_pages = section.partition("[MADV_HUGEPAGE]")[0]
    for size, one, two in re.findall(r"(?m)^ +(\d+) : +([\d.]+) ns +/ +([\d.]+) ns", without_huge_pages):
        if int(size) >= LEAST_LATENCY_BLOCK and min(float(one), float(two)) > LEAST_LATENCY_NS:
            yield cores[0], f"tinymembench/read-{size}", float(one)
            yield cores[0], f"tinymembench/dualread-{size}", float(two)
    for size, latencies in re.findall(r"(?m)^ +(\d+)k: +((?:[\d.]+ +){7}[\d.]+) *$", section):
        columns = latencies.split()
        yield cores[0], f"ramlat/1x64-{size}k", float(columns[2])
        yield cores[0], f"ramlat/8xPTR-{size}k", float(columns[7])
    for pack, unpack in re.findall(r"(?m)^Avr: +\d+ +\d+ +(\d+) +\| +\d+ +\d+ +(\d+)", section):
        yield cores[0], "7zip/compress", 1e6 / float(pack)
        yield cores[0], "7zip/decompress", 1e6 / float(unpack)


def read_clickbench(clone: Path, machines: Path) -> Iterator[Measured]:
    """Yield the AWS machines of a dataset folder with the times of each database's queries, with all threads.

    The newest result of a database on a machine counts, and of a query its fastest run with a warm cache.
    """
    with (machines / "platforms.csv").open(encoding="utf-8", newline="") as file:
        described = {row["platform_id"].removeprefix("aws/"): row for row in csv.DictReader(file)}
    newest: dict[tuple[str, str], Path] = {}
    for path in sorted(clone.glob("*/results/*/*.json")):  # by database, then by date
        if path.stem in described:
            newest[path.parts[-4], path.stem] = path
    times: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for (system, machine), path in newest.items():
        result = json.loads(path.read_text(encoding="utf-8"))
        if int(result.get("cluster_size") or 1) != 1:
            continue
        for number, runs in enumerate(result["result"]):
            warm = [seconds for seconds in (runs or [])[1:] if isinstance(seconds, float | int)]
            if warm and min(warm) >= LEAST_QUERY_SECONDS:
                times[machine][f"{system}/q{number:02d}"] = [min(warm)]
    for machine, of_machine in sorted(times.items()):
        yield Measured(described[machine], of_machine)


def write_folder(folder: Path, measured: list[Measured], source: str) -> None:
    """Write a dataset folder with the CPUs or cores that have a workload."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"schema": DATASET_SCHEMA, "licence": "unknown", "source": source, "note": ""}
    (folder / "dataset.json").write_text(json.dumps(about), encoding="utf-8")
    usual = {"device_class": "server", "sockets": "1", "physical_cores": "1", "threads": "1", "virtualised": "False"}
    with (folder / "platforms.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, DATASET_PLATFORM_COLUMNS)
        table.writeheader()
        table.writerows(usual | {"name": row.platform["platform_id"]} | row.platform for row in measured if row.times)
    with (folder / "runs.csv").open("w", encoding="utf-8", newline="") as file:
        runs = csv.writer(file)
        runs.writerow(RUN_COLUMNS)
        for row in measured:
            for workload, times in sorted(row.times.items()):
                key = row.platform["platform_id"], workload, row.platform.get("threads", usual["threads"])
                runs.writerows((*key, repeat, seconds, "absolute") for repeat, seconds in enumerate(times, start=1))


def main() -> None:
    """Write the dataset folder that the command line requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=("spec-cpu2017", "sbc-bench", "clickbench"))
    parser.add_argument("clone", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", default="data-bookworm", help="folder of spec-cpu2017 (default: %(default)s)")
    parser.add_argument("--flags", help="one build of spec-cpu2017, such as O3 (default: all)")
    parser.add_argument("--machines", type=Path, help="dataset folder that describes the machines of clickbench")
    options = parser.parse_args()
    if options.source == "clickbench" and options.machines is None:
        parser.error("clickbench needs --machines, which describes the machines")
    if options.source == "spec-cpu2017":
        measured = read_spec_cpu2017(options.clone, options.release, options.flags)
    elif options.source == "sbc-bench":
        measured = read_sbc_bench(options.clone)
    else:
        measured = read_clickbench(options.clone, options.machines)
    write_folder(options.folder, list(measured), options.source)


if __name__ == "__main__":
    main()
