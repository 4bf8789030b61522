from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictor.core.database import Database, Group
from predictor.core.errors import (
    InvalidThreadCounts,
    NoReference,
    PredictionError,
    SettingsError,
    TooFewCandidates,
    UnknownMethod,
    UnknownTarget,
    UnknownWorkload,
)
from predictor.core.methods import METHODS, Query, get_method, settings_values
from predictor.core.reconstruct import impossible_elements
from profiles.scaling.names import FEATURE_NAMES
from tests.paths import ROOT
from tests.predictor.core import oracle
from tests.predictor.core.curves import without_rows
from tests.predictor.core.databases import database_of, features, random_arrays, random_database

MPET2020 = METHODS["mpet2020"]
SEEDS = st.integers(0, 2**32 - 1)


def predict(database, query, **chosen):
    return MPET2020.predict(database, query, MPET2020.settings_from(chosen))


def answered(database, query, **chosen):
    """Everything an answer says, or how it was refused, as one comparable value."""
    try:
        answer = predict(database, query, **chosen)
    except PredictionError as error:
        return type(error).__name__, str(error)
    numbers = [answer.t1_s, *answer.features, *answer.time_s]
    return (
        [None if np.isnan(x) else x for x in numbers],
        answer.candidates_t1,
        answer.candidates_scaling,
        answer.warnings,
    )


