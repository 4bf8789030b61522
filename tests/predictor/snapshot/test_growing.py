"""A snapshot that was grown is the one that reading all rows gives, array by array; and where that may not be, it is
not grown."""

import logging
import random
import shutil
from functools import partial

import numpy as np
import pytest
from django.core.management.sql import emit_post_migrate_signal

from predictor.core.methods import METHODS, Query
from predictor.snapshot import building, growing
from predictor.snapshot import cache as snapshots
from predictor.snapshot.building import build_snapshot
from predictor.snapshot.cache import SnapshotCache, read_snapshot
from predictor.snapshot.growing import snapshot_values
from profiles.ingest.derivation import refit
from profiles.ingest.publication import publish_source
from profiles.ingest.withdrawal import withdraw
from profiles.judgement.outliers import keep_verdicts
from profiles.models import FeatureVector, Platform, Profile, Revision, Source, VerdictChange, Workload
from profiles.moderation import merge_platforms, set_hidden
from tests.conftest import DATABASE_ONLY
from tests.owners import new_account, old_account
from tests.predictor.conftest import store
from tests.predictor.stored import CURVE_N, store_platforms, store_profiles, store_source, store_workloads
from tests.samples import sample_measurements

MEASURED, BOTH = ("measured",), ("measured", "simulated")
WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kid", "lynx", "mole", "newt", "owl")


# Another database is asked the same for both.
@pytest.fixture(params=["in files"] if DATABASE_ONLY else ["in memory", "in files"])
def place(request):
    return request.param


@pytest.fixture(autouse=True)
def storage(place, settings, tmp_path, monkeypatch):
    """Small snapshots are kept by the process, large ones in files."""
    settings.SNAPSHOT_FILE_PROFILES = 1 if place == "in files" else 10**6
    settings.STATE_DIR = tmp_path
    monkeypatch.setattr(snapshots, "_cache", SnapshotCache(8))
    return place


@pytest.fixture
def full_builds(monkeypatch):
    """For whom all rows were read, in order."""
    viewers = []

    def build(viewer, origins, outliers=False):
        viewers.append(viewer)
        return build_snapshot(viewer, origins, outliers)

    monkeypatch.setattr(snapshots, "build_snapshot", build)
    return viewers


@pytest.fixture
def grid(db):
    """Two platforms, three workloads, a public profile each; read."""
    platforms, workloads = store_platforms(["b", "d"]), store_workloads(["w2", "w4", "w6"])
    store_profiles(store_source(), [(platform, workload) for platform in platforms for workload in workloads])
    read_snapshot()
    return platforms, workloads


def deliver(pairs, owner=None, **options):
    """A delivery that only adds."""
    source = store_source(owner, private=owner is not None, origin=options.pop("origin", "measured"))
    return store_profiles(source, pairs, only_adds=True, **options)


def deliver_to(grid, *places, owner=None, **options):
    """A delivery that only adds, of these pairs of positions in the grid."""
    platforms, workloads = grid
    return deliver([(platforms[p], workloads[w]) for p, w in places], owner, **options)


def assert_as_built(user=None, origins=MEASURED):
    """The snapshot that is read is what all rows give. Which of equal values is an extreme one may differ."""
    grown = read_snapshot(user, origins=origins)
    viewer = user if Revision.current(user)[1] else None
    expected, values = snapshot_values(build_snapshot(viewer, origins)), snapshot_values(grown)
    assert values.keys() == expected.keys()
    lineage, now = values.pop("snapshot.lineage"), expected.pop("snapshot.lineage")
    assert (*lineage[:2], lineage.newest_source <= now.newest_source) == (*now[:2], True)
    for name, value in expected.items():
        if "est_" in name:
            elements = np.arange(84)
            features = expected["database.features"]
            np.testing.assert_array_equal(features[values[name], elements], features[value, elements], err_msg=name)
        else:
            np.testing.assert_array_equal(values[name], value, err_msg=name)
        assert type(values[name]) is type(value), name
        assert getattr(values[name], "dtype", None) == getattr(value, "dtype", None), name
        assert not (name.startswith("database.") and isinstance(value, np.ndarray) and values[name].flags.writeable)
    return grown


