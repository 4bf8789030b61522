"""Mutated files of other tools, read here: each is read or refused with a reason, in time, and nothing else happens."""

import random
import time
from collections import Counter

from benchmarks.archive import ArchiveError
from benchmarks.formats import FORMATS, ForeignFile, read_foreign
from benchmarks.formats.recognising import UnrecognisedError, recognise
from lab.hostile.foreign_files import mutated_files
from profiles.measurements.bounds import number_outside
from tests.benchmarks.formats.test_formats import CSV_COLUMNS, MACHINE

SLOW_S = 5.0  # of processor time, which a process that reads has


def read_or_refuse(seed: str) -> tuple[str, str]:
    """The tool of a mutated file, and what became of it."""
    rng = random.Random(seed)
    tool, _, contents = mutated_files(rng)
    files = [ForeignFile(name, content) for name, content in contents]
    columns = CSV_COLUMNS if tool == "csv" and rng.random() < 0.8 else {}
    platform = rng.choice((MACHINE, MACHINE, None))
    try:
        recognise(files)
    except UnrecognisedError as error:
        assert str(error)
    try:
        measurements = read_foreign(tool, files, platform=platform, columns=columns)
    except ArchiveError as error:
        assert error.problems
        assert str(error).isprintable() or "\n" in str(error)
        return tool, "refused"
    assert number_outside(measurements) is None
    return tool, "read"


def test_mutated_files_are_read_or_refused():
    became: Counter[tuple[str, str]] = Counter()
    for number in range(250):
        start = time.process_time()
        became[read_or_refuse(f"files:{number}")] += 1
        assert time.process_time() - start < SLOW_S, number
    assert {*became} == {(form, outcome) for form in FORMATS for outcome in ("read", "refused")}
