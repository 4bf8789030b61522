import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.core.database import EXTREME_ROWS_KEPT, Database, Group
from predictor.core.errors import DatabaseError
from tests.predictor.core.curves import database_of_times
from tests.predictor.core.databases import database_of, features, random_arrays, random_database

SEEDS = st.integers(0, 2**32 - 1)


def test_rows_are_sorted_and_keep_what_belongs_to_them():
    """Slugs and profiles arrive unsorted; every row's values, curve and platform columns move with it."""
    vectors = np.arange(3 * 84, dtype=float).reshape(3, 84)
    database = Database.build(
        platforms=("z", "a"),
        workloads=("w", "v"),
        platform_index=[0, 0, 1],
        workload_index=[0, 1, 0],
        groups=(Group(False, "", "measured"),),
        group=[0, 0, 0],
        features=vectors,
        t1_s=[1.0, 2.0, 3.0],
        curve_offsets=[0, 2, 3, 6],
        curve_n=[1, 2, 1, 1, 2, 4],
        curve_time_s=[10, 11, 20, 30, 31, 32],
        n_nu=[4, np.nan],
        n_ht=[8, np.nan],
        n_max=[16, 2],
        platform_table={"vendor": ["Z", None], "base_mhz": [2000, np.nan]},
    )
    assert (database.platforms, database.workloads) == (("a", "z"), ("v", "w"))
    assert database.platform_index.tolist() == [0, 1, 1]
    assert database.workload_index.tolist() == [1, 0, 1]
    assert database.t1_s.tolist() == [3, 2, 1]
    assert database.features[:, 0].tolist() == [168, 84, 0]
    assert [database.curve(row)[1].tolist() for row in range(3)] == [[30, 31, 32], [20], [10, 11]]
    assert database.n_max.tolist() == [2, 16]
    assert database.n_nu[1] == 4
    assert database.platform_table["vendor"] == ("", "Z")
    assert database.platform_table["base_mhz"][1] == 2000
    assert np.isnan(database.platform_table["l2_bytes"]).all()
    assert database.workload_table["application"] == ("", "")


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_lookup_finds_exactly_what_is_there(seed):
    database = random_database(seed, 4, 5)
    of_each = (database.platform_index, database.workload_index, database.group)
    rows = {key: row for row, key in enumerate(zip(*(column.tolist() for column in of_each), strict=True))}
    p, w = np.meshgrid(np.arange(4), np.arange(5), indexing="ij")
    for group in range(3):
        expected = [[rows.get((i, j, group), -1) for j in range(5)] for i in range(4)]
        assert database.lookup(p, w, group).tolist() == expected
    first_of = [[next((rows[i, j, g] for g in (2, 0) if (i, j, g) in rows), -1) for j in range(5)] for i in range(4)]
    assert database.lookup(np.arange(4)[:, None], np.arange(5), (2, 0)).tolist() == first_of


def test_a_view_hides_the_pair_in_every_group_and_leaves_its_database_alone():
    database = random_database(3, 4, 5, missing=0.0)
    view = database.without(1, 2).without([0, 3], 4)
    assert view.lookup([1, 0, 3], [2, 4, 4], 0).tolist() == [-1, -1, -1]
    assert (view.lookup([1, 0, 3], [2, 4, 4], (0, 1, 2)) == -1).all()
    assert len(view.hidden_rows) == view.hidden.sum() == 9
    assert 2 not in view.workload_index[view.rows_of_platform(1)]
    assert view.platform_index[view.rows_of_workload(4)].tolist() == [1, 1, 1, 2, 2, 2]
    assert not database.hidden.any()
    assert database.lookup(1, 2, 0) >= 0
    assert view.features is database.features
    assert len(database.without(1, 2).without(1, 2).hidden_rows) == 3
    lone = database_of({("p", "a"): (1.0, features()), ("q", "b"): (1.0, features())})
    assert lone.without(0, 1) is lone


