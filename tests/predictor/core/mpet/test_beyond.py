"""Beyond the measured thread counts: laws and companions, each as far as they agree with the workload inside."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulator import execute, find_hardware
from benchmarks.simulator.programs import Access, Critical, Kernel, Phase, Program, Serial, StaticLoop
from predictor.core.answers import fastest_position
from predictor.core.mpet.beyond import (
    SLOWEST,
    WHOLE_PROGRAMS,
    Growth,
    courses_on_platform,
    law_thread_times,
    scaling_laws,
)
from tests.predictor.core.curves import database_of_times
from tests.predictor.core.databases import TIME_ONLY
from tests.predictor.core.mpet.asking import estimates_of, predict_named

COMPANIONS, LARGE_COUNTS = 20, (1, 2, 4, 8, 16, 32, 64, 128, 256)


def fleet(planted=None, called="serial", used=()):
    """Copies of a program that scale ideally, on a machine of two threads, one of 16 and two of 256; and three
    programs that ran on the small one alone. Beside the copies a few programs with a serial part."""
    rng = np.random.default_rng(0)
    speeds = {"laptop": 1.0, "middle": 0.7, "large": 0.7, "twin": 0.75}
    threads = {"laptop": 2, "middle": 16, "large": 256, "twin": 256}
    curves = {}
    for b in range(COMPANIONS):
        work, serial = rng.uniform(1, 9), 0.0 if b % 5 else 0.03 * (1 + b // 5)
        for platform, speed in speeds.items():
            counts = [n for n in LARGE_COUNTS if n <= threads[platform]]
            curves[platform, f"copy{b:02}" if b % 5 else f"b{b:02}"] = {
                n: speed * work * (serial + (1 - serial) / n) * np.exp(0.01 * rng.normal()) for n in counts
            }
    for name, times in {
        "scales": (1.01, 0.52),
        called: (1.01, 1.01),
        "slows": (1.01, 1.31),
        "half": (1.0, 0.7),
    }.items():
        curves["laptop", name] = {1: times[0], 2: times[1]}
    if planted:
        curves["large", "scales"] = planted
    names = sorted({name for _, name in curves})
    applications = ["copies" if name.startswith("copy") else "" for name in names]
    return database_of_times(curves, threads, used, workload_table={"application": applications})


@pytest.fixture(scope="module")
def small_fleet():
    return fleet()


@pytest.mark.parametrize("called", ["serial", "serial copy"])
def test_a_serial_program_is_predicted_serial(called):
    """Also one that is called like programs that scale."""
    answer = predict_named(fleet(called=called), called, "large", (1, 2, 8, 256))
    assert answer.credible_n <= 2
    np.testing.assert_allclose(answer.time_s[1:] / answer.time_s[0], 1.0, rtol=0.15)
    assert any("a gain beyond n = " in warning for warning in answer.warnings)


def test_companions_of_a_reference_without_a_common_thread_count_show_no_loss_of_the_machine():
    """Three ran with one thread, three with all eight: none shows what eight threads lose."""
    curves = {("small", f"one{b}"): {1: 1.0 + b} for b in range(3)}
    curves |= {("small", f"all{b}"): {8: 0.2 + b} for b in range(3)}
    curves |= {("large", name): {1: 1.0, 8: 0.2, 64: 0.05} for _, name in list(curves)}
    curves["small", "own"] = {1: 1.0, 8: 0.25}
    answer = predict_named(database_of_times(curves, {"small": 8, "large": 64}), "own", "large", (1, 8, 64))
    assert np.isfinite([answer.low_s, answer.time_s, answer.high_s]).all()


def test_a_program_that_slows_down_gets_no_faster(small_fleet):
    answer = predict_named(small_fleet, "slows", "large")
    assert fastest_position(answer.n, answer.time_s, answer.credible_n) == 0
    assert answer.time_s[-1] > answer.time_s[1]


@pytest.mark.parametrize(("slowed", "most", "n_ht"), [(1.0, 2, np.nan), (1.3, 2, np.nan), (1.3, 4, 2.0)])
def test_companions_that_scale_badly_on_the_reference_only_say_nothing_about_it(slowed, most, n_ht):
    """On the reference, the data of four programs fit into the memory for one thread, but not for all; elsewhere they
    scale. A program with the same times on the reference may be serial."""
    rng, counts = np.random.default_rng(0), {"laptop": (1, most), "middle": (1, 16), "large": (1, 256)}
    curves = {
        (platform, f"b{b:02}"): {n: (1 + b) / n * np.exp(0.02 * rng.normal()) for n in of_platform}
        for b in range(COMPANIONS)
        for platform, of_platform in counts.items()
    }
    for b in range(4):
        curves["laptop", f"b{b:02}"][most] = slowed * curves["laptop", f"b{b:02}"][1]
    curves["laptop", "own"] = {1: 1.0, most: slowed}
    threads = {"laptop": most, "large": 256, "middle": 16}
    answer = predict_named(database_of_times(curves, threads, n_ht=[n_ht, np.nan, np.nan]), "own", "large")
    assert answer.credible_n <= most
    assert answer.time_s[-1] > 0.5 * answer.time_s[0]


def measured_with_all_threads(loss):
    """Ten programs measured on a machine of two threads with both, and on one of 64 with all, where each loses `loss`
    of ln t; and two that ran on the small one alone, `usual` as they and `serial`."""
    curves, rng = {}, np.random.default_rng(0)
    for b in range(10):
        work = rng.uniform(1, 9)
        curves["small", f"b{b}"] = {2: work}
        curves["large", f"b{b}"] = {64: work * 2 / 64 * np.exp(loss)}
    curves["small", "usual"], curves["small", "serial"] = {2: 3.0}, {1: 3.0, 2: 3.0}
    return database_of_times(curves, {"small": 2, "large": 64})


@pytest.mark.parametrize("loss", [0.0, 0.5, 1.5])
def test_what_all_threads_of_a_machine_cost_is_not_lost_twice(loss):
    """Its speed, by what it measured with all threads, tells it already."""
    answer = predict_named(measured_with_all_threads(loss), "usual", "large", (2, 64))
    assert 0.65 < answer.time_s[1] / (3.0 * 2 / 64 * np.exp(loss)) < 1.4


def test_a_serial_program_is_serial_where_others_ran_with_all_threads_alone():
    """Although those have nothing in common with it: none was measured with one thread."""
    answer = predict_named(measured_with_all_threads(0.5), "serial", "large", (2, 4, 64))
    assert answer.credible_n <= 2
    assert answer.time_s[2] > 0.5 * answer.time_s[0]


def measured_at_home(serial, companions_at=(1, 2, 4, 8, 16, 32)):
    """Twenty programs with such a serial part on a machine of 32 threads and on two others; `own`, which is like them,
    was measured with all threads of the first alone."""
    rng = np.random.default_rng(4)
    counts = {"home": companions_at, "small": (1, 2, 4), "large": (1, 4, 16, 64)}
    curves = {}
    for b in range(COMPANIONS):
        work = rng.uniform(1, 9)
        for platform, speed in {"home": 1.0, "small": 0.7, "large": 1.3}.items():
            curves[platform, f"b{b:02}"] = {
                n: work / speed * (serial + (1 - serial) / n) * np.exp(0.02 * rng.normal()) for n in counts[platform]
            }
    curves["home", "own"] = {32: 3.0 * (serial + (1 - serial) / 32)}
    return database_of_times(curves, {"home": 32, "small": 4, "large": 64})


@pytest.mark.parametrize("serial", [0.0, 0.05, 0.3])
@pytest.mark.parametrize(("target", "speed", "counts"), [("small", 0.7, (1, 4)), ("large", 1.3, (1, 4, 64))])
def test_what_was_measured_with_all_threads_alone_lost_less_with_fewer(serial, target, speed, counts):
    """One thread does not take as long as 32 threads work together, but what these lose less."""
    answer = predict_named(measured_at_home(serial), "own", target, counts)
    true = 3.0 / speed * (serial + (1 - serial) / np.array(counts))
    assert (np.abs(np.log(answer.time_s / true)) < 0.5).all()
    assert (answer.low_s < true).all() and (true < answer.high_s).all()
    # What companions and laws leave open is in the interval: it is the wider, the farther n is from what was measured.
    wide = np.log(answer.high_s / answer.low_s)
    assert wide[0] > 0.4 and wide[0] > wide[-1] + 0.2
    fewer = "the workload was measured with at least 32 threads: below, it is extrapolated"
    assert any(warning.startswith(fewer) for warning in answer.warnings)


def test_a_workload_that_starts_at_more_threads_has_a_stand_in_for_t1():
    """n t(n) at the least n that is asked for, unless it is 1."""
    database = measured_at_home(0.3)
    for n in (16, 1):
        answer = predict_named(database, "own", "large", (n, 64))
        assert answer.t1_s == pytest.approx(n * answer.time_s[0])
    assert answer.t1_s < 0.8 * 16 * predict_named(database, "own", "large", (16,)).time_s[0]


def test_where_nothing_ran_with_fewer_threads_nothing_is_taken_off(monkeypatch):
    """Ratios between machines are then of what both lose, and nobody knows how much that is."""
    database = measured_at_home(0.3, companions_at=(32,))
    answer = predict_named(database, "own", "small", (1, 4))
    times = answer.time_s
    assert not any("with at least 32 threads" in warning for warning in answer.warnings)
    monkeypatch.setattr("predictor.core.mpet.method.with_growth_below", lambda evidence, _: evidence)
    np.testing.assert_array_equal(times, predict_named(database, "own", "small", (1, 4)).time_s)
    whole = measured_at_home(0.3)
    assert (predict_named(whole, "own", "small", (1, 4)).time_s > 3 * times).all()


def on_a_target_with_all_threads_alone(serial, counts_of_others):
    """Twenty programs with such a serial part on four machines. The target of 64 threads ran them with all of these
    alone; `own`, which is like them, was measured on the first two machines."""
    rng, curves = np.random.default_rng(8), {}
    threads = {"first": 32, "second": 96, "third": 16, "target": 64}
    for b in range(COMPANIONS + 1):
        work = rng.uniform(1, 9)
        for platform, most in threads.items():
            counts = (most,) if platform == "target" else (*counts_of_others, most)
            times = {n: work * (serial + (1 - serial) / n) * np.exp(0.02 * rng.normal()) for n in counts}
            curves[platform, f"b{b:02}" if b < COMPANIONS else "own"] = times
    true = work * (serial + (1 - serial) / np.array([1, 8, 64]))
    del curves["target", "own"], curves["third", "own"]
    return predict_named(database_of_times(curves, threads), "own", "target", (1, 8, 64)), true


@pytest.mark.parametrize("serial", [0.0, 0.02, 0.1])
def test_where_everything_ran_with_all_threads_alone_one_thread_is_no_ideal_fraction(serial):
    """64 times the time with 64 threads would be ten times too long if a tenth of the program is serial. Nothing shows
    the serial part, so the interval is wide."""
    answer, true = on_a_target_with_all_threads_alone(serial, ())
    assert (answer.low_s < true).all() and (true < answer.high_s).all()
    assert answer.time_s[0] < 0.7 * 64 * answer.time_s[-1]
    wide = np.log(answer.high_s / answer.low_s)
    assert wide[0] > wide[1] > wide[2]
    fewer = "the target was measured with at least 64 threads: below"
    assert any(warning.startswith(fewer) for warning in answer.warnings)


@pytest.mark.parametrize("serial", [0.0, 0.02, 0.1])
def test_below_the_counts_of_the_target_a_workload_changes_as_on_the_references(serial):
    answer, true = on_a_target_with_all_threads_alone(serial, (1, 4))
    assert np.abs(np.log(answer.time_s / true)).max() < 0.25
    assert (answer.low_s < true).all() and (true < answer.high_s).all()


@pytest.mark.parametrize("loss", [0.5, 1.0])
def test_what_is_called_like_it_and_ran_with_all_threads_alone_tells_what_these_lose(loss):
    """Models ran with all threads of each machine, other programs with one thread, too: none of the loss is taken off
    where a machine with half as many threads loses as much by all of its own."""
    threads, rng, curves = {"home": 64, "other": 48, "small": 16, "target": 32}, np.random.default_rng(6), {}
    for b in range(20):
        work, name = rng.uniform(1, 9), f"model {b}" if b < 8 else f"stressor {b}"
        for platform, most in threads.items():
            time_s = {1: work, most: work / most * np.exp(loss + 0.02 * rng.normal())}
            curves[platform, name] = time_s if b >= 8 else {most: time_s[most]}
    curves["home", "model own"] = {64: 3.0 / 64 * np.exp(loss)}
    answer = predict_named(database_of_times(curves, threads), "model own", "target", (32,))
    assert abs(np.log(answer.time_s[0] / (3.0 / 32 * np.exp(loss)))) < 0.06


def test_what_idles_goes_on_as_a_serial_part_and_what_works_longer_does_not():
    """Two threads take 0.7 of the time of one, because 40 % of the program is serial or because both work longer."""
    counts = (1, 2, 16, 256)
    gained = {}
    for why, used in {"idle": (1.0, 1.0 / 1.4), "busy": (1.0, 1.0), "both": (1.0, 0.85)}.items():
        database = fleet(used={("laptop", "half"): used})
        answer = predict_named(database, "half", "large", counts)
        gained[why] = answer.time_s / answer.time_s[0]
        low, high = (bound / answer.time_s[0] for bound in (answer.low_s, answer.high_s))
        assert (low < gained[why]).all() and (gained[why] < high).all()
        # The estimate of a long ranking goes on in the same way.
        large = np.array([database.platforms.index("large")])
        of_ranking = estimates_of(database, database.workloads.index("half"), large, 256)
        assert why == "both" or 0.5 < of_ranking.time_s[0] / answer.time_s[-1] < 2.0
    # Amdahl's law, less the shift of at most 0.35 of ln t towards the median of relative errors.
    off = np.log(gained["idle"] / [1.0, 0.7, 0.4 + 0.6 / 16, 0.4 + 0.6 / 256])
    assert (off > -0.4).all() and (off < 0.1).all()
    assert gained["busy"][2] < 0.15 < gained["both"][2] < gained["idle"][2]
    assert gained["busy"][3] < 0.05 and gained["both"][3] > 0.2


def test_only_whole_programs_are_taken_apart(monkeypatch):
    """The threads of a loop also wait for other reasons than a serial part."""
    database = fleet(used={("laptop", "half"): (1.0, 0.85)})
    monkeypatch.setattr("predictor.core.mpet.beyond.log_utilisation", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        predict_named(database, "half", "large")
    loops = replace(database, groups=(TIME_ONLY, WHOLE_PROGRAMS._replace(runtime="mpet")))
    assert predict_named(loops, "half", "large").time_s[0] > 0


def test_by_no_law_many_threads_take_much_longer_than_one():
    n = np.array([1.0, 12.0, 288.0])
    log_times = law_thread_times(n, n, n_max=288.0, n_ht=np.nan) - np.log(n)[:, None]
    assert log_times.max(axis=1) == pytest.approx(np.log([1.0, SLOWEST, SLOWEST]), abs=0.01)


def test_what_gains_little_on_a_small_machine_takes_no_longer_than_one_thread_on_a_large_one():
    """As file compression of Geekbench, 2.6 times as fast on 12 threads as on one, and 12 times on 288."""
    threads = {"small": 12, "large": 288, "other": 288}
    rng, curves = np.random.default_rng(0), {}
    for b in range(10):
        loss = rng.uniform(0.0, 0.2)
        for platform, most in threads.items():
            counts = (1, most)
            curves[platform, f"b{b}"] = {n: (1 + b) / n * np.exp(loss * np.log(n) / np.log(288)) for n in counts}
    curves["small", "compression"] = {1: 1.0, 12: 4.68 / 12}
    answer = predict_named(database_of_times(curves, threads), "compression", "large", (1, 12, 288))
    assert answer.time_s[2] < answer.time_s[0]


def test_more_threads_are_asked_for_than_anything_has(small_fleet):
    """The target has two, and the workload was measured with 256 at most."""
    answer = predict_named(small_fleet, "b00", "laptop", (1, 2, 512))
    measured = small_fleet.lookup(small_fleet.platforms.index("laptop"), small_fleet.workloads.index("b00"), 0)
    assert answer.time_s[:2] == pytest.approx(small_fleet.curve(measured)[1], rel=0.1)
    assert np.isfinite(answer.time_s).all()
    assert any("beyond the 2 threads of the target" in warning for warning in answer.warnings)


def test_a_program_that_scales_stops_where_a_gain_is_no_longer_credible(small_fleet):
    """3 % are lost with two threads: nobody can tell whether 256 make it 30 or 170 times as fast."""
    answer = predict_named(small_fleet, "scales", "large")
    best = answer.n[fastest_position(answer.n, answer.time_s, answer.credible_n)]
    assert 4 <= best == answer.credible_n < 256
    assert answer.time_s[-1] > 2 * answer.time_s[0] / 256
    assert answer.high_s[-1] / answer.low_s[-1] > 4


def test_what_a_full_machine_costs_is_not_taken_for_a_serial_part():
    """A program was measured alone and on all eight threads of a reference, half of which share a core: on a machine of
    64 times as many threads it loses as much as there, and not what a serial part would cost."""
    rng = np.random.default_rng(4)
    threads = {"small": 8, "large": 512}
    curves = {}
    for b in range(12):
        seconds, loss = np.exp(rng.normal()), rng.uniform(0.2, 0.5)
        for platform, most in threads.items():
            curves[platform, f"copy-{b:02}"] = {1: seconds, most: seconds / most * np.exp(loss)}
    curves["small", "program"] = {1: 1.0, 8: np.exp(0.45) / 8}
    database = database_of_times(curves, threads, n_ht=[256.0, 4.0])
    answer = predict_named(database, "program", "large", (1, 512))
    assert answer.time_s[1] / answer.time_s[0] * 512 == pytest.approx(np.exp(0.45), rel=0.25)


@pytest.mark.parametrize(("counts", "loss"), [((4, 32, 128), np.log(4.0)), ((128, 32, 4), -np.log(16.0))])
def test_half_of_the_loss_beyond_the_measured_counts_is_the_machines(counts, loss):
    """All programs of a machine gain nothing beyond eight threads. A program without a serial part that was measured
    with four is predicted with 128 to lose half of that, in logarithms; downwards, all of it was lost."""
    curves = {("large", f"b{b:02}"): {n: 1.0 / min(n, 8) for n in (1, 2, 4, 8, 128)} for b in range(12)}
    database, n = database_of_times(curves, {"large": 128}), np.array(counts)
    courses = courses_on_platform(database, 0, np.arange(12), n, np.zeros(12), part="all")
    ideal = 12 + np.flatnonzero(([0.0, 0.0, np.inf] == scaling_laws()[1:4].T).all(axis=1))[0]
    assert courses[-1, ideal] == pytest.approx(loss)


def on_one_core(cores, gain):
    """A program that two threads of the small machine speed up by `gain`, predicted on 64 threads. No companion tells:
    they ran with one thread."""
    curves = {(platform, name): {1: 1.0} for platform in ("large", "small") for name in ("one", "other")}
    curves["small", "program"] = {1: 1.0, 2: 1.0 / gain}
    tables = {"platform_table": {"physical_cores": cores, "threads": [64, 2]}}
    return predict_named(database_of_times(curves, {"large": 64, "small": 2}, **tables), "program", "large", (1, 64))


@pytest.mark.parametrize(("cores", "least", "most"), [([32, 1], 10.0, 64.0), ([np.nan, np.nan], 0.0, 5.0)])
def test_two_threads_of_one_core_say_nothing_of_a_serial_part(cores, least, most):
    """Where the machine says that it has one core, and nobody where its second threads begin."""
    answer = on_one_core(cores, 1.25)
    assert least <= answer.time_s[0] / answer.time_s[1] <= most


@pytest.mark.parametrize(("cores", "is_serial"), [([32, 1], False), ([64, 2], True)])
def test_no_gain_by_two_threads_is_serial_where_they_have_a_core_each(cores, is_serial):
    """With the two threads of one core it may also be a program that keeps the core busy with one: the interval has
    both, and nobody is promised a gain."""
    answer = on_one_core(cores, 1.0)
    assert answer.credible_n <= 2
    assert answer.high_s[1] > answer.time_s[0]
    assert (answer.time_s[1] / answer.time_s[0] > 0.95) == is_serial
    assert (answer.low_s[1] < 1.0 / 16) != is_serial


def test_intervals_widen_as_the_data_leave_room(small_fleet):
    answer = predict_named(small_fleet, "scales", "large", (2, 4, 8, 16, 32, 64, 128, 256))
    widths = np.log(answer.high_s / answer.low_s)
    assert (np.diff(widths) > 0).all()


@pytest.mark.parametrize("workload", ["serial", "slows", "scales"])
def test_estimates_stop_where_answers_do(small_fleet, workload):
    targets = np.array([small_fleet.platforms.index(name) for name in ("middle", "large", "twin")])
    found = estimates_of(small_fleet, small_fleet.workloads.index(workload), targets)
    for target, n, time_s, is_limited in zip(targets, found.n, found.time_s, found.is_limited, strict=True):
        answer = predict_named(small_fleet, workload, small_fleet.platforms[target])
        best = fastest_position(answer.n, answer.time_s, answer.credible_n)
        assert is_limited == (n < small_fleet.n_max[target])
        assert answer.n[best] / 2 <= n <= 2 * answer.n[best]
        assert abs(np.log(time_s / answer.time_s[best])) < 0.6


def test_what_the_target_measured_of_the_workload_changes_nothing(small_fleet):
    """Absurd times of the very pair, at more threads than anywhere else."""
    planted = fleet(planted={1: 1e9, 64: 1e-9})
    target, workload = planted.platforms.index("large"), planted.workloads.index("scales")
    times = [predict_named(each, "scales", "large").time_s for each in (planted, small_fleet)]
    np.testing.assert_allclose(*times, rtol=1e-9)
    found, expected = (estimates_of(each, workload, np.array([target])) for each in (planted, small_fleet))
    assert found.n.tolist() == expected.n.tolist()
    assert found.time_s == pytest.approx(expected.time_s, rel=1e-9)


def test_a_gain_is_credible_where_nine_of_ten_courses_have_it():
    """Nine courses scale ideally, the tenth no further than to two threads."""
    n = np.array([1, 2, 4])
    curves = np.zeros((3, 10))
    curves[2, 0] = np.log(2)
    weights = np.full((3, 10), 0.1)
    growth = Growth(n, np.zeros(3), np.zeros(3), curves, weights)
    assert growth.credible_n(0.0) == 4
    curves[2, 1] = np.log(2)
    assert growth.credible_n(0.0) == 2
    assert growth.credible_n(-np.log(8)) == 1  # a measured n is faster than all of them


# --- Programs of which the simulator knows the truth ---

KIB, MIB = 1 << 10, 1 << 20
COMPUTE = Kernel(loads=0.2, stores=0.05, vector=0.5, accesses=(Access(0.5, 16 * KIB, "private"),))
STREAM = Kernel(loads=0.35, stores=0.15, vector=0.7, parallel=4.0, accesses=(Access(1.0, 256 * MIB, parallel=10),))
WORK = 2e7  # instructions
MACHINES = ("Xeon E5-2680", "Xeon E5-2630 v3", "Opteron 6172", "i7-4771", "i9-9900K")


def program(name, *phases):
    return Program("case", name, "domain_decomposition", None, name, phases)


def shared_cache(size):
    return Kernel(loads=0.4, stores=0.1, accesses=(Access(0.06, size * MIB, "divided", 64, 4.0),))


def with_serial_part(share, kernel=COMPUTE):
    return Phase(share * WORK, kernel, Serial()), Phase((1 - share) * WORK, kernel, StaticLoop())


CASES = {
    "serial": program("serial", Phase(WORK, COMPUTE, Serial())),
    "saturating": program("saturating", *with_serial_part(0.2)),
    "slowing": program("slowing", Phase(WORK, COMPUTE, StaticLoop(critical=Critical(0.5, 1, 20)))),
    "super-linear": program("super-linear", Phase(WORK, shared_cache(3), StaticLoop())),
    "memory-bound": program("memory-bound", Phase(WORK, STREAM, StaticLoop())),
}
OTHERS = [
    *(program(f"part-{share}", *with_serial_part(share)) for share in (0.0, 0.01, 0.03, 0.06, 0.1)),
    *(program(f"stream-{share}", *with_serial_part(share, STREAM)) for share in (0.005, 0.02, 0.05)),
    *(program(f"cache-{size}", Phase(WORK, shared_cache(size), StaticLoop())) for size in (1, 2, 8)),
    *(
        program(f"lock-{share}", Phase(WORK, COMPUTE, StaticLoop(critical=Critical(share, 4, 20))))
        for share in (0.02, 0.1)
    ),
]


def simulated_curve(hardware, each, counts):
    rng, costs = np.random.default_rng(1), {}
    return {n: execute(hardware, each, n, rng, costs=costs).time_ns / 1e9 for n in counts}


@pytest.fixture(scope="module")
def simulated():
    """All programs on all machines, the cases up to four threads but on the target, which has 24 to 32 of them; and
    what the cases take there."""
    target, curves, n_max, truth = "Xeon E5-2680", {}, {}, {}
    for name in MACHINES:
        hardware = find_hardware(name)
        n_max[name] = hardware.threads
        counts = [n for n in (1, 2, 3, 4, 8, 16, 24, 32) if n <= hardware.threads]
        for each in OTHERS:
            curves[name, each.section] = simulated_curve(hardware, each, counts)
        for case, each in CASES.items():
            curve = simulated_curve(hardware, each, counts if name == target else counts[:4])
            if name == target:
                truth[case] = curve
            else:
                curves[name, case] = curve
    return database_of_times(curves, n_max), target, truth


@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_how_programs_of_the_simulator_go_on(simulated, case):
    """Where four threads show what limits a program; nearly always, as nine of ten times are to be held."""
    database, target, truth = simulated
    n = np.array([each for each in truth[case] if each >= 4])
    answer = predict_named(database, case, target, tuple(n.tolist()))
    growth = np.log([truth[case][each] / truth[case][4] for each in n.tolist()])
    missed = np.abs(np.log(answer.time_s / answer.time_s[0]) - growth)
    assert (missed <= np.log(answer.high_s / answer.low_s) / 2).mean() >= 0.8


def test_serial_slowing_and_saturating_programs_of_the_simulator_are_not_taken_to_scale(simulated):
    database, target, truth = simulated
    for case in ("serial", "slowing"):
        answer = predict_named(database, case, target)
        assert answer.n[fastest_position(answer.n, answer.time_s, answer.credible_n)] <= 4
    serial, saturating = (predict_named(database, case, target, (1, 32)).time_s for case in ("serial", "saturating"))
    assert serial[1] / serial[0] == pytest.approx(truth["serial"][32] / truth["serial"][1], rel=0.2)
    assert saturating[0] / saturating[1] < 2.5 * truth["saturating"][1] / truth["saturating"][32]