class Deliveries:
    """Random deliveries to a random database, of which each only adds."""

    def __init__(self, seed, owner):
        self.random, self.rng, self.owner = random.Random(seed), np.random.default_rng(seed), owner
        self.names = {"platform": list(WORDS), "workload": list(WORDS)}
        self.rows = {"platform": [], "workload": []}
        for kind in self.rows:
            self.random.shuffle(self.names[kind])
            for _ in range(3):
                self.new_row(kind, None)

    def new_row(self, kind, owner):
        if not self.names[kind]:
            return
        name = self.names[kind].pop() + ("-private" if owner else "")
        if kind == "platform":
            self.rows[kind] += store_platforms([name], private_to=owner, n_max=self.random.choice([4, 8]))
        else:
            self.rows[kind] += store_workloads(
                [name], private_to=owner, runtime=self.random.choice([None, "openmp", "mpi"])
            )

    def next(self, private_share=0.3):
        owner = self.owner if self.random.random() < private_share else None
        for kind in self.rows:
            if self.random.random() < 0.4:
                self.new_row(kind, owner)
        own = [row for row in self.rows["platform"] if row.private_to_id == (owner and owner.pk)]
        if own and self.random.random() < 0.3:  # as the deliverer who has the say corrects it
            Platform.objects.filter(pk=self.random.choice(own).pk).update(
                n_nu=self.random.choice([None, 2]), base_mhz=self.random.uniform(1000, 4000)
            )
        seen = {
            kind: [row for row in rows if row.private_to_id in (None, owner and owner.pk)]
            for kind, rows in self.rows.items()
        }
        pairs = [(platform, workload) for platform in seen["platform"] for workload in seen["workload"]]
        n = CURVE_N[: self.random.choice([2, 3, 4])]
        stored = deliver(
            self.random.sample(pairs, self.random.randint(1, min(len(pairs), 6))),
            owner,
            n=n,
            seed=self.random.random().__hash__(),
            decomposed=self.random.random() < 0.5,
            origin="simulated" if self.random.random() < 0.3 else "measured",
        )
        if self.random.random() < 0.3:
            FeatureVector.objects.filter(profile=stored[0]).update(values=np.full(84, np.inf))
        if self.random.random() < 0.3:
            doubtful = Profile.objects.filter(pk__in=self.random.sample(range(1, stored[-1].pk + 1), 3))
            judge(doubtful, self.random.random() < 0.7)
        for profile in stored[1:]:
            values = self.rng.uniform(size=84)
            values[self.rng.random(84) < 0.3] = np.nan
            FeatureVector.objects.filter(profile=profile).update(values=values)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(4))
def test_after_any_deliveries_it_is_what_all_rows_give(seed, full_builds, admin_user, storage, caplog):
    caplog.set_level(logging.INFO, "predictor.snapshot")
    deliveries = Deliveries(seed, admin_user)
    deliveries.next(private_share=0)
    for origins in (MEASURED, BOTH):
        read_snapshot(origins=origins)
    full_builds.clear()
    caplog.clear()
    for _ in range(6):
        deliveries.next()
        for origins in (MEASURED, BOTH):
            for user in (None, admin_user):
                assert_as_built(user, origins)
        if storage == "in files":  # the next one is of another process
            snapshots._cache = SnapshotCache(8)
    assert len(full_builds) == sum("a group of profiles was removed" in message for message in caplog.messages) < 3


@pytest.mark.parametrize("method", ["mpet", "mpet2020"])
def test_predictions_are_the_same(method, db, full_builds, admin_user):
    store(sample_measurements(5, 6))
    read_snapshot()
    store(sample_measurements(4, 9), label="more")
    store(sample_measurements(2, 3), label="mine", owner=admin_user, private=True)
    assert read_snapshot(admin_user).holds_private
    for user, viewer in ((None, None), (admin_user, admin_user)):
        grown, built = read_snapshot(user).database, build_snapshot(viewer, MEASURED).database
        for pair in ((0, 0), (3, 4), (8, 2)):
            answers = [
                METHODS[method].predict(database, Query(*pair), METHODS[method].settings())
                for database in (grown, built)
            ]
            np.testing.assert_array_equal(answers[0].time_s, answers[1].time_s)
    assert len(full_builds) == 1


