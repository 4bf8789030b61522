"""What `mpet` promises (docs/method-mpet.md), on databases whose truth is known."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from predictor.core.database import Database, Group
from predictor.core.errors import InvalidThreadCounts, NoReference, PredictionError, SettingsError, TooFewCandidates
from predictor.core.evaluate import Protocol, evaluate
from predictor.core.methods import METHODS
from tests.predictor.core.curves import (
    COUNTS,
    curve_arrays,
    curve_database,
    cut_at,
    decomposed_arrays,
    scaled,
    with_times,
    without_rows,
)
from tests.predictor.core.databases import TIME_ONLY, random_database
from tests.predictor.core.mpet.asking import MPET, predict

SIZES = pytest.mark.parametrize("platforms", [2, 5, 12, 30])  # one for each way of transfer


def answered(database, workload, target, n=None):
    """Everything an answer says, or how it was refused, as one comparable value."""
    try:
        answer = predict(database, workload, target, n)
    except PredictionError as error:
        return type(error).__name__, str(error)
    numbers = [answer.t1_s, *answer.time_s, *answer.features, *np.concatenate([*answer.curves.values()])]
    candidates = answer.candidates_t1, answer.candidates_scaling
    return [None if np.isnan(x) else x for x in numbers], candidates, answer.warnings, answer.confidence


@SIZES
def test_what_was_measured_for_the_queried_pair_changes_nothing(platforms):
    """Neither removing (T,A) nor planting absurd times there."""
    arrays = curve_arrays(3, platforms, missing=0.0)
    own = (arrays["platform_index"] == 1) & (arrays["workload_index"] == 2)
    expected = answered(without_rows(arrays, own), 2, 1)
    assert expected[0] != "TooFewCandidates"
    for database in (arrays, scaled(arrays, own, 1e9), Database.build(**arrays).without(1, 2)):
        assert answered(database, 2, 1) == expected


@given(st.integers(0, 2**32 - 1))
@example(17)  # the only workload that a reference shares with the target is outlying on the target
@settings(max_examples=4, deadline=None)
def test_hidden_profiles_are_as_good_as_none(seed):
    arrays = curve_arrays(seed, 24, 6, missing=0.05)
    platforms, workloads = np.divmod(np.random.default_rng(seed).permutation(24 * 6)[:50], 6)
    hidden = np.isin(arrays["platform_index"] * 6 + arrays["workload_index"], platforms * 6 + workloads)
    view, fewer = Database.build(**arrays).without(platforms, workloads), Database.build(**without_rows(arrays, hidden))
    for query in ((0, 0), (5, 11), (3, 4, (1, 3, 40))):
        found = answered(view, *query)
        assert found == answered(fewer, *query)
        assert found[0][0] is not None


@SIZES
def test_a_target_slower_in_everything_is_predicted_slower_by_as_much(platforms):
    arrays = curve_arrays(5, platforms, missing=0.0)
    first, second = (predict(one, 2, 1) for one in (arrays, scaled(arrays, arrays["platform_index"] == 1, 7.0)))
    np.testing.assert_allclose(second.time_s / first.time_s, 7.0, rtol=0.08)  # the level of speed tells a little
    np.testing.assert_allclose(second.t1_s / first.t1_s, 7.0, rtol=0.08)


@SIZES
def test_units_do_not_matter(platforms):
    arrays = curve_arrays(6, platforms, missing=0.0)
    in_s, in_ms = (predict(one, 2, 1) for one in (arrays, scaled(arrays, slice(None), 1000.0)))
    np.testing.assert_allclose(in_ms.time_s, 1000 * in_s.time_s, rtol=1e-8)


@SIZES
def test_a_reference_in_proportion_in_everything_is_followed(platforms):
    """T is three times as slow as P in all benchmarks, at every n: A is, too. It is exact if there is no other."""
    arrays = curve_arrays(7, platforms, 5 if platforms == 2 else 12, missing=0.0, noise=0.0)
    time_s = arrays["curve_time_s"].reshape(platforms, -1, len(COUNTS)).copy()
    time_s[1] = 3 * time_s[0]
    answer = predict(with_times(arrays, time_s), 2, 1, COUNTS)
    np.testing.assert_allclose(answer.time_s, time_s[1, 2], rtol=1e-9 if platforms == 2 else 0.04)
    if platforms == 2:
        assert {candidate.platform for candidate in answer.candidates_scaling} == {"p000"}
        assert sum(candidate.weight for candidate in answer.candidates_scaling) == pytest.approx(1.0)


def test_errors_are_near_the_noise_and_below_the_paper_s_method():
    database = curve_database(9, 40, 14, noise=0.02)
    methods = [MPET, METHODS["mpet2020"]]
    report = evaluate(database, methods, Protocol(sample=60)).report().methods
    assert report[MPET.name].full.median < 5.0
    assert report[MPET.name].full.median < report["mpet2020"].full.median / 2
    assert report[MPET.name].full.refused == 0


@SIZES
def test_distances_are_in_0_to_1_and_candidates_were_measured(platforms):
    database = curve_database(4, platforms, 7)
    answer = predict(database, 2, 1)
    assert answer.candidates_scaling
    assert answer.candidates_t1
    for one in answer.candidates_scaling + answer.candidates_t1:
        assert 0 <= one.distance_platform <= 1
        assert 0 <= one.distance_workload <= 1
        assert one.distance_tuple == pytest.approx(1 - (1 - one.distance_platform) * (1 - one.distance_workload))
        assert one.platform != "p001"
        assert one.workload != "w002"
        platform, workload = database.platforms.index(one.platform), database.workloads.index(one.workload)
        assert (database.lookup(platform, [workload, 2], 0) >= 0).all()
        assert database.lookup(1, workload, 0) >= 0


def test_between_and_beyond_measured_n():
    database = curve_database(10, 30, 8)
    answer = predict(database, 2, 1, (8, 12, 16, 64))
    assert (np.diff(answer.time_s) < 0).all()
    assert any("beyond the 16 threads of the target" in warning for warning in answer.warnings)
    assert any("the workload was measured with at most 16 threads" in warning for warning in answer.warnings)
    inside = predict(database, 2, 1)
    assert inside.n.tolist() == list(range(1, 17))
    assert inside.time_s[0] == inside.t1_s == pytest.approx(answer.t1_s)  # also where n = 1 is not asked for
    assert not any("beyond" in warning for warning in inside.warnings)
    m, b = inside.features[:2]
    assert np.abs(m * inside.n + b - inside.curves["redundancy"]).mean() < 0.1


def test_beyond_everything_measured_a_machine_goes_on_as_before():
    """R(n) rises as n^0.5 everywhere, so that is the machine's: t(64) is about t(16) / 2."""
    arrays = curve_arrays(1, 3, 4, missing=0.0)
    answer = predict(with_times(arrays, arrays["t1_s"][:, None] / np.sqrt(COUNTS)), 2, 1, (1, 16, 64))
    np.testing.assert_allclose(answer.time_s[1:] / answer.t1_s, [1 / 4, 1 / 8], rtol=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_one_workload_at_one_n_on_the_target_is_enough(seed):
    """The references differ from T by rounding errors only, which say nothing about their behaviour."""
    arrays = curve_arrays(seed, 130, 2, missing=0.0)
    on_target = arrays["platform_index"] == 1
    is_sequential = arrays["workload_index"] == 0
    truth = arrays["curve_time_s"].reshape(-1, len(COUNTS))[on_target & ~is_sequential][0, 0]
    arrays["platform_table"] = {"architecture": ["x86_64"] * 130}
    answer = predict(cut_at(arrays, np.where(is_sequential, 1, len(COUNTS))), 1, 1, (1,))
    assert answer.time_s[0] == pytest.approx(truth, rel=1.0)
    assert answer.confidence.negative_weight < 0.1


def test_sequential_profiles_give_t1_alone():
    answer = predict(curve_database(2, 30, 6, counts=(1,)), 2, 1, (1, 4))
    assert answer.t1_s == answer.time_s[0]
    times = np.array([answer.time_s, answer.low_s, answer.high_s])
    assert np.isfinite(times[:, 0]).all()
    assert np.isnan(times[:, 1]).all()
    assert np.isnan(answer.features).all()
    assert "no scaling: the workload was measured at n = 1 only" in answer.warnings


@pytest.mark.parametrize(
    ("strategy", "threads", "predicted"), [("", 1, True), ("", 16, False), ("sequential", 1, False)]
)
def test_scaling_is_known_from_the_target_s_workloads_where_a_has_none(strategy, threads, predicted):
    """A ran at n = 1 alone, on references that take one thread; T's other workloads say how its threads compare."""
    arrays = curve_arrays(3, 6, 5, missing=0.0, noise=0.0)
    arrays = cut_at(arrays, np.where(arrays["workload_index"] == 2, 1, len(COUNTS))) | {
        "workload_table": {"strategy": [strategy if w == 2 else "" for w in range(5)]},
        "n_max": np.where(np.arange(6) == 1, 16, threads),
    }
    answer = predict(arrays, 2, 1, (1, 4, 16))
    assert np.isfinite(answer.time_s[0])
    assert np.isfinite(answer.time_s[1:]).all() == np.isfinite(answer.low_s[1:]).all() == predicted
    assert any("n = 1 only" in warning for warning in answer.warnings)
    assert any("no scaling" in warning for warning in answer.warnings) != predicted
    if predicted:
        assert (np.diff(answer.time_s) < 0).all()
        assert (np.diff(answer.high_s / answer.low_s) > 0).all()


def test_references_of_other_sizes_are_carried_to_the_target_s_n():
    """Half of the references were measured up to 4 only; the truth is still found at 16."""
    arrays = curve_arrays(11, 40, 14, missing=0.0)
    database = Database.build(**cut_at(arrays, np.where(arrays["platform_index"] % 2 == 0, 3, len(COUNTS))))
    report = evaluate(database, [MPET], Protocol(targets=tuple(range(1, 40, 2)), sample=40)).report().methods["mpet"]
    assert report.full.median < 5.0


def test_decomposed_curves_and_times_are_consistent():
    """Eq. 3: t(n) = t(1) R(n) / (n U(n)); Eq. 4: U = 1 - fractions."""
    answer = predict(decomposed_arrays(3), 2, 1)
    fractions = [answer.curves[name] for name in ("lock_delay", "work_imbalance", "task_creation")]
    fractions += [answer.curves[name] for name in ("task_distribution", "task_switching", "task_join")]
    np.testing.assert_allclose(answer.curves["utilisation"], 1 - np.sum(fractions, axis=0), rtol=1e-12)
    rebuilt = answer.t1_s * answer.curves["redundancy"] / (answer.n * answer.curves["utilisation"])
    np.testing.assert_allclose(answer.time_s, rebuilt, rtol=1e-12)
    assert (answer.curves["lock_delay"] == 0).all()
    np.testing.assert_allclose(answer.curves["work_imbalance"], 0.06, rtol=0.05)
    np.testing.assert_allclose(answer.curves["BR/INSTR"], 0.22, rtol=0.05)
    assert np.isnan(answer.curves["BR-M/BR"]).all()
    assert np.isfinite(answer.features[:14]).any()


def test_long_decomposed_curves_are_predicted_a_few_n_at_a_time(monkeypatch):
    whole = predict(decomposed_arrays(3), 2, 1).curves
    monkeypatch.setattr("predictor.core.mpet.answer.MOST_GRID_VALUES", 1)
    for name, values in predict(decomposed_arrays(3), 2, 1).curves.items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-12, err_msg=name)


