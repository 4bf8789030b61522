"""Costs by the size of the database: import, snapshot, predictions, ranking, distances, pages, API, upload.

    python -m lab.performance.fleet [--sizes 10x100 100x100 1000x100 10000x100] [--dataset DIR [--copies 4]]
                                      [--json FILE]
    python -m lab.performance.fleet --walk [--dataset DIR [--copies 2]] [--database postgresql] [--seconds 600]

For each size (platforms x workloads) it makes a database in a temporary folder, with synthetic profiles: times by a
low-rank model, at three thread counts. `--dataset` adds a folder in the dataset format, and `--copies` adds the same
dataset with K copies of each machine under different names. The output is a table with one column per database and the
growth from the first size to the last. Seconds are processor time unless stated otherwise.

`--walk` opens every page and list and runs every periodic task, dump and command on one database instead: that of the
datasets with their copies, or the one of MPET_STATE_DIR if no dataset is given. It prints the processor time of each,
and the queries that scan a large table in full (lab/performance/walk.py).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab.hostile.servers import installation
from lab.performance.walk import WALKS, walk
from profiles.measurements.datasets import DATASET_PLATFORM_COLUMNS, DATASET_SCHEMA, RUN_COLUMNS
from tests.paths import ROOT

COUNTS = (1, 4, 16)
PLATFORM = {"vendor": "Made", "architecture": "x86_64", "device_class": "server", "threads": COUNTS[-1]}
RANK, NOISE = 4, 0.03
QUESTIONS, WARM = 21, 3
RANKINGS = 27  # the time of a ranking depends on how many machines are similar for the workload
COMPARED = ("mpet", "mpet2020")
PAIRS = 2_000  # most vectors for the distances between all pairs
ELEMENTS, INVALID = 84, 0.3  # random vectors are used for distances, because synthetic profiles have only times
SEED = 1
PARTS = ("snapshot", "again", "answers", "distances", "pages", "api", "upload")  # each runs in a separate process

Row = dict[str, float]
ROWS = {
    "profiles": "profiles",
    "import_rate": "import: profiles a second (clock)",
    "import_mib": "import: memory at most (MiB)",
    "database_mib": "database (MiB)",
    "snapshot_s": "snapshot: built (s)",
    "snapshot_ratio": "snapshot: memory that building it takes at most / raw arrays",
    "again_s": "snapshot: mapped by another process (s)",
    "again_ratio": "and memory of its own there, after three predictions / raw arrays",
    "mpet_ms": "a prediction by `mpet`, median (ms)",
    "mpet2020_ms": "by `mpet2020` (ms)",
    "ordered_s": "a ranking: all rows ordered, median (s)",
    "ranked_s": "a ranking: the first page computed, median (s)",
    "one_to_all": "distances, one to all: passes over the memory",
    "all_pairs": "distances, all pairs: of the bare product",
    "front_ms": "front page, cold (ms)",
    "platform_ms": "platform page, cold (ms)",
    "workload_ms": "workload page, cold (ms)",
    "map_s": "map of the workloads, computed (s)",
    "empty_ms": "an empty POST, signed in (ms)",
    "post_ratio": "a new prediction: of the empty POST",
    "why_ratio": "its reasons (why), first asked: of the empty POST",
    "stored_ratio": "a stored prediction again: of the empty POST",
    "upload_s": "an upload of 20 profiles is accepted, and judged (s)",
    "visible_s": "and predicted from (s)",
    "visible_clock_s": "the same by the clock (s)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=["10x100", "100x100", "1000x100", "10000x100"], metavar="PxW")
    parser.add_argument("--dataset", nargs="*", default=[], type=Path, metavar="DIR")
    parser.add_argument("--copies", type=int, default=1, help="copies of each machine of the datasets (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument(
        "--walk", nargs="*", choices=WALKS, metavar="PART", help=f"parts of the walk: {', '.join(WALKS)} (default: all)"
    )
    parser.add_argument("--seconds", type=int, default=600, help="limit of processor time per command of --walk")
    parser.add_argument("--database", default="sqlite", help="database of --walk: sqlite, postgresql or a URL")
    options = parser.parse_args()
    if options.walk is not None:
        sys.stdout.write(walked(options))
        return
    columns: dict[str, Row] = {}
    for name in options.sizes:
        with tempfile.TemporaryDirectory(prefix="mpet-fleet-") as folder:
            platforms, workloads = map(int, name.split("x"))
            write_fleet(Path(folder), platforms, workloads)
            columns[name] = measured(Path(folder))
    for dataset in options.dataset:
        columns[dataset.name] = measured(dataset)
        if options.copies > 1:
            with tempfile.TemporaryDirectory(prefix="mpet-fleet-") as folder:
                write_copies(dataset, Path(folder), options.copies)
                columns[f"{options.copies} x {dataset.name}"] = measured(Path(folder))
    if options.json:
        options.json.write_text(json.dumps(columns, indent=1) + "\n")
    sys.stdout.write(table(columns, options.sizes))


def walked(options: argparse.Namespace) -> str:
    """Return the tables of `walk` for the datasets with their copies, or for the database of the environment."""
    parts = tuple(options.walk) or WALKS
    if not options.dataset:
        return walk(dict(os.environ), options.seconds, parts)
    with (
        installation(options.database, demo=False) as made,
        tempfile.TemporaryDirectory(prefix="mpet-fleet-") as folder,
    ):
        for number, dataset in enumerate(options.dataset):
            copies = Path(folder) / str(number)
            copies.mkdir()
            write_copies(dataset, copies, options.copies)
            made.manage("import_dataset", str(copies))
        return walk(made.environment, options.seconds, parts)


def write_fleet(folder: Path, platforms: int, workloads: int, seed: int = SEED) -> None:
    """Write an mpet-dataset/1 folder with ln t = work - speed + factors of rank RANK + (loss - 1) ln n + noise."""
    rng = np.random.default_rng(seed)
    speed, work = rng.normal(size=platforms), rng.normal(size=workloads)
    factors = 0.2 * rng.normal(size=(platforms, RANK)) @ rng.normal(size=(RANK, workloads))
    loss = 0.3 * rng.random((platforms, 1, 1)) + 0.4 * rng.random((workloads, 1))
    log_t = (work - speed[:, None] + factors)[:, :, None] + (loss - 1.0) * np.log(COUNTS)
    log_t = log_t + NOISE * rng.normal(size=log_t.shape)
    about = {"schema": DATASET_SCHEMA, "licence": "CC0-1.0", "source": "made", "note": "a model of low rank"}
    (folder / "dataset.json").write_text(json.dumps(about))
    with (folder / "platforms.csv").open("w", newline="") as file:
        rows = csv.DictWriter(file, DATASET_PLATFORM_COLUMNS)
        rows.writeheader()
        for p in range(platforms):
            mhz = round(2000 + 1000 * rng.random())
            kind = {"cpu_model": f"cpu {p // 4}", "microarchitecture": f"march {p // 40}", "base_mhz": mhz}
            rows.writerow(PLATFORM | kind | {"platform_id": name_of(p), "name": name_of(p)})
    with gzip.open(folder / "runs.csv.gz", "wt", compresslevel=1, newline="") as file:
        rows = csv.writer(file)
        rows.writerow(RUN_COLUMNS)
        for p, times in enumerate(np.exp(log_t)):
            rows.writerows(
                [name_of(p), f"suite {w // 10}/work {w:04}", n, 1, f"{times[w, k]:.6g}", "absolute"]
                for w in range(workloads)
                for k, n in enumerate(COUNTS)
            )


def write_copies(dataset: Path, folder: Path, copies: int) -> None:
    """Write the dataset with `copies` of each machine, each copy under its own name."""
    shutil.copy(dataset / "dataset.json", folder)
    for path in dataset.glob("*.csv*"):
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
        names = [column for column in ("platform_id", "name") if column in rows]
        renamed = [rows.assign(**{name: f"{k} of " + rows[name] for name in names}) for k in range(copies)]
        pd.concat(renamed).to_csv(folder / path.name, index=False)


def name_of(platform: int) -> str:
    return f"machine {platform:05}"


def measured(folder: Path) -> Row:
    """Import the dataset into a new database and return its column of the table."""
    with installation("sqlite", demo=False) as made:
        started = time.perf_counter()
        row = {"import_mib": import_mib(folder, made.environment)}
        seconds = time.perf_counter() - started
        row["database_mib"] = (Path(made.environment["MPET_STATE_DIR"]) / "mpet.sqlite3").stat().st_size / 2**20
        for part in PARTS:
            row |= in_a_process(part, made.environment)
        return row | {"import_rate": row["profiles"] / seconds}


def import_mib(folder: Path, environment: dict[str, str]) -> float:
    """Import the dataset and return the peak memory of the command in MiB."""
    command = [sys.executable, "manage.py", "import_dataset", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_maxrss / 1024


def in_a_process(part: str, environment: dict[str, str]) -> Row:
    """Run `measure_<part>` in a new process with this database and return its result."""
    command = [sys.executable, "-c", f"from lab.performance.fleet import report; report({part!r})"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"DJANGO_SETTINGS_MODULE": "research.settings"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: Row = json.loads(done.stdout.splitlines()[-1])
    sys.stderr.write(f"{part}: {found}\n")
    return found


def report(part: str) -> None:
    import django  # noqa: PLC0415  the settings depend on the folder that the caller made

    django.setup()
    sys.stdout.write(json.dumps(globals()[f"measure_{part}"]()) + "\n")


def taken(function: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    function()
    return clock() - start


def median_ms(functions: Iterable[Callable[[], Any]]) -> float:
    """Return the median time of the functions in ms, without the first WARM."""
    return 1000 * float(np.median([taken(one) for one in functions][WARM:]))


def resident_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def own_bytes() -> int:
    """Return the memory that this process has now and does not share, in bytes. Mapped files do not count."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) * 1024


