"""What a public source is, and what is read of it."""

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
    """Why nothing of a folder is stored: few different texts, because they are counted."""


@dataclass
class MeasuredFolder:
    """What one folder of a source holds: one machine, and its times (n, repeat) -> seconds of each workload.

    `left_out` counts by reason what of it is not stored."""

    platform: PlatformRecord
    times: dict[WorkloadRecord, dict[tuple[int, int], float]] = field(default_factory=dict)
    relative: set[WorkloadRecord] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(
        self, workload: WorkloadRecord, n: int, time_s: float | None, *, repeat: int = 1, relative: bool = False
    ) -> None:
        """One run. A time that cannot be one is left out, and counted; so is a run on more threads than there are."""
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
    """One source of public measurements. A folder of it is one machine.

    `version` is raised when the same files are read differently, so that `--update` reads them again. `wanted` gives
    the folder and the name in it of each file that `read` asks for, None for all others. `excerpt` is what of a file
    `read` needs. `scattered`: the files of one folder do not lie together, so that the excerpts of all are held at
    once; for small sources.
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
        """Raises RefusedFolder."""
        ...


def as_delivery(source: PublicSource, folders: Sequence[MeasuredFolder], generator: str) -> Measurements:
    """Folders of a source as one delivery."""
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
