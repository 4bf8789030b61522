"""Files of other tools, damaged at random: each is read or refused with a reason, and nothing else happens."""

import random

import pytest

from benchmarks.archive import ArchiveError
from benchmarks.formats import FORMATS, ForeignFile, read_foreign
from profiles.bound_checks import number_outside
from tests.benchmarks.formats.test_formats import CSV_COLUMNS, FILES, MACHINE, SPECIMENS
from tests.hostile.foreign_files import damage


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_are_read_or_refused(form):
    random_, refused = random.Random(form), 0
    columns = CSV_COLUMNS if form == "csv" else {}
    for _ in range(300):
        files = [ForeignFile(name, damage(random_, (SPECIMENS / name).read_bytes())) for name in FILES[form]]
        try:
            measurements = read_foreign(form, files, platform=MACHINE, columns=columns)
        except ArchiveError as error:
            assert error.problems
            assert str(error).isprintable() or "\n" in str(error)
            refused += 1
        else:
            assert number_outside(measurements) is None
    assert refused > 20