@given(SEEDS, st.integers(0, 90))
@settings(max_examples=40, deadline=None)
def test_element_range_is_that_of_the_visible_profiles_of_the_origin(seed, hidden):
    groups = Group(True, "x", "measured"), Group(False, "y", "measured"), Group(True, "x", "simulated")
    database = random_database(seed, 10, 6, groups=groups, invalid=0.6)
    view = database.without(*np.divmod(np.random.default_rng(seed).permutation(60)[: hidden * 60 // 90], 6))
    for origin, members in (("measured", (0, 1)), ("simulated", (2,))):
        visible = database.features[np.isin(database.group, members) & ~view.hidden]
        low, high = view.element_range(origin)
        for element in range(84):
            column = visible[:, element][~np.isnan(visible[:, element])]
            expected = (column.min(), column.max()) if len(column) else (np.nan, np.nan)
            np.testing.assert_equal((low[element], high[element]), expected)


def test_element_range_with_as_many_hidden_rows_as_extremes_are_kept():
    """One element, values 0..99: hiding the first k leaves k..99, on both sides of the shortcut's end."""
    database = database_of({(f"p{i:03}", "w"): (1.0, features(redundancy_m=float(i))) for i in range(100)})
    for hidden in (0, 1, EXTREME_ROWS_KEPT - 1, EXTREME_ROWS_KEPT, EXTREME_ROWS_KEPT + 1, 99):
        low, high = database.without(np.arange(hidden), 0).element_range("measured")
        assert (low[0], high[0]) == (hidden, 99)
        assert np.isnan(low[1])


def test_an_empty_database_answers():
    database = Database.build(
        platforms=("p",), workloads=("w",), platform_index=[], workload_index=[], groups=(), group=[],
        features=np.zeros((0, 84)), t1_s=[], n_nu=[np.nan], n_ht=[np.nan], n_max=[1],
    )  # fmt: skip
    assert database.lookup([0], [0], 0).tolist() == [-1]
    assert database.without(0, 0) is database
    assert len(database.rows_of_platform(0)) == len(database.rows_of_workload(0)) == 0


def test_arrays_are_read_only_and_travel():
    database = random_database(0).without(0, 0)
    with pytest.raises(ValueError, match="read-only"):
        database.features[0, 0] = 1.0
    database.prepare()
    copy = pickle.loads(pickle.dumps(database))
    np.testing.assert_array_equal(copy.features, database.features)
    assert copy.lookup(0, 0, 0) == -1


def test_sparse_millions_need_no_dense_table():
    """Few profiles on 100,000 platforms x 50,000 workloads: a dense table would have 5e9 cells a group."""
    random = np.random.default_rng(0)
    count = 200_000
    p, w = random.integers(0, 100_000, count), np.arange(count) % 50_000
    database = Database.build(
        platforms=[f"p{i:06}" for i in range(100_000)],
        workloads=[f"w{i:06}" for i in range(50_000)],
        platform_index=p,
        workload_index=w,
        groups=tuple(Group(True, str(i), "measured") for i in range(4)),
        group=np.arange(count) // 50_000,
        features=np.zeros((count, 84)),
        t1_s=np.ones(count),
        n_nu=np.full(100_000, np.nan),
        n_ht=np.full(100_000, np.nan),
        n_max=np.ones(100_000),
    )
    found = database.lookup(p[:50_000], w[:50_000], 0)
    assert (database.platform_index[found] == p[:50_000]).all()
    assert (database.workload_index[found] == w[:50_000]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"platforms": ["p00"] * 6}, "platforms contains a slug twice"),
        ({"platform_index": lambda x: x + 1}, r"platform_index must be in 0\.\.5"),
        ({"workload_index": lambda x: -x}, r"workload_index must be in 0\.\.6"),
        ({"group": lambda x: x[:-1]}, "differ in length"),
        ({"group": lambda x: x * 0, "workload_index": lambda x: x * 0}, "unique in"),
        ({"t1_s": lambda x: x * 0}, "t1_s must be positive or NaN; entry 0 is not"),
        ({"t1_s": lambda x: x[1:]}, "t1_s has shape"),
        ({"features": lambda x: x[:, 1:]}, "features have shape"),
        ({"features": lambda x: x + np.inf}, "features must be finite or NaN"),
        ({"n_max": lambda x: x * 0}, "n_max must be at least 1"),
        ({"n_nu": lambda x: x[1:]}, "n_nu has shape"),
        ({"curve_n": lambda x: x * 0}, "curve_n must be at least 1"),
        ({"curve_time_s": lambda x: -x}, "curve_time_s must be positive"),
        ({"curve_offsets": lambda x: x[::-1]}, "curve_offsets must rise"),
        ({"platform_table": {"colour": ["red"] * 6}}, "unknown metadata columns: colour"),
        ({"platform_table": {"vendor": ["x"]}}, "vendor has 1 entries, expected 6"),
    ],
)
def test_contradictions_are_refused(change, message):
    arrays = random_arrays(0)
    arrays |= {name: new(arrays[name]) if callable(new) else new for name, new in change.items()}
    with pytest.raises(DatabaseError, match=message):
        Database.build(**arrays)


def test_of_what_there_is_too_much_of_the_newest_are_kept():
    example = random_database(0)
    computed = []

    def derived(key):
        return example.derive_one_of("kind", key, lambda: computed.append(key) or f"of {key}", most=2)

    assert [derived(key) for key in ("a", "b", "a", "c", "b", "a")] == ["of a", "of b", "of a", "of c", "of b", "of a"]
    assert computed == ["a", "b", "c", "a"]


def test_a_platform_with_other_facts_that_was_measured_with_fewer_threads():
    """A profile without points is hidden, and the database itself stays as it is."""
    times = {("a", "w"): {1: 4.0, 8: 1.0}, ("b", "v"): {8: 2.0}, ("b", "w"): {1: 8.0, 2: 5.0, 8: 2.0}}
    database = database_of_times(times, {"a": 8, "b": 8})
    changed = database.with_platform(1, 4, n_nu=16.0, n_ht=32.0, n_max=64, physical_cores=32.0)
    assert (changed.n_nu[1], changed.n_ht[1], changed.n_max.tolist()) == (16.0, 32.0, [8, 64])
    assert changed.platform_table["physical_cores"][1] == 32.0
    assert changed.rows_of_platform(1).tolist() == [2]
    assert [changed.curve(row)[0].tolist() for row in range(3)] == [[1, 8], [], [1, 2]]
    assert changed.curve(2)[1].tolist() == [8.0, 5.0]
    assert database.n_max.tolist() == [8, 8]
    assert database.rows_of_platform(1).tolist() == [1, 2]