class TestWhichProfileStands:
    def test_the_owners_own_is_for_the_owner_alone(self, grid, full_builds, admin_user):
        public = read_snapshot().profile_ids.tolist()
        (mine,) = deliver_to(grid, (0, 1), owner=admin_user, n=CURVE_N[:2])
        assert mine.pk in assert_as_built(admin_user).profile_ids
        assert assert_as_built().profile_ids.tolist() == public
        deliver_to(grid, (0, 1))
        assert mine.pk in assert_as_built(admin_user).profile_ids
        assert not full_builds

    def test_extremes_that_were_displaced(self, grid, full_builds):
        """More profiles than extremes are kept of; the most extreme one is measured again, and is ordinary now."""
        workloads = store_workloads([f"x{i:03}" for i in range(80)])
        stored = deliver([(grid[0][0], workload) for workload in workloads])
        FeatureVector.objects.filter(profile=stored[40]).update(values=np.full(84, 1e6))
        FeatureVector.objects.filter(profile=stored[41]).update(values=np.full(84, -1e6))
        assert_as_built()
        deliver([(grid[0][0], workload) for workload in workloads[40:42]])
        low, high = assert_as_built().database.element_range("measured")
        assert ((low >= 0).all(), (high <= 1).all(), full_builds) == (True, True, [])

    def test_of_several_owners(self, db, full_builds):
        """One displaces another, a third agrees, a new account does not count: always what all rows give."""
        store(sample_measurements(3, 4), label="eve", owner=new_account("eve"))
        read_snapshot()
        for seed, name in enumerate(("ada", "bob", "cyd")):
            source = store(sample_measurements(2, 4, seed=seed + 1), label=name, owner=old_account(name)).source
            assert_as_built()
        store(sample_measurements(3, 3, seed=9), label="eva", owner=new_account("eva"))
        ids = assert_as_built().profile_ids.tolist()
        assert set(Profile.objects.filter(outlier_reason="").values_list("pk", flat=True)) == set(ids)
        assert len(ids) == 12
        keep_verdicts(list(source.profiles.all()), {profile.pk: "far off" for profile in source.profiles.all()}, 1)
        assert len(assert_as_built().profile_ids) == 12
        assert len(full_builds) == 1


def test_a_delivery_with_earlier_keys_that_came_later(grid, full_builds):
    """Keys of profiles are given out before a delivery is stored: one that takes long has smaller ones."""
    early = Profile.objects.latest("pk").pk + 1
    deliver_to(grid, (0, 0), first_key=early + 10)
    assert_as_built()
    deliver_to(grid, (1, 1), first_key=early)
    assert early in assert_as_built().profile_ids
    assert not full_builds


def test_a_delivery_costs_the_rows_of_the_delivery(grid, monkeypatch):
    read, columns = [], building.columns_of_batch
    monkeypatch.setattr(building, "columns_of_batch", lambda rows: (read.append(len(rows)), columns(rows))[1])
    deliver_to(grid, (1, 0), (1, 2))
    read_snapshot()
    assert read == [2]


def hide(source):
    set_hidden(source, True)


def judge(profiles, is_outlier=True):
    keep_verdicts(profiles, {profile.pk: "far off" for profile in profiles if is_outlier}, 1)


def remove(source):
    withdraw(Source.objects.filter(pk=source.pk))


def merge(source):
    merge_platforms(Platform.objects.get(slug="twin"), Platform.objects.order_by("pk")[0])


def measure_again_in_place(source):
    FeatureVector.objects.filter(profile__source=source).update(values=np.full(84, 3.0))
    Revision.raise_for(None)


def judge_many(source):
    judge(Profile.objects.all()[: growing.MOST_JUDGED + 1])


