"""Files that other tools write, read as measurements. No Django. docs/formats-in.md says what becomes what.

To add a format: a module with one function `(Collected, ForeignFile, column mapping)`, and its line in FORMATS.
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
    """Files of one format, measured on one machine, as one delivery: on `platform`, or where that is None on the one
    that the files describe. `columns` maps n, time_s, workload, ... to the header of a plain CSV.

    Raises ArchiveError with file, line and reason for each problem, KeyError for a format that is not in FORMATS.
    """
    reader = FORMATS[form]
    collected = Collected(platform, limits)
    for file in files:
        reader(collected, file, columns or {})
    return collected.measurements(form)
