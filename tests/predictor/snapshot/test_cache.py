import errno
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from predictor.core.tabulated import database_from_measurements
from predictor.snapshot import cache, files
from predictor.snapshot.building import build_snapshot
from predictor.snapshot.cache import SnapshotCache, read_database, read_snapshot
from predictor.snapshot.growing import snapshot_values
from profiles.models import FeatureVector, Profile, Revision, ScalingCurves
from tests.predictor.stored import store_platforms, store_profiles, store_source, store_workloads
from tests.samples import sample_measurements


def again(grid, owner=None, origin="measured", **options):
    """One more profile of the first pair of the grid; private to the owner, if there is one."""
    source = store_source(owner, origin=origin, private=owner is not None)
    return store_profiles(source, [(grid[0][0], grid[1][0])], **options)[0]


def row_ids(user=None, **options):
    return sorted(read_snapshot(user, **options).profile_ids.tolist())


def test_the_database_holds_what_is_stored_sorted_by_slug(grid):
    database = read_database()
    assert (database.platforms, database.workloads, database.revision) == (("a", "b"), ("w1", "w2"), 1)
    provenance = read_snapshot()
    for row, pk in enumerate(provenance.profile_ids):
        profile = Profile.objects.get(pk=pk)
        assert database.platforms[database.platform_index[row]] == profile.platform.slug
        assert database.workloads[database.workload_index[row]] == profile.workload.slug
        assert database.t1_s[row] == profile.t1_s
        np.testing.assert_array_equal(database.features[row], profile.feature_vector.values)
        n, time_s = database.curve(row)
        np.testing.assert_array_equal(n, profile.curves.n)
        np.testing.assert_array_equal(time_s, profile.curves.values[: len(n)])


def test_platform_metadata_is_read_with_unknown_as_nan_and_empty(db):
    platforms = store_platforms(["a"], n_ht=4, base_mhz=2400.0, vendor=None)
    store_profiles(store_source(), [(platforms[0], *store_workloads(["w"]))])
    database = read_database()
    assert (database.n_ht[0], database.n_max[0]) == (4, 8)
    assert np.isnan(database.n_nu[0])
    assert database.platform_table["base_mhz"][0] == 2400.0
    assert np.isnan(database.platform_table["l3_bytes"][0])
    assert database.platform_table["vendor"] == ("",)


def test_curves_of_different_lengths_stay_apart(db):
    (platform,), workloads = store_platforms(["a"]), store_workloads(["w1", "w2", "w3"])
    for workload, n in zip(workloads, ([1], [1, 2, 3], [1, 8]), strict=True):
        store_profiles(store_source(), [(platform, workload)], n=np.array(n, dtype=np.int32))
    database = read_database()
    assert [database.curve(row)[0].tolist() for row in range(3)] == [[1], [1, 2, 3], [1, 8]]


def test_a_snapshot_that_is_there_costs_two_queries(grid, django_assert_num_queries):
    first = read_database()
    with django_assert_num_queries(2):  # revision, newest profile
        assert read_database() is first


def test_queries_do_not_grow_with_the_profiles(grid, django_assert_num_queries):
    # revision, newest delivery, newest verdicts, generation, platforms, workloads, profiles with their arrays, revision
    with django_assert_num_queries(8):
        build_snapshot(None, ("measured",))


def test_a_process_keeps_the_newest_of_each_viewer_and_origins_alone(grid, owner, monkeypatch):
    """Eight revisions of 250,000 profiles, each with what was derived of it, were a gigabyte."""
    monkeypatch.setattr(cache, "_cache", SnapshotCache(8))
    platforms, own = grid[0], store_workloads(["mine"], private_to=owner)
    for origins in (("measured",), ("measured", "simulated"), ("measured",)):
        again(grid)
        store_profiles(store_source(owner, private=True), [(platforms[0], own[0])])
        newest = [read_snapshot(origins=origins), read_snapshot(owner)]
    kept = cache._cache.finished()
    assert sorted(folder.name.split(",")[0] for folder in kept) == [
        "public+measured",
        "public+measured+simulated",
        f"user-{owner.pk}+measured",
    ]
    assert all(any(snapshot is one for one in kept.values()) for snapshot in newest)
    again(grid)
    read_snapshot()
    assert [folder.name.split(",")[:2] for folder in cache._cache.finished() if cache.is_of_user(folder)] == []


def test_a_change_while_reading_is_read_again(grid, monkeypatch):
    numbers = iter([(1, 0), (2, 0), (2, 0), (2, 0)])
    monkeypatch.setattr(Revision, "current", lambda user=None: next(numbers))
    assert build_snapshot(None, ("measured",)).database.revision == 2