def raw_bytes(database: Any) -> int:
    return sum(value.nbytes for value in vars(database).values() if isinstance(value, np.ndarray))


def warm_up() -> None:
    """Load the code for building a snapshot, and fill its internal caches, by building an empty one."""
    from predictor.snapshot.cache import read_database  # noqa: PLC0415

    read_database(origins=("nothing",))


def known_pairs(database: Any, count: int, rng: np.random.Generator | None = None) -> list[tuple[int, int]]:
    """Draw measured pairs (workload, platform) that can be predicted without their own profile.

    Another platform must have the workload, and must share another workload with the target.
    """
    drawn = (rng or np.random.default_rng(SEED)).permutation(len(database))
    found = (pair for at in drawn if shares_another(database, pair := pair_of(database, at)))
    return list(islice(found, count))


def pair_of(database: Any, row: int) -> tuple[int, int]:
    return int(database.workload_index[row]), int(database.platform_index[row])


def shares_another(database: Any, pair: tuple[int, int]) -> bool:
    workload, target = pair
    of_it, of_target = database.workload_index == workload, database.platform_index == target
    references = np.isin(database.platform_index, database.platform_index[of_it & ~of_target])
    return bool((references & np.isin(database.workload_index, database.workload_index[of_target & ~of_it])).any())