def in_slugs(database, group):
    """The profiles of one group, and all vectors, for the oracle."""
    rows = [
        (database.platforms[p], database.workloads[w], int(g), float(t1), vector.tolist())
        for p, w, g, t1, vector in zip(
            database.platform_index,
            database.workload_index,
            database.group,
            database.t1_s,
            database.features,
            strict=True,
        )
    ]
    return (
        {(p, w): (t1, vector) for p, w, g, t1, vector in rows if g == group},
        {(p, w, g): vector for p, w, g, _, vector in rows},
    )


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.lab) for seed in range(12, 24))])
def test_agrees_with_the_slow_oracle(seed):
    """Every query of a random database with gaps, invalid elements, zeros and three groups, to 1e-12."""
    shape = [(6, 7), (5, 14), (9, 4)][seed % 3]
    database = random_database(seed, *shape, missing=(0.1, 0.4)[seed % 2], invalid=(0.1, 0.6)[seed // 2 % 2])
    compared = 0
    for group in range(len(database.groups)):
        profiles, vectors = in_slugs(database, group)
        for target in range(0, len(database.platforms), 2):
            for workload in range(0, len(database.workloads), 2):
                compared += compare(database, profiles, vectors, Query(workload, target, group))
    assert compared > 10


def compare(database, profiles, vectors, query):
    cannot_have = impossible_elements(database.n_nu[query.target], database.n_ht[query.target])
    workload, target = database.workloads[query.workload], database.platforms[query.target]
    expected = oracle.predict(profiles, vectors, workload, target, cannot_have)
    if expected is None:
        with pytest.raises((NoReference, TooFewCandidates)):
            predict(database, query, mix_runtimes="never")
        return 0
    t1_s, vector, t1, scaling = expected
    answer = predict(database, query, mix_runtimes="never")
    assert [(c.platform, c.workload) for c in answer.candidates_t1] == t1
    assert [(c.platform, c.workload) for c in answer.candidates_scaling] == scaling
    as_float = np.array([np.nan if value is None else value for value in [t1_s, *vector]])
    np.testing.assert_allclose([answer.t1_s, *answer.features], as_float, rtol=1e-12, atol=1e-12)
    return 1


@given(SEEDS)
@settings(max_examples=25, deadline=None)
def test_what_was_measured_for_the_queried_pair_changes_nothing(seed):
    """Neither removing (T,A) from every group nor planting absurd values there."""
    arrays = random_arrays(seed, 4, 5, missing=0.1)
    query = Query(workload=2, target=1)
    own = (arrays["platform_index"] == 1) & (arrays["workload_index"] == 2)
    planted = arrays | {
        "features": np.where(own[:, None], 1e150, arrays["features"]),
        "t1_s": np.where(own, 1e150, arrays["t1_s"]),
    }
    expected = answered(Database.build(**without_rows(arrays, own)), query)
    assert answered(Database.build(**arrays), query) == expected
    assert answered(Database.build(**planted), query) == expected
    assert answered(Database.build(**arrays).without(1, 2), query) == expected


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_hiding_many_profiles_is_the_same_as_not_having_them(seed):
    """More hidden rows than extremes are kept for: the ranges are computed anew."""
    arrays = random_arrays(seed, 12, 6, missing=0.05)
    platforms, workloads = np.divmod(np.random.default_rng(seed).permutation(72)[:40], 6)
    hidden = np.isin(arrays["platform_index"] * 6 + arrays["workload_index"], platforms * 6 + workloads)
    fewer = Database.build(**without_rows(arrays, hidden))
    view = Database.build(**arrays).without(platforms, workloads)
    assert len(view.hidden_rows) > 64
    for query in (Query(0, 0), Query(5, 11), Query(3, 4, group=1)):
        assert answered(view, query) == answered(fewer, query)


def test_predicts_at_the_thread_counts_asked_for():
    database = random_database(1)
    assert predict(database, Query(0, 0)).n.tolist() == list(range(1, 17))
    answer = predict(database, Query(0, 0, n=(8, 2, 64)))
    assert answer.n.tolist() == [8, 2, 64]
    assert "n = 64 is beyond the 16 threads of the target" in answer.warnings
    for n in ((), (0, 1)):
        with pytest.raises(InvalidThreadCounts):
            predict(database, Query(0, 0, n=n))


ROW = 1.0, features(redundancy_m=1.0)
THREE = ("p", "a"), ("p", "b"), ("t", "b")  # the least that gives a candidate
OPENMP, MPAL = Group(True, "openmp", "measured"), Group(True, "mpal", "measured")


def test_default_group_is_that_with_the_most_references():
    groups = Group(False, "x", "measured"), Group(True, "x", "measured")
    keys = [("p", "a", 0), ("q", "a", 0), ("p", "a", 1)]
    keys += [(p, b, g) for g in (0, 1) for p, b in [("p", "b"), ("q", "b"), ("t", "b")]]
    database = database_of(dict.fromkeys(keys, ROW), groups=groups)
    assert {c.platform for c in predict(database, Query(0, 2)).candidates_t1} == {"p", "q"}
    assert {c.platform for c in predict(database, Query(0, 2, group=1)).candidates_t1} == {"p"}


def test_a_tie_of_references_prefers_decomposed_profiles():
    groups = Group(False, "x", "measured"), Group(True, "x", "measured")
    rows = {(*key, group): (t1_s, ROW[1]) for key in THREE for group, t1_s in enumerate((1.0, 7.0))}
    assert predict(database_of(rows, groups=groups), Query(0, 1)).t1_s == 7.0


@pytest.fixture
def two_runtimes():
    """A runs with openmp, everything on the target with mpal."""
    return database_of(
        {
            ("p", "a", 0): (2.0, features(redundancy_m=0.0)),
            ("p", "b", 1): (3.0, features(redundancy_m=1.0)),
            ("t", "b", 1): (6.0, features(redundancy_m=1.0)),
        },
        groups=(OPENMP, MPAL),
    )


def test_refusal_for_another_runtime_says_what_would_help(two_runtimes):
    with pytest.raises(TooFewCandidates, match=r"a uses runtime openmp, .* t use mpal; set mix_runtimes") as refused:
        predict(two_runtimes, Query(0, 1), mix_runtimes="never")
    assert (refused.value.found, refused.value.needed) == (0, 1)


@pytest.mark.parametrize("mix", ["auto", "always"])
def test_runtimes_are_mixed_where_one_leaves_nothing(two_runtimes, mix):
    answer = predict(two_runtimes, Query(0, 1), mix_runtimes=mix)
    assert answer.t1_s == 4.0
    assert "profiles of different runtimes are compared: mpal, openmp" in answer.warnings


def test_runtimes_are_not_mixed_where_one_suffices():
    rows = {
        ("p", "a", 0): (2.0, features(redundancy_m=0.0)),
        ("p", "b", 0): (3.0, features(redundancy_m=1.0)),
        ("t", "b", 0): (6.0, features(redundancy_m=1.0)),
        ("p", "c", 1): (3.0, features(redundancy_m=0.0)),
        ("t", "c", 1): (30.0, features(redundancy_m=0.0)),
    }
    database = database_of(rows, groups=(OPENMP, MPAL))
    alone, mixed = (predict(database, Query(0, 1), mix_runtimes=mix) for mix in ("auto", "always"))
    assert {candidate.workload for candidate in alone.candidates_t1} == {"b"}
    assert not any("runtimes" in warning for warning in alone.warnings)
    assert {candidate.workload for candidate in mixed.candidates_t1} == {"b", "c"}


def test_time_only_and_decomposed_profiles_are_compared_where_nothing_else_is_left():
    groups = Group(True, "x", "measured"), Group(False, "x", "measured")
    database = database_of({("p", "a", 0): ROW, ("p", "b", 1): ROW, ("t", "b", 1): ROW}, groups=groups)
    assert "decomposed profiles are compared with time-only ones" in predict(database, Query(0, 1)).warnings
    for chosen in ("never", "always"):
        with pytest.raises(TooFewCandidates, match="decomposed measured, those on t are time-only measured"):
            predict(database, Query(0, 1), mix_runtimes=chosen)


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        (Query(0, 2), TooFewCandidates, r"reference machines \(p, u\) share no workload"),
        (Query(0, 3), TooFewCandidates, "no other workload was measured on u"),
        (Query(0, 2, references=(1,)), NoReference, "among the requested references"),
        (Query(0, 4), UnknownTarget, "target 4 is not one of the 4 machines"),
        (Query(2, 0), UnknownWorkload, "workload 2 is not one of the 2 workloads"),
        (Query(0, 0), NoReference, "a has no reference profile on any machine other than t"),
    ],
)
def test_refusals_name_what_is_missing(query, error, message):
    database = database_of(dict.fromkeys([("p", "a"), ("q", "b"), ("t", "b"), ("u", "a")], ROW))
    if query == Query(0, 0):
        database = database_of({("t", "a"): ROW, ("t", "b"): ROW})
    with pytest.raises(error, match=message):
        predict(database, query)