def test_only_the_owner_sees_private_profiles(grid, owner, django_user_model):
    public = row_ids()
    platforms, _, _ = grid
    mine = store_workloads(["mine"], private_to=owner)
    secret = store_profiles(store_source(owner, private=True), [(platforms[0], mine[0])])
    assert row_ids() == public
    assert row_ids(django_user_model.objects.create_user("other")) == public
    assert row_ids(owner) == sorted([*public, secret[0].pk])
    assert "mine" not in read_database().workloads
    assert (read_snapshot().holds_private, read_snapshot(owner).holds_private) == (False, True)


def test_who_owns_nothing_private_shares_the_public_snapshot(grid, owner):
    assert read_database(owner) is read_database()


def test_a_public_profile_of_a_private_platform_or_workload_is_left_out(grid, owner):
    platforms, workloads, _ = grid
    expected = row_ids()
    (platform,), (workload,) = (make(["hidden"], private_to=owner) for make in (store_platforms, store_workloads))
    store_profiles(store_source(), [(platform, workloads[0]), (platforms[0], workload)])
    assert row_ids() == expected
    assert "hidden" not in (*read_database().platforms, *read_database().workloads)


def test_emulated_profiles_are_never_read(grid, owner):
    again(grid, owner, "emulated")
    everything = ("measured", "simulated", "emulated")
    assert row_ids(owner, origins=everything) == row_ids()


class TestRepresentative:
    """docs/decisions/representative-profile.md"""

    def kept(self, user=None, **options):
        """The profile that stands for the first pair of the grid."""
        read = read_snapshot(user, **options)
        database = read.database
        return read.profile_ids[database.lookup(database.platforms.index("b"), database.workloads.index("w2"), 0)]

    def test_most_thread_counts(self, grid):
        more = again(grid, n=np.arange(1, 7, dtype=np.int32))
        again(grid)
        assert self.kept() == more.pk

    def test_then_the_newest(self, grid):
        newer = again(grid)
        assert self.kept() == newer.pk

    def test_the_own_private_one_before_all(self, grid, owner):
        mine = again(grid, owner, n=np.array([1, 2], dtype=np.int32))
        assert (self.kept(owner), self.kept()) == (mine.pk, grid[2][0].pk)

    def test_measured_before_simulated(self, grid):
        again(grid, origin="simulated", n=np.arange(1, 9, dtype=np.int32))
        assert self.kept(origins=("measured", "simulated")) == grid[2][0].pk

    def test_time_only_and_decomposed_stand_side_by_side(self, grid):
        again(grid, decomposed=True)
        database = read_database()
        assert len(database) == 5
        assert [group.decomposed for group in database.groups] == [False, True]


def test_runtimes_are_groups_of_their_own(db):
    platforms = store_platforms(["a"])
    for runtime in ("openmp", None):
        workload = store_workloads([f"w-{runtime}"], runtime=runtime)[0]
        store_profiles(store_source(), [(platforms[0], workload)])
    assert [group.runtime for group in read_database().groups] == ["", "openmp"]


def test_underived_profiles_wait_outside(grid):
    _, _, profiles = grid
    ScalingCurves.objects.filter(profile=profiles[0]).delete()
    FeatureVector.objects.filter(profile=profiles[1]).delete()
    assert sorted(build_snapshot(None, ("measured",)).profile_ids.tolist()) == [p.pk for p in profiles[2:]]


class TestCache:
    def test_builds_once_for_all_threads(self):
        snapshots, built, threads = SnapshotCache(2), [], 8
        barrier = Barrier(threads)

        def build():
            built.append(1)
            return object()

        def ask(_):
            barrier.wait()
            return snapshots.get("key", build)

        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(ask, range(threads)))
        assert len(built) == 1
        assert len(set(map(id, answers))) == 1

    def test_forgets_the_least_used(self):
        snapshots = SnapshotCache(2)
        first = snapshots.get("a", object)
        for key in ("b", "a", "c"):
            snapshots.get(key, object)
        assert snapshots.get("a", object) is first
        assert set(snapshots._entries) == {"a", "c"}

    def test_a_failed_build_is_tried_again(self):
        snapshots = SnapshotCache(2)

        def fail():
            raise OSError("disk")

        with pytest.raises(OSError, match="disk"):
            snapshots.get("a", fail)
        assert snapshots.get("a", lambda: "built") == "built"


