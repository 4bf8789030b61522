"""The interface of public sources, and the measurements that are read from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from profiles.measurements import Measurements, PlatformRecord, ProfileRecord, RunTable, TimeKind, WorkloadRecord
from profiles.measurements.bounds import RANGES

NO_TIME = "a rate or a time that is missing, not positive or out of bounds"


class RefusedFolder(Exception):
    """A folder from which nothing is stored. The messages are counted, so there must be few different ones."""


@dataclass
class MeasuredFolder:
    """The content of one folder of a source: one machine, and the times (n, repeat) -> seconds of each workload.

    `left_out` counts what is not stored, by reason.
    """

    platform: PlatformRecord
    times: dict[WorkloadRecord, dict[tuple[int, int], float]] = field(default_factory=dict)
    relative: set[WorkloadRecord] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(
        self, workload: WorkloadRecord, n: int, time_s: float | None, *, repeat: int = 1, relative: bool = False
    ) -> None:
        """Add one run. Leave it out and count it if its time is invalid or the machine has fewer than n threads."""
        bounds = RANGES["relative time_s" if relative else "time_s"]
        if time_s is None or not bounds.least <= time_s <= bounds.most:
            self.left_out[f"{workload.application}: {NO_TIME}"] += 1
        elif not 1 <= n <= (self.platform.threads or RANGES["n"].most):
            self.left_out[f"{workload.application}: more threads than the machine has"] += 1
        else:
            self.times.setdefault(workload, {})[n, repeat] = time_s
            if relative:
                self.relative.add(workload)


class PublicSource(Protocol):
    """One source of public measurements. Each of its folders has the results of one machine.

    `version` is raised when the same files are read differently, so that `--update` reads them again. `wanted` returns
    the folder of a file and its name there if `read` needs the file, else None. `excerpt` returns the part of a file
    that `read` needs. `scattered` is true if the files of one folder are not stored together. The excerpts of all
    folders are then in memory at the same time, which only suits small sources.
    """

    name: str
    title: str
    licence: str
    citation: str
    note: str
    archive_url: str
    version: int
    scattered: bool

    def wanted(self, path: str) -> tuple[str, str] | None: ...

    def excerpt(self, member: str, content: bytes) -> bytes:
        return content

    def read(self, folder: str, files: Mapping[str, bytes]) -> MeasuredFolder:
        """Return the measurements in the files of a folder. Raise RefusedFolder if there are none to store."""
        ...


def as_delivery(source: PublicSource, folders: Sequence[MeasuredFolder], generator: str) -> Measurements:
    """Return folders of a source as one delivery."""
    workloads: dict[WorkloadRecord, int] = {}
    kinds: dict[int, TimeKind] = {}
    profiles = []
    for platform, folder in enumerate(folders):
        for workload, times in folder.times.items():
            index = workloads.setdefault(workload, len(workloads))
            kinds[index] = "relative" if workload in folder.relative else "absolute"
            rows = sorted(times)
            n, repeat = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(2))
            time_s = np.array([times[row] for row in rows], dtype=np.float64)
            clean_runs = RunTable(n, repeat, np.zeros(len(rows), dtype=np.bool_), time_s)
            profiles.append(ProfileRecord(platform, index, clean_runs))
    return Measurements(
        origin="measured",
        time_kinds=kinds,
        platforms=[folder.platform for folder in folders],
        workloads=list(workloads),
        profiles=profiles,
        generator=generator,
        licence=source.licence,
        source=source.citation,
        note=source.note,
    )