def measure_snapshot() -> Row:
    from predictor.snapshot.cache import read_database  # noqa: PLC0415

    warm_up()
    before = resident_bytes()
    seconds = taken(read_database)
    database = read_database()
    return {
        "profiles": len(database),
        "snapshot_s": seconds,
        "snapshot_ratio": (resident_bytes() - before) / raw_bytes(database),
    }


def measure_again() -> Row:
    from predictor.core.methods import METHODS, Query  # noqa: PLC0415
    from predictor.snapshot.cache import read_database  # noqa: PLC0415

    warm_up()
    before = own_bytes()
    seconds = taken(read_database)
    database = read_database()
    for name in COMPARED:
        METHODS[name].predict(database, Query(*known_pairs(database, 1)[0]), METHODS[name].settings())
    return {"again_s": seconds, "again_ratio": (own_bytes() - before) / raw_bytes(database)}


def measure_answers() -> Row:
    from predictor.core.methods import METHODS, Query  # noqa: PLC0415
    from predictor.core.steps import single_thread  # noqa: PLC0415
    from predictor.predictions.rankings import RankingQuestion  # noqa: PLC0415
    from predictor.snapshot.cache import read_database  # noqa: PLC0415

    database, rng, row = read_database(), np.random.default_rng(SEED), {}
    with single_thread():
        for name in COMPARED:
            method = METHODS[name]
            pairs = known_pairs(database, QUESTIONS + WARM, rng)
            questions = [partial(method.predict, database, Query(*pair), method.settings()) for pair in pairs]
            row[name.replace("-", "_") + "_ms"] = median_ms(questions)
        drawn = rng.choice(len(database.workloads), min(RANKINGS, len(database.workloads)), replace=False)
        ranked = [ranking_seconds(RankingQuestion.of(database.workloads[w], page=1).steps()) for w in drawn]
    return row | dict(zip(("ordered_s", "ranked_s"), np.median(ranked, axis=0).tolist(), strict=True))


def ranking_seconds(steps: Iterator[Any]) -> tuple[float, float]:
    """Return the seconds until all rows are in order, and until the rows of the page are computed."""
    ordered = taken(lambda: (next(steps), next(steps, None)))
    return ordered, ordered + taken(lambda: list(steps))


def measure_distances() -> Row:
    from predictor.core.distance import MaskedRows  # noqa: PLC0415
    from predictor.core.steps import single_thread  # noqa: PLC0415
    from predictor.snapshot.cache import read_database  # noqa: PLC0415

    rng = np.random.default_rng(SEED)
    rows = rng.random((len(read_database()), ELEMENTS))
    rows[rng.random(rows.shape) < INVALID] = np.nan
    ready, few = MaskedRows.of(rows, np.float32), MaskedRows.of(rows[:PAIRS], np.float32)
    one = MaskedRows.of(rows[:1], np.float32, ready.centre)
    factors, E = few.factors, rows.shape[1]

    def multiply() -> None:
        for top in range(0, len(factors), 256):
            part = factors[top : top + 256]
            part @ factors.T, part[:, :E] @ factors[:, :E].T

    def least(function: Callable[[], Any]) -> float:
        return min(taken(function, time.perf_counter) for _ in range(7))

    with single_thread():
        return {
            "one_to_all": least(lambda: one.distances_to(ready)) / least(lambda: np.sum(rows)),
            "all_pairs": least(lambda: few.distances_to(few)) / least(multiply),
        }


