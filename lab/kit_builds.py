"""Whether two builds of the kit have the same times: `make static` against the compiler's own machine (docs/kit.md).

    make -C benchmarks/kit build/mpet-bench-clean
    make -C benchmarks/kit static ARCHITECTURES=x86_64
    python -m lab.kit_builds benchmarks/kit/build benchmarks/kit/build/static/x86_64

Both builds run in turn, so that what disturbs the one disturbs the other. Compared is the processor time of a whole run
on one thread, which other programs change less than its time: median of the pairs' ratios, and their quartiles.
"""

import argparse
import os
import statistics
import subprocess
from pathlib import Path

WORKLOADS = ("hog", "fft", "nbody", "spmv", "mandelbrot_static", "sgm")


def processor_seconds(build: Path, application: str, scale: str) -> float:
    program = [str(build / "mpet-bench-clean"), "--application", application, "--repeats", "1", "--scale", scale]
    process = subprocess.Popen([*program, "--n", "1"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{build}: {application} ended with status {process.returncode}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("native", type=Path)
    parser.add_argument("static", type=Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--scale", default="quick", choices=("tiny", "quick", "full"))
    parser.add_argument("--workloads", nargs="+", default=WORKLOADS)
    arguments = parser.parse_args()
    ratios: dict[str, list[float]] = {name: [] for name in arguments.workloads}
    for pair in range(arguments.pairs):
        for name, found in ratios.items():
            # Who is first alternates: a machine that warms up would otherwise favour one of them.
            order = (arguments.native, arguments.static) if pair % 2 else (arguments.static, arguments.native)
            times = {build: processor_seconds(build, name, arguments.scale) for build in order}
            found.append(times[arguments.static] / times[arguments.native])
        print(pair + 1, {name: round(statistics.median(found), 4) for name, found in ratios.items()}, flush=True)
    print("| workload | static / native | quartiles | pairs |\n|---|---|---|---|")
    for name, found in ratios.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} | {len(found)} |")


if __name__ == "__main__":
    main()
