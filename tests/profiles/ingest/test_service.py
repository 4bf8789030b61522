from dataclasses import replace

import numpy as np
import pytest
from django.db import DEFAULT_DB_ALIAS, IntegrityError, connections, transaction
from django.test.utils import CaptureQueriesContext

from profiles.ingest import service, staging
from profiles.ingest.derivation import refit, run_tables
from profiles.ingest.service import IngestError, announce_forgotten, delivered
from profiles.measurements import PARTS, CounterTable
from profiles.models import Platform, Profile, Revision, Run, Source, Workload
from profiles.models.base import MOST_ATTEMPTS
from profiles.scaling.features import feature_fit
from profiles.scaling.names import METHOD_VERSION
from profiles.scaling.runs import scaling_curves
from tests.profiles.deliveries import deliver, let_lapse, measured, stored_counts
from tests.samples import sample_measurements, sample_platform, sample_workload, varied_measurements

pytestmark = pytest.mark.django_db
SAME = "a" * 64


def test_every_run_and_reading_is_stored_and_read_back():
    runs = varied_measurements().profiles[0].runs
    counted = np.where(runs.is_profile_pass, 5.0, np.nan)
    flags = np.where(runs.n == 1, 1.0, np.where(runs.n == 2, np.nan, 0.0))
    runs = replace(runs, tasks=counted, waits=counted / 5, disturbed=flags)
    measurements = with_record(varied_measurements(), runs=runs)
    profiles = deliver(measurements).profiles
    tables = run_tables([profile.pk for profile in profiles])
    for profile, record in zip(profiles, measurements.profiles, strict=True):
        checksums = tuple(profile.runs.order_by("pk").values_list("output_checksum", flat=True))
        assert checksums == record.runs.output_checksum
        for name, column in vars(replace(record.runs, output_checksum=None)).items():
            np.testing.assert_array_equal(getattr(tables[profile.pk], name), column, name)
        readings = profile.counter_readings.order_by("pk").values_list("n", "counter", "value")
        counters = record.counters
        assert list(readings) == list(zip(counters.n.tolist(), counters.counter, counters.value.tolist(), strict=True))
    first = profiles[0].runs.order_by("pk").first()
    parts = [[getattr(run, f"{part}_ns") for part in PARTS] for run in profiles[0].runs.filter(pass_kind="profile")]
    assert (first.pass_kind, first.use_ns) == ("clean", None)
    assert parts[0] == runs.parts_ns[runs.is_profile_pass][0].tolist()


def with_record(measurements, at=0, **fields):
    """The measurements with fields of one profile replaced."""
    profiles = list(measurements.profiles)
    profiles[at] = replace(profiles[at], **fields)
    return replace(measurements, profiles=profiles)


def test_derived_rows_are_those_of_the_method():
    measurements = sample_measurements(2, 2)
    for stored, record in zip(deliver(measurements).profiles, measurements.profiles, strict=True):
        profile = Profile.objects.get(pk=stored.pk)
        curves = scaling_curves(record.runs, record.counters)
        fit = feature_fit(curves, 4, 8)
        assert profile.t1_s == curves.t1_s
        assert profile.fit_error == fit.fit_error
        assert (profile.n_measured, profile.n_min, profile.n_largest) == (11, 1, 16)
        assert profile.decomposed
        assert not profile.t1_is_stand_in
        np.testing.assert_array_equal(profile.curves.n, curves.n)
        np.testing.assert_array_equal(profile.curves.values.reshape(15, -1), curves.values)
        np.testing.assert_array_equal(profile.feature_vector.values, fit.values)
        np.testing.assert_array_equal(profile.feature_vector.rms, fit.rms)
        assert profile.curves.code_version == profile.feature_vector.code_version == METHOD_VERSION


def test_other_sizes_and_clocks_are_kept_and_change_nothing_derived():
    plain, *_ = deliver(sample_measurements(1, 2)).profiles
    record = varied_measurements().profiles[0]
    kept, *_ = deliver(varied_measurements()).profiles
    assert kept.runs.count() == 4 * len(record.runs.own)
    assert (kept.workload.size, kept.workload.size_unit) == (100, "rows")
    for one in (kept, Profile.objects.get(pk=kept.pk)):
        assert one.t1_s == plain.t1_s
        assert one.warnings == plain.warnings
    refit()
    again = Profile.objects.get(pk=kept.pk)
    np.testing.assert_array_equal(again.curves.values, plain.curves.values)
    np.testing.assert_array_equal(again.feature_vector.values, plain.feature_vector.values)


def test_a_variation_is_stored_once():
    run = Run.objects.filter(profile=deliver(varied_measurements()).profiles[0], size__isnull=False).first()
    run.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        run.save()
    run.clock_mhz = 1.0
    run.save()


def test_a_workload_has_one_size():
    deliver(sample_measurements(1, 2))
    deliver(varied_measurements())
    assert Workload.objects.get(slug="app0-section0").size == 100  # it was unknown
    other = varied_measurements()
    other.workloads[0] = replace(other.workloads[0], size=101.0)
    before = stored_counts()
    with pytest.raises(IngestError, match="has size 100, these runs have size 101"):
        deliver(other)
    assert stored_counts() == before


