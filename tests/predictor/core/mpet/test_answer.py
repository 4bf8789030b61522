"""Between the thread counts that were measured: the curve follows a law, and the interval knows what is open."""

import numpy as np

from tests.predictor.core.curves import database_of_times
from tests.predictor.core.mpet.asking import predict_named

SIZES = {f"machine-{index}": size for index, size in enumerate([8, 16, 32, 64] * 8)}


def measured():
    """{(machine, program): {n: seconds}} at powers of two of 20 programs with serial parts of 0 to 30 %, of which some
    are bound by the memory, on machines whose second threads are worth a quarter of a core."""
    rng = np.random.default_rng(5)
    speed = {machine: rng.uniform(0.5, 2.0) for machine in SIZES}
    times = {}
    for b in range(20):
        serial, limit = rng.choice([0.0, 0.01, 0.05, 0.3]), rng.choice([4.0, np.inf])
        for machine, size in SIZES.items():
            n = 2 ** np.arange(size.bit_length())
            cores = np.minimum(n, size / 2) + 0.25 * np.maximum(n - size / 2, 0)
            time_s = (b + 1) * speed[machine] * (serial + (1 - serial) / np.minimum(cores, limit))
            noise = np.exp(rng.normal(0.0, 0.02, len(n)))
            times[machine, f"program-{b:02}"] = dict(zip(n.tolist(), (time_s * noise).tolist(), strict=True))
    return times


def at_ends(times):
    return {pair: {n: curve[n] for n in (min(curve), max(curve))} for pair, curve in times.items()}


def test_what_was_measured_at_one_and_all_threads_holds_between():
    truth = measured()
    database = database_of_times(at_ends(truth), SIZES)
    errors, is_inside = [], []
    for machine, program in [pair for pair in truth if pair[0] in list(SIZES)[-4:]][::2]:
        n, time_s = (np.array(some[1:-1]) for some in zip(*truth[machine, program].items(), strict=True))
        answer = predict_named(database, program, machine, tuple(n.tolist()))
        errors += np.abs(answer.time_s / time_s - 1.0).tolist()
        is_inside += ((answer.low_s <= time_s) & (time_s <= answer.high_s)).tolist()
    assert np.mean(is_inside) > 0.8
    assert np.mean(errors) < 0.3


def test_where_the_references_were_measured_at_a_count_nothing_is_open():
    """All were run at every power of two, the target's programs at 1 and all threads: its interval stays narrow."""
    times = measured()
    times |= at_ends({pair: curve for pair, curve in times.items() if pair[0] == "machine-31"})
    database = database_of_times(times, SIZES)
    answer = predict_named(database, "program-03", "machine-31", (1, 8, 64))
    widths = np.log(answer.high_s / answer.low_s)
    assert widths[1] < 1.5 * max(widths[0], widths[2])
