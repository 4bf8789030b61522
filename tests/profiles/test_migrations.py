"""What migrations do to rows of earlier versions.

0011: of rows that were stored before descriptions were kept, the earliest delivery that can be seen said it all.
0014: rows outside the bounds do not stand in the way of the constraints, and nothing breaks on them.
0018: vendors that were stored in another spelling get their name.
"""

import json
from importlib import import_module

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse

from profiles.ingest.derivation import refit
from profiles.models import (
    CounterReading,
    FeatureVector,
    Platform,
    PlatformDescription,
    Profile,
    Revision,
    Run,
    ScalingCurves,
    Source,
    Workload,
    WorkloadDescription,
)
from profiles.moderation import set_hidden
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform, sample_workload


def migrate(*targets) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())


@pytest.fixture
def before_bounds(transactional_db):
    """Five profiles in the database as it was before: without the constraints."""
    workloads = [sample_workload(index) for index in range(5)]
    deliver(measured([sample_platform()], workloads))
    deliver(measured([sample_platform(1)], workloads[:1]))
    migrate(("profiles", "0013_announcements"))
    yield
    migrate()


BAD_RUNS = [
    ("app0/section0", {"time_s": 5e-324}),
    ("app0/section0", {"time_ns": 2**59, "time_s": 2**59 / 1e9}),
    ("app0/section0", {"size": 1.7e308}),
    ("app0/section1", {"n": 2**31 - 1}),
]
BAD_VALUES = [1.7976931348623157e308, 1e-310, 5e-324, -1.0]


def spoil() -> None:
    """The findings of the audit, stored: a platform of 2^31 threads, absurd clocks, times, sizes and counters."""
    absurd = {"threads": 2**31 - 1, "physical_cores": 3_000_000, "n_max": 2**31 - 1, "n_ht": 70_000, "word_bits": 2000}
    sizes = {"max_mhz": 1e9, "base_mhz": 1e-3, "l3_bytes": 2**62, "placement": [0] * 400_000}
    Platform.objects.filter(name="machine-0").update(**absurd, **sizes, decided={"max_mhz": 1e9, "vendor": "Us"})
    Workload.objects.filter(name="app0/section0").update(size=1e300)
    PlatformDescription.objects.filter(platform__name="machine-0").update(facts={"max_mhz": 1e9, "vendor": "Us"})
    for workload, columns in BAD_RUNS:
        rows = Run.objects.filter(profile__workload__name=workload, profile__platform__name="machine-0", n__gt=1)
        run = rows.filter(time_s__range=(1e-9, 1e3), size=None).values_list("pk", flat=True).first()
        Run.objects.filter(pk=run).update(**columns)
    for reading, value in zip(
        CounterReading.objects.filter(profile__workload__name="app1/section0")[:4], BAD_VALUES, strict=True
    ):
        CounterReading.objects.filter(pk=reading.pk).update(value=value)
    Run.objects.filter(profile__workload__name="app1/section1").update(time_s=1e300)


@pytest.mark.lab
def test_a_database_with_rows_outside_the_bounds_migrates(before_bounds, client):
    """trust 1, 2, 3, 15: what the audit stored goes when the constraints come, and the rest stays."""
    spoil()
    revision = Revision.current()[0]
    runs, readings = Run.objects.count(), CounterReading.objects.count()
    of_last = Run.objects.filter(profile__workload__name="app1/section1").count()
    migrate()

    platform = Platform.objects.get(name="machine-0")
    unknown = ("threads", "physical_cores", "n_ht", "word_bits", "max_mhz", "base_mhz", "l3_bytes", "placement")
    assert {name: getattr(platform, name) for name in unknown} == dict.fromkeys(unknown)
    assert (platform.n_max, platform.sockets, platform.l2_bytes) == (65_536, 2, 1 << 20)
    assert platform.decided == {"vendor": "Us"}
    assert set(PlatformDescription.objects.get(platform=platform).facts) == {"vendor"}
    assert Workload.objects.get(name="app0/section0").size is None
    assert Run.objects.count() == runs - len(BAD_RUNS) - of_last
    assert CounterReading.objects.count() == readings - len(BAD_VALUES)
    assert Revision.current()[0] == revision + 1
    assert Platform.objects.get(name="machine-1").threads == 16
    check_profiles(client)


def check_profiles(client) -> None:
    """Of the spoilt profiles nothing is derived until `refit`, their pages answer, and then only one has nothing."""
    spoilt = list(Profile.objects.filter(curves=None).select_related("workload"))
    names = {"app0/section0", "app0/section1", "app1/section0", "app1/section1"}
    assert sorted((p.workload.name, p.platform.name) for p in spoilt) == sorted((name, "machine-0") for name in names)
    assert all("refit" in profile.warnings[0] for profile in spoilt)
    assert FeatureVector.objects.count() == ScalingCurves.objects.count() == Profile.objects.count() - 4
    for name in ("profile", "api-profile"):
        for profile in spoilt:
            assert client.get(reverse(name, args=[profile.uid])).status_code == 200
    refit(only_stale=True)
    assert [profile.workload.name for profile in Profile.objects.filter(curves=None)] == ["app1/section1"]
    assert client.get(reverse("platform", args=[Platform.objects.get(name="machine-0").slug])).status_code == 200