def restore_from_before_a_verdict(source):
    judge(source.profiles.all()[:1])
    read_snapshot()
    VerdictChange.objects.all().delete()
    source.profiles.update(outlier_reason="", outlier_judge="")
    Revision.raise_for(None, only_adds=True)


def restore_older(source):
    """As a backup of before does, which knows no more of what this snapshot has: the revision comes back."""
    remove(source)
    Revision.objects.filter(key=Revision.PUBLIC).update(generation=source.generation)


@pytest.mark.parametrize(
    "change",
    [
        *(hide, remove, merge, measure_again_in_place, judge_many, restore_older, restore_from_before_a_verdict),
        lambda source: refit(),
    ],
)
def test_after_anything_else_all_rows_are_read(change, db, full_builds, monkeypatch):
    monkeypatch.setattr(growing, "MOST_JUDGED", 3)
    store(sample_measurements(3, 4))
    source = store(sample_measurements(2, 5), label="more").source
    store_profiles(store_source(), [(store_platforms(["twin"], n_nu=4, n_ht=8)[0], Workload.objects.first())])
    source.generation = Revision.public_generation()
    read_snapshot()
    change(source)
    store(sample_measurements(1, 6), label="later")
    assert_as_built()
    assert full_builds == [None, None]


class TestVerdicts:
    def test_of_one_that_cannot_be_used(self, grid, full_builds):
        stored = deliver_to(grid, (0, 0))
        FeatureVector.objects.filter(profile=stored[0]).update(values=np.full(84, np.inf))
        assert assert_as_built().unusable.tolist() == [stored[0].pk]
        judge(stored)
        assert not len(assert_as_built().unusable)
        judge(stored, is_outlier=False)
        assert assert_as_built().unusable.tolist() == [stored[0].pk]
        assert not full_builds

    def test_a_group_that_is_gone(self, grid, full_builds):
        stored = deliver_to(grid, (0, 0), decomposed=True)
        assert len(assert_as_built().database.groups) == 2
        judge(stored)
        assert len(assert_as_built().database.groups) == 1
        assert len(full_builds) == 1


def test_after_something_was_hidden_and_shown_again(db, full_builds):
    source = store(sample_measurements(3, 4)).source
    read_snapshot()
    for hidden in (True, False):
        set_hidden(source, hidden)
    assert_as_built()
    assert len(full_builds) == 2


def test_what_an_owner_publishes(db, full_builds, admin_user):
    store(sample_measurements(3, 4))
    source = store(sample_measurements(2, 5), label="mine", owner=admin_user, private=True).source
    for user in (None, admin_user):
        assert_as_built(user)
    publish_source(source)
    for user in (None, admin_user):
        assert_as_built(user)
    assert full_builds == [None, None]


def test_what_an_owner_withdraws_costs_no_rows(db, full_builds, admin_user):
    store(sample_measurements(3, 4))
    source = store(sample_measurements(2, 5), label="mine", owner=admin_user, private=True).source
    read_snapshot(admin_user)
    remove(source)
    assert not assert_as_built(admin_user).holds_private
    assert full_builds == [None]


def test_a_private_platform_that_became_public(db, full_builds, admin_user):
    """The owner's profiles move to the public row, although only an addition was told."""
    store(sample_measurements(2, 3))
    store(sample_measurements(4, 3), label="mine", owner=admin_user, private=True)
    read_snapshot(admin_user)
    store(sample_measurements(4, 2), label="theirs")
    for user in (None, admin_user):
        assert_as_built(user)
    assert full_builds == [None]