def test_refusals_name_what_is_missing():
    database = curve_database(1, 6, 4, missing=0.0)
    everything = np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6)
    with pytest.raises(NoReference, match="w002 has no reference profile"):
        predict(database.without(np.arange(6), 2), 2, 1)
    with pytest.raises(TooFewCandidates, match="no other workload was measured on p001"):
        predict(database.without(1, np.arange(4)), 2, 1)
    with pytest.raises(NoReference):
        predict(database.without(*everything), 2, 1)
    with pytest.raises(InvalidThreadCounts):
        predict(database, 2, 1, (0,))
    known_elsewhere = database.without(np.arange(1, 6), 0).without([0, 2, 3, 4, 5, 0], [1, 1, 1, 1, 1, 3])
    alone = known_elsewhere.without(1, [0, 2, 3])  # p001 knows w001, which nobody else does
    with pytest.raises(TooFewCandidates, match="share no workload with the target"):
        predict(alone, 2, 1)


def test_references_can_be_chosen_and_limited():
    database = curve_database(12, 30, 8, missing=0.0)
    answer = predict(database, 2, 1, among=(3, 5, 9))
    assert {one.platform for one in answer.candidates_scaling} == {"p003", "p005", "p009"}
    assert predict(database, 2, 1, references=10).confidence.references == 10
    with pytest.raises(SettingsError):
        MPET.settings(references=0)