@pytest.mark.lab
def test_a_database_inside_the_bounds_is_left_as_it_is(before_bounds):
    def state():
        counts = [model.objects.count() for model in (Run, CounterReading, ScalingCurves)]
        facts = json.dumps(list(PlatformDescription.objects.order_by("pk").values("facts", "differences")))
        return Revision.current(), counts, facts

    before = state()
    migrate()
    assert state() == before


OUTSIDE = [
    *((Platform, {"threads": 65_537}), (Platform, {"n_max": 65_537}), (Platform, {"max_mhz": 0.5})),
    *((Platform, {"memory_bytes": 2**60 + 1}), (Workload, {"size": 1e300})),
    *((Run, {"n": 65_537}), (Run, {"time_s": 5e-324}), (Run, {"time_ns": 2**59})),
    *((Run, {"size": 1.7e308}), (Run, {"waits": 2**63 - 1})),
    *((CounterReading, {"value": value}) for value in (1e-310, 1.797e308, -1.0)),
]


@pytest.mark.django_db
def test_the_database_refuses_what_is_outside_and_takes_the_bounds_themselves():
    deliver()
    for model, columns in OUTSIDE:
        first = model.objects.order_by("pk").first()
        with pytest.raises(IntegrityError), transaction.atomic():
            model.objects.filter(pk=first.pk).update(**columns)
    run = Run.objects.order_by("pk").first()
    bounds = {"n": 65_536, "time_s": 1e-18, "time_ns": 10**16, "size": 1e18, "clock_mhz": 1, "tasks": 0, "waits": 2**53}
    Run.objects.filter(pk=run.pk).update(**bounds)
    CounterReading.objects.update(value=0)
    CounterReading.objects.update(value=1e21)
    Platform.objects.update(threads=65_536, n_max=65_536, max_mhz=100_000, memory_bytes=2**60)
    assert CounterReading.objects.filter(value=1e21).exists()


def store_old_spellings() -> None:
    deliver(measured([sample_platform(), sample_platform(1)]))
    deliver(measured([sample_platform(vendor="Other")]), owner=None)
    Platform.objects.filter(slug="machine-0").update(vendor="GenuineIntel", decided={"vendor": "GenuineIntel"})
    first, last = PlatformDescription.objects.filter(platform__slug="machine-0").order_by("pk")
    facts = {"vendor": "GenuineIntel", "base_mhz": 1.0}
    PlatformDescription.objects.filter(pk=first.pk).update(facts=facts)
    differences = [["vendor", "Intel"], ["base_mhz", 2.0]]
    PlatformDescription.objects.filter(pk=last.pk).update(differs=True, differences=differences)


@pytest.mark.lab
@pytest.mark.django_db(transaction=True)
def test_what_was_stored_before_gets_its_name_and_keeps_its_identity():
    store_old_spellings()
    identity = Platform.objects.get(slug="machine-0").identity
    public, _ = Revision.current()
    try:
        migrate(("profiles", "0017_measured_under_load"))
    finally:
        migrate()
    platform = Platform.objects.get(slug="machine-0")
    assert (platform.vendor, platform.decided, platform.identity) == ("Intel", {"vendor": "Intel"}, identity)
    assert Platform.objects.get(slug="machine-1").vendor == "Example"
    first, last = PlatformDescription.objects.filter(platform=platform).order_by("pk")
    assert first.facts == {"vendor": "Intel", "base_mhz": 1.0}
    assert (last.differs, last.differences) == (True, [["base_mhz", 2.0]])
    assert Revision.current()[0] == public + 1


credit_deliveries = import_module("profiles.migrations.0011_credit_deliveries").credit_deliveries


def credited() -> Platform:
    """The public platform after the migration of rows that know nothing of descriptions."""
    for model in (PlatformDescription, WorkloadDescription):
        model.objects.all().delete()
    for model in (Platform, Workload):
        model.objects.update(facts_by="")
    Source.objects.update(deliverer="")
    credit_deliveries(apps, None)
    return Platform.objects.get(private_to=None)


@pytest.mark.django_db
def test_the_earliest_delivery_said_what_is_known(alice, bob):
    first = deliver(measured([sample_platform(vendor="Alice")]), owner=alice).source
    deliver(measured([sample_platform(vendor="Bob")]), owner=bob)
    deliver(measured([sample_platform(9, name="own")]), owner=bob, private=True)
    platform = credited()
    assert (platform.vendor, platform.facts_by) == ("Alice", f"user:{alice.pk}")
    assert set(Platform.objects.filter(private_to=bob).values_list("facts_by", flat=True)) == {f"user:{bob.pk}"}
    assert set(Source.objects.values_list("deliverer", flat=True)) == {f"user:{user.pk}" for user in (alice, bob)}
    deliver(measured([sample_platform(vendor="Bob")]), owner=bob)
    platform.refresh_from_db()
    assert platform.vendor == "Alice"
    set_hidden(first, True)
    platform.refresh_from_db()
    assert (platform.vendor, platform.facts_by) == ("Bob", f"user:{bob.pk}")
    set_hidden(first, False)
    platform.refresh_from_db()
    assert platform.vendor == "Alice"


@pytest.mark.django_db
def test_a_hidden_delivery_is_passed_over(alice):
    set_hidden(deliver(owner=alice).source, True)
    deliver()
    assert credited().facts_by == "operator"


@pytest.mark.django_db
def test_a_platform_without_profiles_came_in_a_dataset_of_the_operator():
    Platform.objects.create(slug="bare", identity="bare", spelling="bare", name="bare", n_max=4)
    assert credited().facts_by == "operator"
    assert not PlatformDescription.objects.exists()