def test_undefined_distances_cannot_be_ranked():
    """(P,A) and (P,B) share no valid element."""
    other = 1.0, features(redundancy_b=1.0)
    with pytest.raises(TooFewCandidates, match="share no valid feature"):
        predict(database_of({("p", "a"): ROW, ("p", "b"): other, ("t", "b"): other}), Query(0, 1))


def test_a_sequential_reference_serves_t1_alone():
    """(P,A) was measured at n = 1 alone; distances come from Q, but with P alone in the vector nothing is left."""
    database = database_of(
        {
            ("p", "a"): (2.0, features()),
            ("p", "b"): (4.0, features(redundancy_m=1.0)),
            ("t", "b"): (8.0, features(redundancy_m=1.0)),
            ("q", "a"): (2.0, features(redundancy_m=0.0)),
            ("q", "b"): (1.0, features(redundancy_m=2.0)),
        }
    )
    # By means P is nearest to T in everything.
    answer = predict(database, Query(0, 2), t1_platforms=1, scaling_workload_distance="mean", scaling_platforms=1)
    assert [(c.platform, c.workload) for c in answer.candidates_t1] == [("p", "b")]
    assert answer.t1_s == 4.0
    assert np.isnan(answer.features).all()
    assert answer.time_s[0] == 4.0
    assert np.isnan(answer.time_s[1:]).all()
    assert any(warning.startswith("no scaling") for warning in answer.warnings)


