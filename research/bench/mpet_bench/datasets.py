"""Public data sets of the tasks: their sources, their checksums, and the table that is read from them.

This package contains no data set. Users fetch them under the licences of their authors.
"""

from __future__ import annotations

import hashlib
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

KEY = ["platform", "workload", "n"]
DEFAULT_FOLDER = Path("~/.cache/mpet-bench")
IN_A_CLONE = Path(__file__).resolve().parents[4] / "shared" / "data"
SPARE_CORES = "Spare Cores team, https://github.com/SpareCores/sc-inspector-data @804d3c71, as an mpet-dataset/1 folder"
PITOT = "https://raw.githubusercontent.com/WiseLabCMU/pitot/b94541c2bee815be183b4bb3dda9685afb41e2e7/data/data.npz"


class DatasetError(Exception):
    """Raised if a data set is missing, or is not the one that a task needs."""


@dataclass(frozen=True)
class Dataset:
    """A public data set.

    `files` maps file name -> sha256. `address` is the URL for `fetch`, if the data set is one file.
    """

    name: str
    files: Mapping[str, str]
    source: str
    licence: str
    address: str | None = None


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "sparecores-gb6",
            {
                "platforms.csv": "063087f6e75f9bc37e684ebc23f7f90e7111ec4429024031b5d3d7ffffcfa9eb",
                "runs.csv.gz": "cb89663372f306406a5eb5e368cba629663e8d3125d903c06c02c5bd563b92b7",
            },
            SPARE_CORES,
            "CC BY-SA 4.0",
        ),
        Dataset(
            "sparecores-llama",
            {
                "platforms.csv": "79177d5f4c5ee0118c99aca806e7eaaeaf529f2fbcb04a95108e75350a4dc0fb",
                "runs.csv.gz": "d53883c1db55dfc81172d3f4d6442109fff370147ec9b1674859716045dc3bb0",
            },
            SPARE_CORES,
            "CC BY-SA 4.0",
        ),
        Dataset(
            "sparecores-suites",
            {
                "platforms.csv": "037e9f67a5122b6f30a1d22d047b0a1143cf4c5606daa0fdb97e2ac362a6d6c9",
                "runs.csv.gz": "d4c57b66c966768fb85ec7db79d0f5c473db233fda2bac25c6ec6a85493e2e6b",
            },
            SPARE_CORES,
            "CC BY-SA 4.0",
        ),
        Dataset(
            "pitot",
            {"data.npz": "4361e9380bc6f04f6691fe468f60f735da92d4180cd5a8749d14deb4f4767e2d"},
            "T. Huang et al., https://github.com/WiseLabCMU/pitot",
            "MIT",
            PITOT,
        ),
    )
}


def data_folders(given: Path | None = None) -> list[Path]:
    """Return the folders that are searched for data sets, in this order."""
    if given is not None:
        return [given]
    environment = os.environ.get("MPET_BENCH_DATA")
    return [*([Path(environment)] if environment else []), DEFAULT_FOLDER.expanduser(), IN_A_CLONE]


def find_dataset(dataset: Dataset, given: Path | None = None) -> Path:
    """Return the folder with the files of the data set.

    Raise DatasetError if there is none, or if a file has another checksum.
    """
    for folder in (parent / dataset.name for parent in data_folders(given)):
        if all((folder / name).is_file() for name in dataset.files):
            for name, expected in dataset.files.items():
                found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
                if found != expected:
                    raise DatasetError(f"{folder / name} has the SHA-256 {found}; expected {expected}")
            return folder
    searched = ", ".join(str(folder / dataset.name) for folder in data_folders(given))
    raise DatasetError(f"the data set {dataset.name} was not found in {searched}; `mpet-bench data` lists its source")


def fetch_dataset(dataset: Dataset, folder: Path) -> Path:
    """Download the data set into a folder of its name, and return this folder.

    Raise DatasetError if the data set is not one file, cannot be downloaded, or has another checksum.
    """
    if dataset.address is None:
        raise DatasetError(
            f"{dataset.name} cannot be downloaded as one file. Its source is {dataset.source}. "
            f"Put {', '.join(dataset.files)} into {folder / dataset.name}"
        )
    ((name, expected),) = dataset.files.items()
    try:
        with urllib.request.urlopen(dataset.address, timeout=60) as response:  # noqa: S310  # an https address of ours
            content = response.read()
    except OSError as error:
        raise DatasetError(f"{dataset.address} cannot be downloaded: {error}") from error
    if (found := hashlib.sha256(content).hexdigest()) != expected:
        raise DatasetError(f"{dataset.address} has the SHA-256 {found}; expected {expected}")
    (folder / dataset.name).mkdir(parents=True, exist_ok=True)
    (folder / dataset.name / name).write_bytes(content)
    return folder / dataset.name


def read_table(folder: Path) -> pd.DataFrame:
    """Return a table with one row for each (platform, workload, n), and its median time.

    Further columns are the suite of the workload (the text before its first slash) and the known facts of the platform.
    Rows of an mpet-dataset/1 are sorted by platform, workload and n.
    """
    table = _read_pitot(folder / "data.npz") if (folder / "data.npz").is_file() else _read_mpet_dataset(folder)
    return table.assign(suite=[name.partition("/")[0] if "/" in name else "" for name in table["workload"]])


def _read_mpet_dataset(folder: Path) -> pd.DataFrame:
    runs_file = next((folder / name for name in ("runs.csv.gz", "runs.csv") if (folder / name).is_file()), None)
    if runs_file is None or not (folder / "platforms.csv").is_file():
        raise DatasetError(f"{folder} has no platforms.csv and runs.csv of an mpet-dataset/1")
    runs = pd.read_csv(runs_file).rename(columns={"platform_id": "platform"})
    if missing := [name for name in [*KEY, "time_s"] if name not in runs]:
        raise DatasetError(f"{runs_file} has no column {', '.join(missing)}")
    facts = pd.read_csv(folder / "platforms.csv").rename(columns={"platform_id": "platform"}).drop(columns="name")
    times = runs.groupby(KEY, sort=True)["time_s"].median().reset_index()
    return times.merge(facts, on="platform", how="left", validate="many_to_one")


def _read_pitot(file: Path) -> pd.DataFrame:
    """Return Pitot's runtimes in isolation, in the order of its file, because its splits are positions there.

    A platform is a WebAssembly runtime on a device.
    """
    data = np.load(file)
    names, features = data["n_platform"].astype(str), data["f_platform"].astype(str)
    of_kind = {
        kind: [column for column, name in enumerate(features) if name.startswith(f"{kind}=")]
        for kind in ("uarch", "runtime")
    }
    facts = pd.DataFrame({"platform": names, "cpu_model": [name.partition(":")[2] for name in names]})
    for kind, column in (("uarch", "microarchitecture"), ("runtime", "runtime")):
        is_one = data["d_platform"][:, of_kind[kind]] > 0
        labels = features[of_kind[kind]][is_one.argmax(axis=1)]
        facts[column] = [
            label.partition("=")[2] if known else None for label, known in zip(labels, is_one.any(axis=1), strict=True)
        ]
    times = pd.DataFrame(
        {
            "platform": names[data["i_platform"]],
            "workload": data["n_workload"].astype(str)[data["i_workload"]],
            "n": 1,
            "time_s": data["t"].astype(np.float64) / 1e9,
        }
    )
    return times.merge(facts, on="platform", how="left")