def test_what_a_workload_is_called_by_its_runtime_and_kind_changes_no_number():
    """How platforms compare is told by every workload: the same times in one group and in four give the same answer."""
    arrays = curve_arrays(4, 12, 8, missing=0.0)
    groups = tuple(Group(kind, runtime, "measured") for kind in (False, True) for runtime in ("mpal", "openmp"))
    one, four = (
        predict(each, 2, 1) for each in (arrays, arrays | {"groups": groups, "group": arrays["workload_index"] % 4})
    )
    np.testing.assert_array_equal(four.time_s, one.time_s)
    np.testing.assert_array_equal(four.high_s, one.high_s)


def test_workloads_of_other_runtimes_alone_are_evidence_and_named():
    arrays = curve_arrays(4, 12, 8, missing=0.0)
    groups = (Group(False, "mpal", "measured"), Group(False, "libgomp", "measured"))
    answer = predict(arrays | {"groups": groups, "group": (arrays["workload_index"] == 2).astype(int)}, 2, 1)
    assert answer.confidence.benchmarks == 7
    expected = "no workload of runtime libgomp was measured on the target: it is compared by those of mpal"
    assert expected in answer.warnings


def test_an_unknown_instruction_set_is_warned_of():
    arrays = curve_arrays(4, 10, 5, missing=0.0)
    arrays["platform_table"]["architecture"][1] = "riscv64"
    for target, is_warned in ((1, True), (3, False)):
        warnings = predict(arrays, 2, target).warnings
        assert any("no reference machine has the instruction set" in text for text in warnings) == is_warned


