"""The command that measures a growing database (lab/performance/fleet.py), on a tiny one."""

import math

import pytest
from django.core.management import call_command
from django.db.models import Q

from lab.performance import fleet
from predictor.core.errors import NothingShared
from predictor.core.methods import METHODS, Query
from predictor.snapshot.cache import read_database
from profiles.models import Profile

pytestmark = pytest.mark.lab


@pytest.fixture
def made(tmp_path, db, settings):
    settings.MEDIA_ROOT = tmp_path / "media"
    folder = tmp_path / "made"
    folder.mkdir()
    fleet.write_fleet(folder, platforms=7, workloads=12)
    call_command("import_dataset", str(folder))
    assert Profile.objects.count() == 7 * 12


def test_every_row_is_measured(made):
    """Two uploads are stored in the end: the others measure what was imported."""
    found = {}
    for part in fleet.PARTS:
        found |= getattr(fleet, f"measure_{part}")()
    of_the_import = {"import_rate", "import_mib", "database_mib"}
    assert found.keys() | of_the_import == fleet.ROWS.keys()
    assert all(math.isfinite(value) and value >= 0 for value in found.values())
    assert found["profiles"] == 7 * 12
    assert Profile.objects.count() == 7 * 12 + 2 * 20


def test_a_pair_is_drawn_only_where_another_platform_says_something(db, settings, tmp_path):
    """The last platform has workloads 0 and 1, the others 0, 2 and 3: they share none but the one that is asked for."""
    settings.MEDIA_ROOT = tmp_path / "media"
    fleet.write_fleet(tmp_path, platforms=3, workloads=4)
    call_command("import_dataset", str(tmp_path))
    last, one = Q(platform__name=fleet.name_of(2)), Q(workload__name__endswith="0001")
    Profile.objects.filter(last ^ one).exclude(workload__name__endswith="0000").delete()
    database = read_database()
    pairs = fleet.known_pairs(database, 100)
    assert sorted(pairs) == [(workload, platform) for workload in (0, 2, 3) for platform in (0, 1)]
    for pair in pairs:
        METHODS["mpet"].predict(database, Query(*pair), METHODS["mpet"].settings())
    with pytest.raises(NothingShared):
        METHODS["mpet"].predict(database, Query(0, 2), METHODS["mpet"].settings())


def test_copies_are_the_same_machines_under_other_names(tmp_path, db, settings):
    settings.MEDIA_ROOT = tmp_path / "media"
    given, written = tmp_path / "given", tmp_path / "written"
    given.mkdir()
    written.mkdir()
    fleet.write_fleet(given, platforms=2, workloads=3)
    fleet.write_copies(given, written, copies=2)
    call_command("import_dataset", str(written))
    rows = Profile.objects.order_by("workload__name").values_list("t1_s", flat=True)
    first, second = (list(rows.filter(platform__name=f"{copy} of machine 00001")) for copy in range(2))
    assert len(first) == 3
    assert first == second
    assert Profile.objects.count() == 4 * 3


def test_the_table_has_a_column_for_each_and_the_growth():
    columns = {size: dict.fromkeys(fleet.ROWS, value) for size, value in (("1x1", 2.0), ("2x2", 6.0))}
    lines = fleet.table(columns, list(columns)).splitlines()
    assert lines[0] == "| | 1x1 | 2x2 | growth |"
    assert len(lines) == len(fleet.ROWS) + 2
    assert all(line.endswith("| 2 | 6 | 3 |") for line in lines[2:])
