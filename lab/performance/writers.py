"""Waiting time of other writers while a large upload is stored.

    python -m lab.performance.writers --rows 200000 --workloads 50

makes a temporary SQLite database, or uses the empty one of DATABASE_URL. `manage.py import_results` stores a tarball of
`--rows` runs, and meanwhile this process stores a session every 50 ms. Prints the longest wait.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.paths import ROOT

WRITE_EVERY_S = 0.05
THREAD_COUNTS, PASSES = 11, 2  # defaults of tests.samples.sample_runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--workloads", type=int, default=50)
    sys.stdout.write(json.dumps(measure_waits(**vars(parser.parse_args())), indent=2) + "\n")


def measure_waits(rows: int, workloads: int) -> dict[str, float]:
    """Return the seconds that the other writer waited, and the number of rows stored.

    It measures in a new process, because Django can be set up only once per process.
    """
    with tempfile.TemporaryDirectory(prefix="mpet-writers-") as folder:
        environment = dict(os.environ, MPET_STATE_DIR=folder, DJANGO_SETTINGS_MODULE="mpet_site.settings")
        command = [sys.executable, "-c", f"from lab.performance.writers import measure; measure({rows}, {workloads})"]
        result = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(result.stdout.splitlines()[-1])


def measure(rows: int, workloads: int) -> None:
    import django  # noqa: PLC0415  the settings depend on the folder that the caller made

    django.setup()
    from django.contrib.sessions.backends.db import SessionStore  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    path = Path(os.environ["MPET_STATE_DIR"]) / "large.tar.gz"
    path.write_bytes(large_tarball(rows, workloads))
    started, waits = time.monotonic(), []
    importing = subprocess.Popen([sys.executable, "manage.py", "import_results", str(path)], stdout=sys.stderr)
    while importing.poll() is None:
        before = time.monotonic()
        SessionStore().create()
        waits.append(time.monotonic() - before)
        time.sleep(WRITE_EVERY_S)
    seconds = time.monotonic() - started
    sys.stdout.write(json.dumps(_report(waits, seconds, importing.returncode)) + "\n")


def _report(waits: list[float], seconds: float, status: int) -> dict[str, float]:
    from profiles.models import Profile, Run  # noqa: PLC0415

    return {
        "import_status": status,
        "import_s": round(seconds, 2),
        "profiles": Profile.objects.count(),
        "runs": Run.objects.count(),
        "writes": len(waits),
        "median_wait_s": round(sorted(waits)[len(waits) // 2], 4),
        "longest_wait_s": round(max(waits), 3),
    }


def large_tarball(rows: int, workloads: int) -> bytes:
    import numpy as np  # noqa: PLC0415

    from profiles.measurements import Measurements, ProfileRecord  # noqa: PLC0415
    from tests.benchmarks.tarballs import packed  # noqa: PLC0415
    from tests.samples import sample_platform, sample_runs, sample_workload  # noqa: PLC0415

    rng = np.random.default_rng(0)
    repeats = max(1, rows // (workloads * THREAD_COUNTS * PASSES))
    profiles = [ProfileRecord(0, w, sample_runs(rng, repeats=repeats)) for w in range(workloads)]
    records = [sample_workload(w) for w in range(workloads)]
    return packed(Measurements("measured", {}, [sample_platform()], records, profiles))


if __name__ == "__main__":
    main()
