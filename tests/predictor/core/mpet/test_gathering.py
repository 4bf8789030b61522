"""What is gathered about A on T: the same whether a table of all pairs is kept or not, and exact where measured."""

import numpy as np

from predictor.core import curves
from predictor.core.database import Database, Group
from predictor.core.methods import METHODS, Query
from predictor.core.mpet import gathering
from predictor.core.mpet.gathering import gather_evidence
from tests.predictor.core.curves import COUNTS, curve_arrays, curve_database
from tests.predictor.core.databases import TIME_ONLY

MPET = METHODS["mpet"]
OTHER_RUNTIME = Group(False, "openmp", "measured")


def two_runtimes():
    """Every third profile is of another runtime."""
    arrays = curve_arrays(4, 30, 12, missing=0.3)
    return Database.build(
        **arrays | {"groups": (TIME_ONLY, OTHER_RUNTIME), "group": np.arange(len(arrays["t1_s"])) % 3 == 0}
    )


def rows_of(database, query):
    found = gather_evidence(database, query)
    return found.platforms.tolist(), found.workloads.tolist(), found.rows.tolist()


def test_a_kept_table_has_the_rows_that_are_looked_up(monkeypatch):
    """Also where pairs are hidden, and of several runtimes."""
    database, query = two_runtimes(), Query(2, 5, group=0)
    views = [
        database,
        database.without([5, 7, 9, 9], [3, 2, 2, 4]),
        database.without(np.arange(0, 30, 4)[:, None], [1, 2, 6]),
    ]
    monkeypatch.setattr(curves, "DENSE_PAIRS_RATIO", 0)
    looked_up = [rows_of(view, query) for view in views]
    monkeypatch.setattr(curves, "DENSE_PAIRS_RATIO", 1_000_000)
    assert [rows_of(view, query) for view in views] == looked_up
    assert looked_up[1] != looked_up[0]
    platforms, workloads, rows = looked_up[1]
    for at, platform in enumerate([*platforms, 5]):
        expected = views[1].lookup(platform, [*workloads, 2], (0, 1))
        expected[-1] = -1 if platform == 5 else expected[-1]
        assert rows[at] == expected.tolist()


def test_curves_are_as_measured_at_the_knots_and_0_where_there_are_none():
    database = curve_database(5, 20, 10, missing=0.3)
    found = gather_evidence(database, Query(1, 3, n=COUNTS))
    assert found.n.tolist() == list(COUNTS)
    for p, platform_rows in enumerate(found.rows):
        for b, row in enumerate(platform_rows[:-1]):
            expected = np.log(np.array(COUNTS) * database.curve(row)[1]) if row >= 0 else 0.0
            np.testing.assert_allclose(found.curves[:, p, b], expected, atol=1e-12)


def test_a_curve_measured_at_few_n_bends_like_its_workload():
    """Between n = 1 and 16 it follows the mean curve of the others, shifted linearly in ln n; beyond, it is held."""
    arrays = curve_arrays(6, 20, 8, missing=0.0, noise=0.0)
    counts, times = (np.asarray(arrays[name]).reshape(160, -1) for name in ("curve_n", "curve_time_s"))
    bent = times * np.where(counts == 4, 1.5, 1.0)  # every curve has a bump at n = 4
    kept = np.ones(counts.shape, dtype=bool)
    kept[8 * 7 + 2, 1:-1] = False  # of platform 7 and workload 2 the ends alone are known
    arrays |= {
        "curve_n": counts[kept],
        "curve_time_s": bent[kept],
        "curve_offsets": np.concatenate([[0], np.cumsum(kept.sum(axis=1))]),
    }
    found = gather_evidence(Database.build(**arrays), Query(1, 3, n=COUNTS))
    p, b = found.platforms.tolist().index(7), found.workloads.tolist().index(2)
    np.testing.assert_allclose(found.curves[:, p, b], np.log(counts[0] * bent[8 * 7 + 2]), atol=0.05)


def test_hiding_a_pair_twice_is_hiding_it_once():
    database = two_runtimes()
    once, twice = database.without(7, 2), database.without([7, 7], [2, 2]).without(7, 2)
    assert twice.hidden.tolist() == once.hidden.tolist()
    assert sorted(twice.hidden_rows) == sorted(once.hidden_rows)
    assert (once.lookup(7, 2, [0, 1]) == -1).all()


def test_of_very_many_workloads_some_are_looked_at(monkeypatch):
    """Those of T first, then those that many references have or that are called like A; without the bound a question
    costs the third power of their number."""
    names = [f"other{b:02}" for b in range(18)] + [f"solver-{b}" for b in range(6)]
    database = Database.build(**curve_arrays(3, 8, 24, missing=0.0) | {"workloads": names})
    known, rare, workload = [1, 7, 13], [3, 5], 18
    database = database.without(0, np.setdiff1d(np.arange(24), known))
    database = database.without([[1], [2]], rare).without([6, 7], workload)
    query = Query(workload, 0)
    assert gather_evidence(database, query).workloads.tolist() == [*known, *np.setdiff1d(np.arange(24), [*known, 18])]
    monkeypatch.setattr(gathering, "MOST_EXAMINED", 20)
    found = gather_evidence(database, query)
    assert len(found.workloads) == 20
    assert set(known) | {19, 20, 21, 22, 23} <= set(found.workloads.tolist())
    assert not set(rare) & set(found.workloads.tolist())
    assert np.isfinite(MPET.predict(database, query, MPET.settings()).time_s).all()