def test_from_20_to_40_references_ratios_count_less_and_less(monkeypatch):
    """With 30, half as much as with 20: the answer is between those with and without them, and so is its interval."""
    database, logs, widths = curve_database(3, 31, 12, noise=0.05, missing=0.0), [], []
    for many in (15, 20, 30):  # ratios count as 0, 1/2 and 1
        monkeypatch.setattr("predictor.core.mpet.method.MANY_REFERENCES", many)
        answer = predict(database, 2, 1, COUNTS)
        logs.append(np.log(answer.time_s))
        widths.append(np.log(answer.high_s / answer.low_s))
    for without, half, whole in (logs, widths):
        assert (np.abs(whole - without) > 1e-6).all()
        assert ((half - without) * (whole - half) > 0).all()


@pytest.mark.parametrize("platforms", [12, pytest.param(30, marks=pytest.mark.lab)])
def test_one_absurd_upload_moves_nobody_else_much(platforms):
    """A profile a million times too slow: the error of others changes by under 7 % on average."""
    protocol = Protocol(targets=tuple(range(1, platforms, 2)))
    errors = []
    for seed in range(13, 18):
        arrays = curve_arrays(seed, platforms, 8, missing=0.0, noise=0.02)
        absurd = (arrays["platform_index"] == 0) & (arrays["workload_index"] == 3)
        planted = scaled(arrays, absurd, 1e6)
        both = [evaluate(Database.build(**one), [MPET], protocol).outcomes["mpet"] for one in (arrays, planted)]
        errors.append([np.mean([outcome.errors["full"] for outcome in outcomes]) for outcomes in both])
    without, with_absurd = np.mean(errors, axis=0)
    assert with_absurd < 1.07 * without


def test_profiles_without_a_kept_curve_are_compared_by_t1():
    database = Database.build(**curve_arrays(4, 30, 6) | {"curve_offsets": None, "curve_n": (), "curve_time_s": ()})
    answer = predict(database, 2, 1, (1,))
    assert answer.t1_s == pytest.approx(float(database.t1_s[int(database.lookup(1, 2, 0))]), rel=0.3)


def test_time_only_profiles_use_no_decomposed_ones():
    groups = (TIME_ONLY, TIME_ONLY._replace(decomposed=True))
    answer = predict(random_database(8, 12, 5, groups=groups, missing=0.0), 1, 2, group=0)
    assert (answer.curves["utilisation"] == 1).all()
    assert np.isnan(answer.curves["lock_delay"]).all()


def test_a_workload_need_not_be_fixed_work():
    """Multiply A's times by any f(n), as if work grew with n: the answer is multiplied by it, and others stay.

    With under 40 references the shapes of curves count, and this holds nearly.
    """
    arrays = curve_arrays(6, 41, 12, missing=0.0)
    f = np.array(COUNTS) ** 1.5 / (1 + np.log(COUNTS))
    growing = np.where(arrays["workload_index"][:, None] == 5, f, 1.0).ravel()
    changed = arrays | {"curve_time_s": arrays["curve_time_s"] * growing}
    for workload, factor in ((5, f), (7, 1.0)):
        before, after = (predict(each, workload, 1, COUNTS) for each in (arrays, changed))
        assert after.time_s == pytest.approx(before.time_s * factor, rel=0.02 if workload == 7 else 1e-6)
