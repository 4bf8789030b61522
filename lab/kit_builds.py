"""Comparison of the times of two builds of the kit, `make static` and the native build
(docs/accuracy/kit-measurements.md).

    make -C benchmarks/kit build/mpet-bench-clean
    make -C benchmarks/kit static ARCHITECTURES=x86_64
    python -m lab.kit_builds benchmarks/kit/build benchmarks/kit/build/static/x86_64/v4

The two builds run alternately, so that disturbances affect both. On one thread the processor time of the whole run is
compared, because other programs affect it less than the elapsed time. On several threads, which wait for each other,
the time that the program measures for its sections is compared. The table has the median and the quartiles of the
ratios of the pairs, and the ratio of the minimum times, which other programs affected least.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

WORKLOADS = ("hog", "fft", "nbody", "spmv", "mandelbrot_static", "sgm", "jacobi", "mergesort", "census")


def seconds_of(build: Path, application: str, scale: str, threads: int) -> float:
    """Return the processor time of a run on one thread, or the time of its sections on several threads, in seconds."""
    program = [str(build / "mpet-bench-clean"), "--application", application, "--scale", scale, "--n", str(threads)]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([*program, "--repeats", "1", "--attempts", "1"], stdout=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{build}: {application} ended with status {process.returncode}")
        if threads == 1:
            return used.ru_utime + used.ru_stime
        output.seek(0)
        return sum(int(line.split("\t")[3]) for line in output if line.startswith("run\t")) / 1e9


def table_of(measured: dict[tuple[str, int], list[tuple[float, float]]]) -> str:
    """Return the Markdown table of `measured`, which maps (workload, n) to pairs of native and static times."""
    rows = ["| workload | n | static / native | quartiles | least / least | pairs |", "|---|---|---|---|---|---|"]
    for (name, threads), pairs in measured.items():
        low, middle, high = statistics.quantiles((static / native for native, static in pairs), n=4)
        least_native, least_static = (min(times) for times in zip(*pairs, strict=True))
        rows.append(
            f"| {name} | {threads} | {middle:.3f} | {low:.3f} to {high:.3f} | {least_static / least_native:.3f} "
            f"| {len(pairs)} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("native", type=Path)
    parser.add_argument("static", type=Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--scale", default="quick", choices=("tiny", "quick", "full"))
    parser.add_argument("--workloads", nargs="+", default=WORKLOADS)
    parser.add_argument("--n", nargs="+", type=int, default=[1], help="thread counts")
    arguments = parser.parse_args()
    measured: dict[tuple[str, int], list[tuple[float, float]]] = {
        (name, threads): [] for name in arguments.workloads for threads in arguments.n
    }
    for pair in range(arguments.pairs):
        for (name, threads), found in measured.items():
            # The order alternates, because a machine that warms up would otherwise favour one build.
            order = (arguments.native, arguments.static) if pair % 2 else (arguments.static, arguments.native)
            times = {build: seconds_of(build, name, arguments.scale, threads) for build in order}
            found.append((times[arguments.native], times[arguments.static]))
    print(table_of(measured))


if __name__ == "__main__":
    main()