class TestFiles:
    @pytest.fixture(autouse=True)
    def small_is_large(self, settings, tmp_path):
        settings.SNAPSHOT_FILE_PROFILES = 1
        settings.STATE_DIR = tmp_path

    @pytest.fixture
    def process(self, monkeypatch):
        """Every call is a process of its own: nothing read before."""
        return lambda: monkeypatch.setattr("predictor.snapshot.cache._cache", SnapshotCache(8))

    def folders(self, tmp_path):
        return sorted(path.name for path in (tmp_path / "snapshots").iterdir())

    def test_say_the_same(self, grid, process):
        built = build_snapshot(None, ("measured",))
        process()
        read = read_snapshot()
        assert isinstance(read.database.features.base, np.memmap)
        expected, read_back = snapshot_values(built), snapshot_values(read)
        assert read_back.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(read_back[name], value, err_msg=name)
            assert type(read_back[name]) is type(value), name
        assert read_back["database.groups"][0].decomposed is False

    def test_spare_the_next_process_the_tables(self, grid, process, django_assert_num_queries):
        read_snapshot()
        process()
        with django_assert_num_queries(2):  # revision, newest profile
            read_snapshot()

    def test_small_snapshots_have_none(self, grid, process, settings, tmp_path):
        settings.SNAPSHOT_FILE_PROFILES = 5
        process()
        read_snapshot()
        assert not (tmp_path / "snapshots").exists()

    def test_are_for_the_server_alone(self, grid, process, owner, tmp_path):
        again(grid, owner)
        process()
        read_snapshot(owner)
        paths = [tmp_path / "snapshots", *(tmp_path / "snapshots").rglob("*")]
        assert len(paths) > 10
        assert all(path.stat().st_mode & 0o077 == 0 for path in paths)

    def test_of_older_revisions_are_removed(self, grid, process, owner, tmp_path):
        process()
        read_snapshot()
        again(grid, owner)
        read_snapshot(owner)
        both = self.folders(tmp_path)
        assert [name.split(",")[0] for name in both] == ["public+measured", f"user-{owner.pk}+measured"]
        again(grid, owner)
        read_snapshot(owner)
        assert [name in both for name in self.folders(tmp_path)] == [True, False]
        again(grid)
        read_snapshot()
        assert len(self.folders(tmp_path)) == 1

    def test_that_no_disk_takes_are_the_process_s_own(self, grid, process, monkeypatch, caplog):
        def fail(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        expected = snapshot_values(build_snapshot(None, ("measured",)))["database.features"]
        monkeypatch.setattr(files, "write_array", fail)
        process()
        np.testing.assert_array_equal(read_snapshot().database.features, expected)
        assert "No space left on device" in caplog.text

    def test_what_a_killed_process_left_is_removed_and_what_is_being_written_stays(self, grid, process, tmp_path):
        left, being_written = (tmp_path / "snapshots" / name for name in ("left", "being-written"))
        for folder in (left, being_written):
            folder.mkdir(parents=True)
            (folder / "database.features.npy").write_bytes(b"half")
        os.utime(left, times=(time.time() - 2 * cache.UNFINISHED_S,) * 2)
        read_snapshot()
        assert not left.exists()
        assert being_written.exists()

    @pytest.mark.parametrize("values", [None, {}, {"snapshot.lineage": ["code"]}, {"snapshot.of_another_version": 1}])
    def test_that_are_damaged_or_have_other_values_are_made_again(self, values, grid, process, tmp_path):
        expected = read_snapshot().database.features
        (folder,) = (tmp_path / "snapshots").iterdir()
        if values is None:
            damaged = folder / "database.features.npy"
            damaged.unlink()  # truncating a file that is mapped would end this process
            damaged.write_bytes(b"")
        else:
            stored = json.loads((folder / files.VALUES_FILE).read_text())
            (folder / files.VALUES_FILE).write_text(json.dumps(stored | values if values else {}))
        process()
        np.testing.assert_array_equal(read_snapshot().database.features, expected)

    def test_of_a_faster_process_stay(self, grid, process, tmp_path):
        read = read_snapshot()
        (folder,) = (tmp_path / "snapshots").iterdir()
        files.write_values(folder, {})
        assert len(files.read_values(folder)) == len(snapshot_values(read))
        assert self.folders(tmp_path) == [folder.name]


class TestFromMeasurements:
    """No `db` fixture anywhere here: pytest-django refuses any query."""

    def test_holds_every_profile(self):
        measurements = sample_measurements(3, 4)
        database = database_from_measurements(measurements)
        assert len(database) == 12
        assert database.platforms == ("machine-0", "machine-1", "machine-2")
        assert [(group.decomposed, group.runtime, group.origin) for group in database.groups] == [
            (True, "mpal", "measured")
        ]
        record = measurements.profiles[5]
        row = database.lookup(
            database.platforms.index(measurements.platforms[record.platform].name),
            database.workloads.index(measurements.workloads[record.workload].name),
            0,
        )
        clean = record.runs.time_s[(record.runs.n == 1) & ~record.runs.is_profile_pass]
        assert database.t1_s[row] == np.median(clean)

    def test_uses_the_datasets_own_ids(self):
        database = database_from_measurements(sample_measurements(2, 2, platform_ids=["z/1", "a/2"]))
        assert database.platforms == ("a/2", "z/1")
        assert database.platform_table["base_mhz"].tolist() == [2100.0, 2000.0]

    def test_relative_times_are_marked(self):
        database = database_from_measurements(sample_measurements(2, 2, time_kinds={1: "relative"}))
        assert database.workload_table["time_kind"] == ("absolute", "relative")
