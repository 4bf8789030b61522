"""The automatic choice: by evidence, with reasons; companions bring what lies beyond; nothing held out is seen."""

import numpy as np
import pytest

from predictor.scaling_models.automatic import AutomaticChoice
from predictor.scaling_models.companions import Companion, companions_from_curves, companions_of
from predictor.scaling_models.growth import LAWS
from predictor.scaling_models.own_curve import CURVE_LAWS
from research.scaling.evaluation import (
    ScalingProtocol,
    cases_of,
    contenders,
    evaluate_contender,
    model_statistics,
)
from tests.predictor.core.measured import database_of_times

N = np.arange(1.0, 17.0)


def knee(n, at, slope=0.2, scale=1.0):
    """R = 1 up to `at`, then a slope: hyperthreads."""
    return scale * (1 + slope * np.maximum(n - at, 0) / at) / n


def database(curves, *, cpu_model=None, n_ht=None, workloads=None):
    """A profile (n, t) on each platform; workload 0 unless told otherwise."""
    pairs = enumerate(workloads or [0] * len(curves))
    return database_of_times(
        {pair: dict(zip(n, t, strict=True)) for pair, (n, t) in zip(pairs, curves, strict=True)},
        features=np.full((len(curves), 84), np.nan),
        n_ht=n_ht or [np.nan] * len(curves),
        n_max=[n[-1] for n, _ in curves],
        platform_table={"cpu_model": cpu_model or ["X"] * len(curves), "threads": [n[-1] for n, _ in curves]},
    )


def test_a_breakpoint_beyond_the_measured_comes_from_companions():
    kin = companions_from_curves([(N, knee(N, 8, slope)) for slope in (0.19, 0.2, 0.21)])
    alone = AutomaticChoice().fit(N[:8, None], knee(N[:8], 8))
    knowing = AutomaticChoice(shrinkage=0.1).fit(N[:8, None], knee(N[:8], 8), companions=kin)
    truth = knee(N[8:], 8)
    errors = [np.abs(model.predict(N[8:, None]) / truth - 1).mean() for model in (alone, knowing)]
    assert errors[0] > 0.08
    assert errors[1] < 0.01
    low, high = knowing.interval(N[8:, None])
    assert ((low <= truth) & (truth <= high)).all()


def test_worked_example():
    """Two companions that double at n = 8, weight 1, shrinkage 1: two thirds of log 2."""
    n = np.array([1.0, 2.0, 4.0, 8.0])
    kin = companions_from_curves([(n, np.array([8.0, 4.0, 2.0, 2.0]))] * 2)
    model = AutomaticChoice().fit(n[:3, None], 4 / n[:3], companions=kin)
    assert model.predict([[8.0]])[0] == pytest.approx(4 / 8 * 2 ** (2 / 3), rel=1e-3)
    assert model.parameters()["log_correction_at_8"] == pytest.approx(np.log(2) * 2 / 3, abs=1e-3)


def test_reasons_are_shown_and_the_best_is_chosen():
    t = 10 * (0.1 + 0.9 / N)
    alone = AutomaticChoice().fit(N[:8, None], t[:8])
    assert [reason.chosen for reason in alone.reasons_] == [True] + [False] * (len(alone.reasons_) - 1)
    errors = [reason.error for reason in alone.reasons_]
    assert errors == sorted(errors)
    assert {reason.model for reason in alone.reasons_} == set(CURVE_LAWS)
    assert alone.predict(N[8:, None]) == pytest.approx(t[8:], rel=0.01)
    with_kin = AutomaticChoice().fit(N[:8, None], t[:8], companions=companions_from_curves([(N, t), (N, 2 * t)]))
    assert with_kin.reasons_[0].evidence == "2 companions"
    assert {reason.model for reason in with_kin.reasons_} == {*LAWS, "mpet_curve"}


def test_too_few_points_take_the_first_law_and_say_so():
    model = AutomaticChoice().fit([[1], [2], [4]], [4.0, 2.0, 1.0])
    assert (model.chosen_, model.reasons_[0].evidence) == ("late_line", "too few points to compare")
    assert model.predict([[8]]) == pytest.approx([0.5])


def test_companions_that_say_nothing_are_none():
    short = [Companion(N[:4], np.zeros(4), 1.0), Companion(N[4:], np.zeros(12), 1.0)]
    model = AutomaticChoice().fit(N[:8, None], 1 / N[:8], companions=short)
    assert model.replay_ is None
    alone = AutomaticChoice().fit(N[:8, None], 1 / N[:8])
    assert np.array_equal(model.interval([[9]]), alone.interval([[9]]))


