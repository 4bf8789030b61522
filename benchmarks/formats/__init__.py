"""Readers that convert files of other tools into measurements (docs/formats-in.md). They do not need Django.

To add a format, write a module with one function `(Collected, ForeignFile, column mapping)` and add it to FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.formats.collecting import Collected, ForeignFile, ForeignLimits
from benchmarks.formats.extra_p import read_extra_p
from benchmarks.formats.google_benchmark import read_google_benchmark
from benchmarks.formats.hyperfine import read_hyperfine
from benchmarks.formats.likwid import read_likwid
from benchmarks.formats.phoronix import read_phoronix
from benchmarks.formats.plain_csv import read_plain_csv
from benchmarks.formats.talp import read_talp
from profiles.measurements import Measurements, PlatformRecord

FOREIGN_LIMITS = ForeignLimits()
ForeignReader = Callable[[Collected, ForeignFile, Mapping[str, str]], None]

FORMATS: dict[str, ForeignReader] = {
    "google-benchmark": read_google_benchmark,
    "hyperfine": read_hyperfine,
    "extra-p": read_extra_p,
    "talp": read_talp,
    "likwid": read_likwid,
    "phoronix": read_phoronix,
    "csv": read_plain_csv,
}


def read_foreign(
    form: str,
    files: Sequence[ForeignFile],
    *,
    platform: PlatformRecord | None = None,
    columns: Mapping[str, str] | None = None,
    limits: ForeignLimits = FOREIGN_LIMITS,
) -> Measurements:
    """Read files of one format, measured on one machine, as one delivery. The machine is `platform`, or if that is None
    the machine that the files describe. `columns` maps n, time_s, workload and other names to the column titles of a
    plain CSV.

    Raise ArchiveError with the file, line and reason of each problem, and KeyError if the format is not in FORMATS.
    """
    reader = FORMATS[form]
    collected = Collected(platform, limits)
    for file in files:
        reader(collected, file, columns or {})
    return collected.measurements(form)
