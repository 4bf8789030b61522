from dataclasses import replace

import pytest
from django.db import transaction

from predictor.computations import asking
from predictor.predictions import ranking_rows
from profiles.ingest.service import ingest
from profiles.measurements import Measurements
from tests.samples import sample_measurements

MODULE_ROWS = {"public_rows", "kit_rows"}  # fixtures with rows that all tests of a module read


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In modules with such rows, run the tests that do not use them first."""
    uses = [not MODULE_ROWS.isdisjoint(getattr(item, "fixturenames", ())) for item in items]
    begins = {item.path: position for position, item in reversed(list(enumerate(items)))}
    with_rows = {item.path for item, used in zip(items, uses, strict=True) if used}
    places = [begins[item.path] if item.path in with_rows else place for place, item in enumerate(items)]
    order = sorted(range(len(items)), key=lambda place: (places[place], uses[place]))
    items[:] = [items[place] for place in order]


def module_rows(build):
    """Return a fixture of a module that stores rows with `build` and rolls them back. Each test rolls back its own."""

    @pytest.fixture(scope="module")
    def rows(django_db_setup, django_db_blocker):
        with django_db_blocker.unblock(), transaction.atomic():
            yield build()
            transaction.set_rollback(True)

    return rows


def store(measurements: Measurements, label="sample", owner=None, private=False, kind="tarball", **more):
    return ingest(measurements, kind=kind, label=label, sha256=f"{label:0>64}", owner=owner, private=private, **more)


def without_pair(measurements: Measurements, platform: int, workload: int) -> Measurements:
    kept = [one for one in measurements.profiles if (one.platform, one.workload) != (platform, workload)]
    return replace(measurements, profiles=kept)


def only_pair(measurements: Measurements, platform: int, workload: int) -> Measurements:
    kept = [one for one in measurements.profiles if (one.platform, one.workload) == (platform, workload)]
    return replace(measurements, profiles=kept)


kit_rows = module_rows(lambda: store(sample_measurements(3, 6), label="kit"))


@pytest.fixture
def kit(kit_rows, db) -> None:
    """Store three platforms with six workloads each, as the kit measures them."""


@pytest.fixture
def measured(db):
    """Store four public platforms with six workloads each."""
    return store(sample_measurements(4, 6, licence="CC0", source="made up"))


@pytest.fixture
def owner(django_user_model):
    return django_user_model.objects.create_user("owner")


@pytest.fixture
def started(settings, monkeypatch):
    """Leave requests no time to compute anything. Returns the list of started background computations."""
    starts = []
    settings.REQUEST_SECONDS = 0
    monkeypatch.setattr(asking, "begin_in_background", starts.append)
    return starts


@pytest.fixture
def computed(monkeypatch):
    """The slugs of the rows of rankings that are computed, in order."""
    slugs, row = [], ranking_rows.ranking_row

    def note(question, target):
        slugs.append(question.snapshot.database.platforms[target])
        return row(question, target)

    monkeypatch.setattr(ranking_rows, "ranking_row", note)
    return slugs