class TestRowsThatAppear:
    """The base left profiles out because of their platform, which the next delivery changes: they are read then."""

    @pytest.mark.parametrize(
        ("before", "after", "place"),
        [({"hidden": True}, {"hidden": False}, (0, 0)), ({"slug": "a/b"}, {"slug": "b"}, (1, 0))],
        ids=["hidden", "could not be used"],
    )
    def test_of_a_platform(self, grid, full_builds, before, after, place):
        platform = Platform.objects.filter(pk=grid[0][0].pk)
        platform.update(**before)
        Revision.raise_for(None)
        left = read_snapshot()
        assert (len(left.database), len(left.unusable)) == (3, 3 if "slug" in before else 0)
        platform.update(**after)
        deliver_to(grid, place)
        grown = assert_as_built()
        assert (len(grown.database), len(grown.unusable), len(full_builds)) == (6, 0, 2)

    def test_and_one_that_cannot_be_used_any_more(self, grid, full_builds):
        Platform.objects.filter(pk=grid[0][0].pk).update(slug="a/b")
        deliver_to(grid, (1, 0))
        assert len(assert_as_built().unusable) == 3
        assert len(full_builds) == 1

    def test_public_profiles_of_an_owners_platform(self, grid, full_builds, admin_user):
        (private,), workloads = store_platforms(["c"], private_to=admin_user), grid[1]
        deliver([(private, workloads[0])])
        deliver([(private, workloads[1])], admin_user)
        assert [len(assert_as_built(user).database) for user in (None, admin_user)] == [6, 8]
        assert full_builds == [admin_user]


def test_renamed_rows_keep_their_order_or_are_read_again(grid, full_builds):
    for slug, builds in (("c", 0), ("e", 1)):
        Platform.objects.filter(pk=grid[0][0].pk).update(slug=slug)
        deliver_to(grid, (0, 0))
        grown = assert_as_built()
        assert len(full_builds) == builds
    assert grown.database.platforms == ("d", "e")


@pytest.mark.parametrize("change", ["another runtime", "other code"])
def test_what_cannot_be_grown_is_read_again(grid, full_builds, monkeypatch, change):
    if change == "other code":
        monkeypatch.setattr(building, "_building_code", lambda: "newer")
    else:
        Workload.objects.filter(pk=grid[1][0].pk).update(runtime="openmp")
    deliver_to(grid, (0, 0))
    assert_as_built()
    assert len(full_builds) == 1


def test_after_a_migration(grid, full_builds):
    deliver_to(grid, (0, 0))
    emit_post_migrate_signal(0, False, "default", plan=[])
    read_snapshot()
    assert not full_builds
    emit_post_migrate_signal(0, False, "default", plan=[("a migration", False)])
    deliver_to(grid, (0, 0))
    assert_as_built()
    assert len(full_builds) == 1


TRUNCATED = ("database.features", "database.curve_n", "prepared.by_workload")
SHORTENED = ("database.features", "snapshot.n_measured", "snapshot.platform_ids")


def truncate(name, folder):
    path = folder / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:-8])


def shorten(name, folder):
    np.save(folder / f"{name}.npy", np.load(folder / f"{name}.npy")[:-1])


class TestDamage:
    """The base is a folder that anything may have happened to."""

    @pytest.fixture
    def place(self):
        return "in files"

    @pytest.fixture(autouse=True)
    def folder(self, storage, grid, tmp_path):
        snapshots._cache = SnapshotCache(8)
        (folder,) = (tmp_path / "snapshots").iterdir()
        return folder

    @pytest.mark.parametrize(
        ("damage", "builds"),
        [
            (lambda folder: None, 0),
            (shutil.rmtree, 1),
            (lambda folder: (folder / "snapshot.is_private.npy").unlink(), 1),
            (lambda folder: (folder / "values.json").write_text("{}"), 1),
            *((partial(truncate, name), 1) for name in TRUNCATED),
            *((partial(shorten, name), 1) for name in SHORTENED),
        ],
    )
    def test_all_rows_are_read(self, folder, grid, full_builds, damage, builds):
        damage(folder)
        deliver_to(grid, (0, 0))
        assert_as_built()
        assert len(full_builds) == builds


def test_old_folders_go(storage, grid, tmp_path):
    for workload in range(3):
        deliver_to(grid, (0, workload))
        read_snapshot()
    folders = list((tmp_path / "snapshots").iterdir()) if storage == "in files" else []
    assert len(folders) == (storage == "in files")