def test_warns_of_a_foreign_instruction_set():
    tables = {"platform_table": {"architecture": ["x86_64", "aarch64"]}}
    warnings = predict(database_of(dict.fromkeys(THREE, ROW), **tables), Query(0, 1)).warnings
    assert "no reference machine has the instruction set of the target (aarch64)" in warnings[0]


def test_there_is_no_time_where_the_redundancy_falls_to_0():
    falling = 1.0, features(redundancy_m=-0.5, redundancy_b=1.5)
    answer = predict(database_of(dict.fromkeys(THREE, falling)), Query(0, 1))
    assert answer.n.tolist() == [1, 2, 3, 4]
    assert answer.time_s[:2].tolist() == [1.0, 0.25]  # R = 1 and 0.5, then 0 and -0.5
    assert np.isnan(answer.time_s[2:]).all()
    assert np.isnan(answer.curves["redundancy"][2:]).all()
    assert answer.t1_s == 1.0
    assert answer.warnings == ["no time at 2 of 4 thread counts: the predicted redundancy is not positive there"]


def test_settings_come_from_plain_values():
    chosen = MPET2020.settings_from({"t1_k": 2, "t1_workload_distance": "individual"})
    changed = {"t1_k": 2, "t1_workload_distance": "individual"}
    assert settings_values(chosen) == settings_values(MPET2020.settings()) | changed
    described = MPET2020.describe().settings
    assert asdict(described["scaling_platforms"]) == {"type": "int", "default": 3}
    assert described["t1_platform_distance"].type == "one of 'mean', 'individual'"


@pytest.mark.parametrize(
    ("values", "setting"),
    [
        ({"workloads": 5}, "workloads"),
        ({"t1_k": "3"}, "t1_k"),
        ({"t1_k": True}, "t1_k"),
        ({"t1_k": 4}, "t1_k"),
        ({"scaling_platforms": 0}, "scaling_platforms"),
        ({"t1_platform_distance": "median"}, "t1_platform_distance"),
        ({"mix_runtimes": 1}, "mix_runtimes"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values, setting):
    with pytest.raises(SettingsError) as refused:
        MPET2020.settings_from(values)
    assert refused.value.setting == setting


@pytest.mark.parametrize("kinds", [("mean", "mean"), ("individual", "mean"), ("individual", "individual")])
def test_every_kind_of_distance_ranks(kinds):
    database = random_database(5, invalid=0.0)
    answer = predict(database, Query(0, 0, group=0), t1_workload_distance=kinds[0], t1_platform_distance=kinds[1])
    by_workload = {}
    for candidate in answer.candidates_t1:
        by_workload.setdefault(candidate.workload, []).append(candidate)
    assert len(by_workload) == 5
    for group in by_workload.values():
        assert [c.distance_platform for c in group] == sorted(c.distance_platform for c in group)
        assert kinds[0] != "mean" or len({c.distance_workload for c in group}) == 1
    nearest = [min(c.distance_workload for c in group) for group in by_workload.values()]
    assert kinds[0] != "mean" or nearest == sorted(nearest)


def test_unknown_method_lists_the_known():
    with pytest.raises(UnknownMethod, match=r"unknown method 'mpet2021'; known: .*mpet2020"):
        get_method("mpet2021")


def test_elements_that_a_platform_cannot_have():
    names = np.array(FEATURE_NAMES)
    assert not impossible_elements(4.0, 8.0).any()
    assert {name[-3:] for name in names[impossible_elements(8.0, 8.0)]} == {"_nu"}
    assert impossible_elements(np.nan, np.nan).sum() == 56


def test_the_method_page_lists_every_setting_with_its_default():
    page = (ROOT / "docs" / "method.md").read_text()
    for name, default in settings_values(MPET2020.settings()).items():
        assert f"| `{name}` | {default} |" in page