def measure_pages() -> Row:
    from django.core.cache import cache  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415
    from django.urls import reverse  # noqa: PLC0415

    from predictor.comparisons import MapQuestion  # noqa: PLC0415
    from predictor.core.assembly import MEASURED  # noqa: PLC0415
    from predictor.core.steps import last_step  # noqa: PLC0415
    from predictor.snapshot.cache import read_snapshot  # noqa: PLC0415

    reverse("home")  # imports the code of all pages
    snapshot = read_snapshot(origins=MEASURED)
    database = snapshot.database
    client = Client(headers={"host": "localhost"})
    client.get("/healthz")

    def opened(address: str) -> None:
        cache.clear()
        response = client.get(address)
        assert response.status_code == 200, (address, response.status_code)

    return {
        "front_ms": 1000 * taken(lambda: opened("/")),
        "platform_ms": 1000 * taken(lambda: opened(reverse("platform", args=[database.platforms[-1]]))),
        "workload_ms": 1000 * taken(lambda: opened(reverse("workload", args=[database.workloads[-1]]))),
        # Computed here, because the page responds before a long computation ends.
        "map_s": taken(lambda: last_step(MapQuestion(snapshot, MEASURED).steps()).document()),
    }


def measure_api() -> Row:
    from predictor.snapshot.cache import read_database  # noqa: PLC0415
    from tests.mpet_site.api_samples import API, client_of, make_user  # noqa: PLC0415

    database = read_database()
    client = client_of(make_user("fleet"), "predict")
    pairs = [(w, t) for t in database.platforms[:6] for w in database.workloads[: QUESTIONS // 6 + 1]]

    def post(body: dict[str, Any], status: int) -> Callable[[], Any]:
        def ask() -> None:
            response = client.post(API + "predictions/", body, format="json", headers={"host": "localhost"})
            assert response.status_code == status, response.content[:300]

        return ask

    def medians(more: dict[str, Any]) -> Any:
        """Return the median seconds of an empty POST and of a prediction request.

        The two alternate, because the machine's speed changes during a run.
        """
        times = [
            (taken(post({}, 400)), taken(post({"workload": workload, "target": target} | more, 201)))
            for workload, target in pairs
        ]
        return np.median(times[WARM:], axis=0)

    empty, asked = np.transpose([medians({}), medians({"explain": True}), medians({})])
    ratios = dict(zip(("post_ratio", "why_ratio", "stored_ratio"), (asked / empty).tolist(), strict=True))
    return {"empty_ms": 1000 * float(np.median(empty)), **ratios}


def measure_upload() -> Row:
    """Measure the second of two uploads, because the first one loads code. Each upload is of a new platform."""
    from predictor.core.methods import METHODS, Query  # noqa: PLC0415
    from predictor.snapshot.cache import read_database  # noqa: PLC0415
    from tests.benchmarks.uploads import receive, tarball  # noqa: PLC0415
    from tests.samples import sample_measurements, sample_platform  # noqa: PLC0415

    before = read_database()
    ((workload, target),) = known_pairs(before, 1)

    def ask(uploads: int) -> None:
        database = read_database()
        assert len(database.platforms) == len(before.platforms) + uploads
        query = Query(
            database.workloads.index(before.workloads[workload]), database.platforms.index(before.platforms[target])
        )
        METHODS["mpet"].predict(database, query, METHODS["mpet"].settings())

    ask(0)
    row: Row = {}
    for uploads, name in enumerate(("a machine", "b machine"), start=1):
        platform = replace(sample_platform(0), name=name, cpu_model=name)
        content = tarball(replace(sample_measurements(1, 20), platforms=[platform]))
        start = time.perf_counter()
        row["upload_s"] = taken(partial(receive, content))
        row["visible_s"] = row["upload_s"] + taken(partial(ask, uploads))
        row["visible_clock_s"] = time.perf_counter() - start
    return row


def table(columns: dict[str, Row], sizes: list[str]) -> str:
    out = io.StringIO()
    print("| |", " | ".join(columns), "| growth |", file=out)
    print("|---" * (len(columns) + 2) + "|", file=out)
    for key, title in ROWS.items():
        values = [row[key] for row in columns.values()]
        grown = columns[sizes[-1]][key] / columns[sizes[0]][key] if sizes else float("nan")
        print("|", title, "|", " | ".join(f"{value:,.3g}" for value in values), f"| {grown:,.3g} |", file=out)
    return out.getvalue()


if __name__ == "__main__":
    main()