def test_where_it_came_from_is_kept():
    measurements = sample_measurements(
        1, 1, licence="CC0", source="somebody", note="a note", environment={"load": float("nan")}, log="text"
    )
    source = deliver(measurements).source
    source.refresh_from_db()
    assert (source.licence, source.citation, source.note, source.log) == ("CC0", "somebody", "a note", "text")
    assert source.environment == {"load": None}
    assert source.generator == "mpet-kit 1.0"
    assert (source.kind, source.label, source.origin) == ("tarball", "run.tar.gz", "measured")


def test_unknown_counters_and_statuses_are_kept():
    one, values = np.array([1, 1]), np.array([7.0, np.nan])
    table = CounterTable(n=one, repeat=one, counter=("MY-COUNTER", "BR"), value=values, status=("ok", "no-permission"))
    profile = deliver(with_record(sample_measurements(1, 1), counters=table)).profiles[0]
    rows = set(profile.counter_readings.values_list("counter", "value", "status"))
    assert rows == {("MY-COUNTER", 7.0, "ok"), ("BR", None, "no-permission")}


def test_wall_times_that_start_late_or_are_sequential():
    """As a dataset has them: a late curve has a stand-in for t(1), and one of n = 1 alone has no fit."""
    measurements = sample_measurements(1, 1, decomposed=False, counters=False)
    runs = replace(measurements.profiles[0].runs, time_ns=None, parts_ns=None, output_checksum=None)
    late, sequential = (
        deliver(with_record(measurements, runs=runs.take(np.flatnonzero(kept)))).profiles[0]
        for kept in (runs.n >= 2, runs.n == 1)
    )
    assert (late.t1_is_stand_in, late.n_min) == (True, 2)
    assert late.t1_s == 2 * np.median(runs.time_s[runs.n == 2])
    assert any("stands in" in warning for warning in late.warnings)
    assert late.runs.values_list("time_ns", "use_ns").first() == (None, None)
    sequential.refresh_from_db()
    assert sequential.fit_error is None
    assert np.isnan(sequential.feature_vector.values).all()


def test_progress_counts_profiles_and_each_delivery_raises_the_revision_once(monkeypatch):
    monkeypatch.setattr(staging, "STAGED_PROFILES_AT_ONCE", 4)
    seen = []
    deliver(sample_measurements(2, 3), progress=seen.append)
    assert seen == [4, 2]
    assert Revision.current() == (1, 0)
    deliver(sample_measurements(1, 2, seed=1))
    assert Revision.current() == (2, 0)


def test_second_delivery_of_the_same_bytes_answers_with_the_first(alice):
    first = deliver(sha256=SAME, owner=alice)
    before = stored_counts()
    second = deliver(sha256=SAME, owner=alice)
    assert second.existing
    assert second.source == first.source
    assert {profile.pk for profile in second.profiles} == {profile.pk for profile in first.profiles}
    assert "uploaded before" in second.warnings[0]
    assert stored_counts() == before
    assert Revision.current() == (1, 0)


@pytest.mark.parametrize(("first", "word"), [(False, "public"), (True, "private")])
def test_second_delivery_with_another_visibility_keeps_the_first(alice, first, word):
    deliver(sha256=SAME, owner=alice, private=first)
    second = deliver(sha256=SAME, owner=alice, private=not first)
    assert (second.source.private_to is None) == (word == "public")
    assert f"they are {word} and were not changed" in second.warnings[0]


def test_all_or_nothing_when_the_last_step_fails(monkeypatch):
    deliver(measured([sample_platform(vendor=None)]))
    before, revision = stored_counts(), Revision.current()

    def fail(*_, **__):
        raise RuntimeError("late")

    monkeypatch.setattr(Revision, "raise_for", fail)
    for platforms in (1, 2):  # a platform that exists and is left as it was, and a new one
        with pytest.raises(RuntimeError, match="late"):
            deliver(measured([sample_platform(index) for index in range(platforms)]))
        assert (stored_counts(), Revision.current()) == (before, revision)
        assert Platform.objects.get().vendor is None


def test_all_or_nothing_in_a_later_chunk(monkeypatch):
    monkeypatch.setattr(staging, "STAGED_PROFILES_AT_ONCE", 2)
    calls = []

    def stop(done):
        calls.append(done)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deliver(sample_measurements(2, 3), progress=stop)
    assert set(stored_counts().values()) == {0}


def test_emulated_is_private_whatever_was_asked_for(alice):
    result = deliver(sample_measurements(1, 1, origin="emulated"), owner=alice)
    assert result.source.private_to == alice
    assert {profile.private_to for profile in result.profiles} == {alice}
    assert Platform.objects.get().private_to == alice
    assert Revision.current() == (0, 0)
    assert Revision.current(alice) == (0, 1)


def one_wrong(column, value):
    """Measurements of two profiles, of which the last run of the second has this value."""
    measurements = sample_measurements(1, 2)
    runs = measurements.profiles[1].runs
    values = getattr(runs, column).copy()
    values[-1] = value
    return with_record(measurements, 1, runs=replace(runs, **{column: values}))