def test_kinship_orders_companions():
    curve = (N, 1 / N)
    known = database([curve] * 4, cpu_model=["X", "Y", "X", ""], workloads=[0, 0, 1, 0])
    found = companions_of(known, 0, 0)
    assert [(one.label, one.weight) for one in found] == [
        ("w1 on p2", 1.0),
        ("w0 on p1", pytest.approx(0.12)),
        ("w0 on p3", pytest.approx(0.12)),
    ]
    assert [one.label for one in companions_of(known, 0, 0, scope="kin")] == ["w1 on p2"]
    assert companions_of(known, 0, 0, scope="platform") == companions_of(known, 0, 0, scope="none") == []
    with pytest.raises(ValueError, match="unknown scope 'moon'"):
        companions_of(known, 0, 0, scope="moon")


def test_another_machines_thread_counts_are_mapped_by_its_marks():
    """n_ht = 4 of 8 threads there is n_ht = 8 of 16 here."""
    known = database([(N, knee(N, 8)), (N[:8], knee(N[:8], 4))], n_ht=[8, 4])
    companion = companions_of(known, 0, 0)[0]
    assert companion.n[[0, 3, 7]].tolist() == [1, 8, 16]
    assert np.exp(companion.log_r_at(np.array([8.0, 16.0]))) == pytest.approx([1.0, 1.2])


@pytest.mark.parametrize("train", ["half", "few"])
def test_nothing_held_out_is_seen(train):
    """Other held-out times, the same predictions: of every contender."""
    rng = np.random.default_rng(0)
    curves = [(N, knee(N, 8, rng.uniform(0.1, 0.3)) * rng.lognormal(0, 0.01, 16)) for _ in range(4)]
    protocol = ScalingProtocol(train)
    honest = database(curves)
    case = cases_of(honest, protocol)[0]
    changed = curves[0][1].copy()
    changed[np.isin(N, case.n_asked)] *= rng.uniform(0.1, 10, len(case.n_asked))
    other = database([(N, changed), *curves[1:]])
    again = cases_of(other, protocol)[0]
    assert (again.time_s == case.time_s).all()
    assert (again.actual_s != case.actual_s).all()
    for contender in contenders("all"):
        if contender.name == "memory_wall":
            continue
        answers = []
        for known, one in ((honest, case), (other, again)):
            try:
                answers.append(contender.fit(known, one, protocol).predict(one.n_asked[:, None]).tolist())
            except ValueError as refusal:
                answers.append(str(refusal))
        assert answers[0] == answers[1], contender.name


def test_half_and_few_split_every_curve_in_two():
    known = database([(N, 1 / N), (N[:6], 1 / N[:6]), (N[:4], 1 / N[:4])])
    for protocol, count in ((ScalingProtocol(), 1), (ScalingProtocol(least=3), 2), (ScalingProtocol("few"), 2)):
        cases = cases_of(known, protocol)
        assert len(cases) == count
        for case in cases:
            n, _ = known.curve(case.row)
            assert sorted([*case.n, *case.n_asked]) == n.tolist()
    few = cases_of(known, ScalingProtocol("few"))[0]
    assert few.n.tolist() == [1, 3, 6, 16]
    assert len(cases_of(known, ScalingProtocol("few", sample=1))) == 1


def test_statistics_count_refusals_apart():
    known = database([(N, 1 / N)] * 3)
    cases = cases_of(known, ScalingProtocol())
    refusing = next(one for one in contenders("all") if one.name == "parallel_penalty")
    fine = next(one for one in contenders("all") if one.name == "amdahl")
    assert model_statistics(list(evaluate_contender(known, cases, fine, ScalingProtocol())))["mean"] == pytest.approx(
        0, abs=1e-6
    )
    outcomes = list(evaluate_contender(known, cases, refusing, ScalingProtocol()))
    assert model_statistics(outcomes)["count"] + model_statistics(outcomes)["refused"] == 3
    assert model_statistics([])["median"] is None


def test_unknown_protocols_are_refused():
    for wrong in ({"train": "all"}, {"points": 1}, {"least": 0}, {"sample": 0}):
        with pytest.raises(ValueError, match=r"at least|unknown train"):
            ScalingProtocol(**wrong)
