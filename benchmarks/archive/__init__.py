"""The format `mpet-results/1`: safe reading and reproducible writing of results tarballs (docs/formats.md), without
Django.

`read_archive` accepts a tarball as a whole or raises `ArchiveError`, which lists the problems by member and line.
"""

from benchmarks.archive.container import ArchiveError, ArchiveProblem, ArchiveProblems, Limits, quoted
from benchmarks.archive.documents import load_schema
from benchmarks.archive.reading import read_archive
from benchmarks.archive.writing import write_archive

__all__ = [
    "ArchiveError",
    "ArchiveProblem",
    "ArchiveProblems",
    "Limits",
    "load_schema",
    "quoted",
    "read_archive",
    "write_archive",
]
