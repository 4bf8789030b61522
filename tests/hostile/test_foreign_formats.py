"""Files of other tools, damaged at random: each is read or refused with a reason, and nothing else happens."""

import random

import pytest

from benchmarks.archive import ArchiveError
from benchmarks.formats import FORMATS, ForeignFile, read_foreign
from profiles.bound_checks import number_outside
from tests.benchmarks.formats.test_formats import CSV_COLUMNS, FILES, MACHINE, SPECIMENS

TOKENS = (b"null", b"-1", b"1e999", b"{}", b"[]", b'""', b"\0", b"\xff", b"NaN", b"9" * 400, b"<", b",", b"\n", b"true")


def damaged(content: bytes, random_: random.Random) -> bytes:
    for _ in range(random_.randint(1, 4)):
        start = random_.randrange(len(content) + 1)
        end = min(len(content), start + random_.choice((0, 1, 3, 40, 400)))
        content = content[:start] + random_.choice((b"", *TOKENS)) + content[end:]
    return content


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_files_are_read_or_refused(form):
    random_, refused = random.Random(form), 0
    columns = CSV_COLUMNS if form == "csv" else {}
    for _ in range(300):
        files = [ForeignFile(name, damaged((SPECIMENS / name).read_bytes(), random_)) for name in FILES[form]]
        try:
            measurements = read_foreign(form, files, platform=MACHINE, columns=columns)
        except ArchiveError as error:
            assert error.problems
            assert str(error).isprintable() or "\n" in str(error)
            refused += 1
        else:
            assert number_outside(measurements) is None
    assert refused > 20