def of_one_repeat():
    measurements = sample_measurements(1, 1)
    runs = measurements.profiles[0].runs
    return with_record(measurements, runs=replace(runs, repeat=np.ones(len(runs), dtype=np.int64)))


REFUSED = {
    "cores": (lambda: measured([sample_platform(physical_cores=99)]), "the database rejected"),
    "breakpoints": (lambda: measured([sample_platform(n_nu=8, n_ht=4)]), "the database rejected"),
    "long name": (lambda: measured([sample_platform(name="x" * 201)]), "name is longer than 200 characters"),
    "device class": (lambda: measured([sample_platform(device_class="toaster")]), "device_class"),
    "n = 0": (lambda: one_wrong("n", 0), "n 0 is less than 1"),
    "repeat": (lambda: one_wrong("repeat", -1), "repeat"),
    "short": (lambda: one_wrong("time_s", 1e-19), "time_s 1e-19 is less than 1e-18"),
    "a run twice": (of_one_repeat, "the database rejected"),
    "nothing": (lambda: sample_measurements(1, 1, profiles=[]), "no runs"),
    "a pair twice": (lambda: measured(profiles=measured().profiles * 2), "twice on one machine"),
    "a platform twice": (
        lambda: measured([sample_platform(0), sample_platform(0, base_mhz=None)]),
        "appears twice with the same description",
    ),
    "a workload twice": (
        lambda: measured(workloads=[sample_workload(0), sample_workload(0, bound=None)]),
        "appears twice with the same description",
    ),
    "emulated of nobody": (lambda: sample_measurements(1, 1, origin="emulated"), "emulated .* give --owner"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_impossible_is_refused_whole(case):
    wrong, reason = REFUSED[case]
    with pytest.raises(IngestError, match=reason):
        deliver(wrong())
    assert set(stored_counts().values()) == {0}


def test_private_needs_an_owner():
    with pytest.raises(IngestError, match="--private needs an owner: give --owner"):
        deliver(private=True)


def test_n_max_comes_from_threads_or_else_from_the_runs():
    platforms = [sample_platform(0, n_max=None), sample_platform(1, n_max=None, threads=None), sample_platform(2)]
    deliver(measured([*platforms, sample_platform(3, base_mhz=0.0)]))
    assert list(Platform.objects.values_list("n_max", flat=True)) == [16, 16, 16, 16]
    assert Platform.objects.get(name="machine-3").base_mhz is None


def test_a_platform_without_runs_is_kept():
    deliver(replace(measured(), platforms=[sample_platform(0), sample_platform(1)]))
    assert Platform.objects.count() == 2


def rows_and_queries(measurements) -> tuple[int, int]:
    with CaptureQueriesContext(connections[DEFAULT_DB_ALIAS]) as captured:
        deliver(measurements)
    runs = sum(len(record.runs) + len(record.counters) for record in measurements.profiles)
    return runs, len(captured)


def test_queries_are_by_the_batch_not_by_the_row():
    """Four times the profiles: besides full batches (at least 50 rows each) no query more."""
    few_rows, few = rows_and_queries(sample_measurements(2, 4))
    platforms = [sample_platform(index) for index in range(10, 14)]
    workloads = [sample_workload(index) for index in range(10, 18)]
    more = measured(platforms, workloads)
    many_rows, many = rows_and_queries(more)
    assert many_rows == 4 * few_rows
    assert many - few <= (many_rows - few_rows) / 50


@pytest.fixture
def heard():
    sources = []

    def listen(sender, source, **_):
        sources.append(source)

    delivered.connect(listen)
    yield sources
    delivered.disconnect(listen)


@pytest.fixture
def forgotten(heard, monkeypatch):
    """A delivery whose process was killed right after it was committed."""
    with monkeypatch.context() as patch:
        patch.setattr(service, "held", killed)
        with pytest.raises(KeyboardInterrupt):
            deliver()
    return Source.objects.get()


def killed(work):
    raise KeyboardInterrupt


@pytest.mark.django_db(transaction=True)
def test_a_delivery_is_announced_once(heard):
    source = deliver().source
    assert heard == [source]
    assert Source.objects.get().lease_until is None
    assert announce_forgotten() == 0


@pytest.mark.django_db(transaction=True)
def test_a_killed_process_is_followed_by_another(heard, forgotten):
    assert announce_forgotten() == 0
    let_lapse(Source.objects)
    assert announce_forgotten() == 1
    assert heard == [forgotten]
    assert announce_forgotten() == 0


@pytest.mark.django_db(transaction=True)
def test_who_was_asleep_leaves_it_to_the_other(heard, forgotten):
    let_lapse(Source.objects)
    assert Source.objects.get().claim()
    service.announce(forgotten)
    assert heard == []


@pytest.mark.django_db(transaction=True)
def test_one_that_takes_its_processes_along_is_not_announced_for_ever(heard, forgotten, caplog):
    Source.objects.update(attempts=MOST_ATTEMPTS + 1)
    let_lapse(Source.objects)
    announce_forgotten()
    assert heard == []
    assert "was not announced" in caplog.text
    assert announce_forgotten() == 0
