"""Virtual platforms: a known platform with other breakpoints, more threads or another clock (scenario 6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predictor.core.answers import LOW, MEDIUM, Answer, answered_thread_counts, is_decomposed, refit_features
from predictor.core.arrays import sampled
from predictor.core.curves import evaluated_curves, share_evaluated_curves
from predictor.core.database import Database
from predictor.core.errors import PredictionError
from predictor.core.metadata import platform_metadata, smt_begins
from predictor.core.reconstruct import consistent_curves, log_shares
from predictor.core.scenarios.pieces import LOG_ROWS, Piece, cut_piece, mean_piece, move_pieces, unchanged_until
from predictor.core.scenarios.scenario import PlatformTopology, ScenarioQuery
from profiles.arrays import FloatArray, IntArray
from profiles.scaling.features import evaluate_curves
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FRACTIONS, GAUSSIAN_SUM, RELATIVE_MEASURES
from profiles.scaling.runs import LEAST_REDUNDANCY, reconstruct

SEGMENTS = ("one NUMA node", "further NUMA nodes", "SMT threads")
SEGMENT_ELEMENTS = (slice(0, 2), slice(2, 4), slice(4, 6))  # the elements of each segment
WIDENING_BEYOND_SEGMENT = 0.2  # of ln t per ln n by which a segment is longer; an assumption, not calibrated
# The exponent of the clock ratio in the time, and a sentence, by the workload's bound.
CLOCK_EFFECTS = {
    "computation": (1.0, "computation-bound: its time changes in proportion"),
    "memory": (0.0, "memory-bound: its time does not change"),
}
HALF_FOLLOWS_CLOCK = (
    0.5,
    "of unknown bound: its time is half way between no change and a change in proportion; the interval has both",
)
NUMA, HYPERTHREADS = 1, 2
LEAST_PAIRS, MOST_WORKLOADS = 10, 48  # of machines of one CPU model, and of workloads that are compared on them


NO_SCALING = "breakpoints cannot be moved: no scaling of the workload is known on this machine"


class UnknownEffect(PredictionError):
    """The changed platform has an effect that is unknown for this workload."""

    lacks = "change"


def move_platform(
    database: Database,
    query: ScenarioQuery,
    answer: Answer,
    old: PlatformTopology,
    new: PlatformTopology,
    *,
    n: IntArray,
    bound: str | None,
) -> Answer:
    """Return the answer for a platform with other breakpoints, at thread counts `n` (K,).

    The behaviour of a segment after its breakpoint is moved to the new breakpoint: by the elements of the curve model
    for a method that predicts elements (`move_elements`), else by the curves themselves (`pieces.move_pieces`). Up to
    the first moved breakpoint nothing changes. Effects that the platform lacks are means over the workload's other
    profiles. The clock changes times according to the workload's bound.

    Parameters: `answer` at least at the `source_counts` of `n`; `bound` memory | communication | computation, None =
    unknown. Returns the answer at `n`. Its interval has the width in ln t of the interval at the source n, plus 0.2 on
    both sides for each ln n between source and n. Raises UnknownEffect for an effect that is unknown.
    """
    scaling = answer.features[0:2] if query.predicts_elements else answer.time_s
    if np.isnan(scaling).any() and old.n_max > 1:
        raise UnknownEffect(NO_SCALING)
    # Find the segments that the new platform has below the largest n and the old one lacks.
    begun = [segment for segment in (NUMA, HYPERTHREADS) if new.starts[segment] < n.max()]
    lacking = [segment for segment in begun if old.starts[segment] >= old.n_max]
    if query.predicts_elements:
        borrowed = borrowed_elements(database, query, decomposed=is_decomposed(answer))
        moved = move_elements(answer, old, new, n, _add_borrowed_elements(answer, lacking, borrowed))
    else:
        pieces = {segment: borrowed_piece(database, query, segment, answer) for segment in lacking}
        moved = move_pieces(answer, old, new, n, pieces)
    sentences, lowered = _sentences(old, new)
    longer = longer_segments(n, old, new)
    if len(longer):
        lowered.append((LOW, f"beyond n = {int(longer.min()) - 1} a measured slope is extrapolated"))
    moved = replace(
        _move_interval(answer, moved, source_counts(n, old, new)),
        changes=(*answer.changes, *sentences),
        lowered=(*answer.lowered, *lowered),
    )
    return refit_features(_change_clock(moved, old, new, bound), *_bends(new))


def continue_on_platform(
    known: Answer, further: Answer, old: PlatformTopology, new: PlatformTopology, *, bound: str | None
) -> Answer:
    """Return the answer for a platform with more threads in a segment: `known` and, beyond its largest n, `further`
    times the ratio of both there.

    Parameters: `known`, the answer for the platform at the n at which it does not change (`known_until`); `further`,
    the answer for the `changed_database` from the largest of these n on. Both have an interval, or none has.
    """
    if np.isnan(further.time_s).any():
        raise UnknownEffect(NO_SCALING)
    until, ratio = int(known.n[-1]), known.time_s[-1] / further.time_s[0]

    def joined(before: FloatArray, after: FloatArray) -> FloatArray:
        return np.append(before, after[1:])

    n, time_s = np.append(known.n, further.n[1:]), joined(known.time_s, further.time_s * ratio)
    shares = {name: joined(known.curves[name], further.curves[name]) for name in (*FRACTIONS, *RELATIVE_MEASURES)}
    fractions = {name: shares.pop(name) for name in FRACTIONS} if is_decomposed(known) else {}
    sentences, lowered = _sentences(old, new, is_moved=False)
    lowered.append((LOW, f"beyond n = {until} only other machines show the effect of more threads"))
    answer = replace(
        further,
        t1_s=known.t1_s,
        n=n,
        time_s=time_s,
        curves=consistent_curves(n, time_s, known.t1_s, fractions) | shares,
        changes=(*known.changes, *sentences),
        lowered=(*known.lowered, *lowered),
    )
    if known.low_s is not None and further.low_s is not None:
        answer = replace(answer, low_s=joined(known.low_s, further.low_s * ratio))
    if known.high_s is not None and further.high_s is not None:
        answer = replace(answer, high_s=joined(known.high_s, further.high_s * ratio))
    return refit_features(_change_clock(answer, old, new, bound), *_bends(new))


def known_until(database: Database, platform: int, old: PlatformTopology, new: PlatformTopology) -> int:
    """Return the largest n measured on the platform at which it does not change; if there is none, the largest n at all
    at which it does not.

    If n_ht is unknown and the platform has more threads than cores, more threads mean more cores: its cores have a
    second thread from the number of cores on.
    """
    until, begins = unchanged_until(old, new), smt_begins(database, platform)
    if np.isnan(old.n_ht) and begins < old.n_max < new.n_max:
        until = min(until, begins)
    measured = [database.curve(row)[0] for row in database.rows_of_platform(platform).tolist()]
    counts = np.concatenate([*measured, [0]])
    return int(counts[counts <= until].max() or until)


def widen_by_relatives(answer: Answer, database: Database, query: ScenarioQuery) -> Answer:
    """Return the answer with its interval widened by the differences of machines of one CPU model: a machine with more
    threads is another machine, which differs with one thread, too.

        h' = sqrt(h^2 + q^2)

    h is half the interval in ln t on each side, q the quantile `level` of the `differences_of_relatives`: of the
    query's workload or, if fewer than ten pairs of machines have it, of 48 workloads; 0 if there are no pairs.
    """
    if answer.low_s is None or answer.high_s is None:
        return answer
    differences = differences_of_relatives(database, np.array([query.workload]))
    if len(differences) < LEAST_PAIRS:
        differences = differences_of_relatives(database, sampled(np.unique(database.workload_index), MOST_WORKLOADS))
    q = float(np.quantile(differences, query.setting("level", 0.9))) if len(differences) else 0.0
    low, high = (np.exp(np.hypot(np.log(end / answer.time_s), q)) for end in (answer.low_s, answer.high_s))
    return replace(answer, low_s=answer.time_s / low, high_s=answer.time_s * high)


def differences_of_relatives(database: Database, workloads: IntArray) -> FloatArray:
    """Return |ln t - ln t'| for machines of one `cpu_model` with different numbers of threads, for each of the
    workloads, at the least n at which both were measured. Each machine is compared with the next larger one."""
    evaluated = evaluated_curves(database)
    rows = np.concatenate([database.rows_of_workload(workload) for workload in workloads.tolist()])
    platforms = database.platform_index[rows]
    threads, cpu = database.n_max[platforms], platform_metadata(database).cpu[platforms]
    keys = np.stack([threads, cpu, database.group[rows], database.workload_index[rows]])
    order = np.lexsort(keys)
    steps = np.diff(keys[:, order], axis=1)
    smaller = np.flatnonzero((steps[0] > 0) & (steps[1:] == 0).all(axis=0))
    rows = rows[order]
    pairs = rows[smaller], rows[smaller + 1]
    inside = [evaluated.inside[:, evaluated.pattern[of_pair]] for of_pair in pairs]
    both = inside[0] & inside[1]
    least = both.argmax(axis=0)
    differences = np.abs(evaluated.values[least, pairs[0]] - evaluated.values[least, pairs[1]])
    return np.asarray(differences[both.any(axis=0)])


def changed_database(
    database: Database, platform: int, old: PlatformTopology, new: PlatformTopology, until: int
) -> Database:
    """Return the database as if the platform had the new topology, and had been measured with at most `until` threads.

    If n_ht is unknown, each core has as many threads as before. Caches and memory stay: enlarged with the cores, they
    make the platform similar to small ones that were not measured with as many threads, and errors grow by half.
    """
    cores = float(np.asarray(database.platform_table["physical_cores"])[platform]) * new.n_max / old.n_max
    if np.isfinite([old.n_ht, new.n_ht]).any():
        cores = float(np.fmin(new.n_ht, new.n_max))
    changed = database.with_platform(
        platform, until, n_nu=new.n_nu, n_ht=new.n_ht, n_max=new.n_max, physical_cores=cores
    )
    share_evaluated_curves(database, changed, platform)
    return changed


def move_elements(
    answer: Answer, old: PlatformTopology, new: PlatformTopology, n: IntArray, elements: FloatArray
) -> Answer:
    """Return the answer with the breakpoints of its curve model moved (Eq. 5-7).

        p'(n) = p_model'(n) + [p(m) - p_model(m)]    fractions and measures
        R'(n) = R_model'(n) R(m) / R_model(m)

    p_model is the curve model of the answer with the old breakpoints, p_model' the same `elements` (14, 6) with the new
    ones: slope and step of a segment begin at its new breakpoint. m has the same distance from the old breakpoint of
    its segment as n from the new one, and is at most its old end. Thus the residual of the model is moved as well.
    t'(n) follows from Eq. 3-4, and clamps are listed in the warnings.

    Example: R = 1 up to n_ht = 4, then 1 + 0.1 (n - 4): with n_ht = 8, R'(6) = 1 and R'(10) = 1.2.

    Parameters: `answer` at least at the `source_counts` of `n`, times in seconds; `n` (K,). NaN: a curve that the
    answer does not predict. Source: Arndt et al. 2020, Eq. 3-7 and scenario 6; docs/scenarios.md.

    >>> elements = np.full((14, 6), np.nan); elements[0] = 0, 1, 0, 0, 0.1, 0
    >>> n = np.arange(1, 9); r = 1 + 0.1 * np.maximum(n - 4, 0)
    >>> curves = dict.fromkeys(CURVE_NAMES, np.full(8, np.nan)) | {"redundancy": r}
    >>> answer = Answer(8.0, n, 8 * r / n, np.empty(0), curves, [], [])
    >>> old, new = PlatformTopology(np.nan, 4.0, 8), PlatformTopology(np.nan, 8.0, 16)
    >>> move_elements(answer, old, new, np.array([6, 10]), elements).curves["redundancy"].round(9)
    array([1. , 1.2])
    """
    source = source_counts(n, old, new)
    index = np.searchsorted(answer.n, source)
    before = evaluate_curves(elements, source, *_bends(old), GAUSSIAN_SUM)
    after = evaluate_curves(elements, n, *_bends(new), GAUSSIAN_SUM)
    curves = {
        name: np.maximum(answer.curves[name][index] + (after[row] - before[row]), 0.0)
        for row, name in enumerate(CURVE_NAMES)
    }
    # R is moved in proportion or, if the ratio is invalid, taken from the model.
    sound = (before[0] > LEAST_REDUNDANCY) & (after[0] > LEAST_REDUNDANCY)
    scaled = answer.curves["redundancy"][index] * (after[0] / np.where(sound, before[0], 1.0))
    curves["redundancy"] = np.where(sound, scaled, after[0])
    fractions = np.stack([curves[name] for name in FRACTIONS]) if is_decomposed(answer) else None
    rebuilt = reconstruct(answer.t1_s, curves["redundancy"], fractions, n)
    curves["utilisation"] = rebuilt.utilisation
    clamps = [f"clamped to the possible range: {clamp}" for clamp in rebuilt.clamps]
    warnings = [*answer.warnings, *(text for text in clamps if text not in answer.warnings)]
    return replace(answer, n=n, time_s=rebuilt.time_s, curves=curves, warnings=warnings)


def borrowed_elements(database: Database, query: ScenarioQuery, *, decomposed: bool) -> FloatArray:
    """Return the mean of each element over the workload's other profiles, (14, 6), for effects that T lacks. NaN: none
    of them has the element."""
    rows = _other_profiles(database, query, decomposed=decomposed)
    values = database.features[rows].reshape(-1, len(CURVE_NAMES), len(ELEMENTS))
    valid = ~np.isnan(values)
    total = np.where(valid, values, 0.0).sum(axis=0)
    return np.where(valid.any(axis=0), total / np.maximum(valid.sum(axis=0), 1), np.nan)


def borrowed_piece(database: Database, query: ScenarioQuery, segment: int, answer: Answer) -> Piece:
    """Return the mean of the pieces after this breakpoint of the workload's other profiles. Raise UnknownEffect if
    there are none."""
    pieces = []
    for row in _other_profiles(database, query, decomposed=is_decomposed(answer) or None).tolist():
        platform = int(database.platform_index[row])
        start = (0.0, float(database.n_nu[platform]), float(database.n_ht[platform]))[segment]
        counts, time_s = database.curve(row)
        if np.isnan(start) or counts[-1] <= start or counts[0] > start:
            continue
        n = np.union1d(answered_thread_counts(int(counts[-1])), [int(start)])
        logs = np.full((LOG_ROWS, len(n)), np.nan)
        logs[0] = np.interp(np.log(n), np.log(counts), np.log(counts * time_s / database.t1_s[row]))
        logs[1:] = log_shares(database, np.array([[row]]), np.array([platform]), n)[0][0, 0]
        pieces.append(cut_piece(n, logs, int(start), int(counts[-1])))
    if not pieces:
        raise UnknownEffect(
            f"the behaviour of the workload with {SEGMENTS[segment]} is unknown: it was measured with them neither on "
            "this machine nor on a reference"
        )
    return mean_piece(pieces)


def _other_profiles(database: Database, query: ScenarioQuery, *, decomposed: bool | None) -> IntArray:
    """Return the rows of the workload on other platforms: decomposed, time-only, or (None) both."""
    rows = database.without(query.target, query.workload).rows_of_workload(query.workload)
    is_comparable = np.array([decomposed is None or group.decomposed == decomposed for group in database.groups])
    return np.asarray(rows[is_comparable[database.group[rows]]])


def _add_borrowed_elements(answer: Answer, lacking: list[int], borrowed: FloatArray) -> FloatArray:
    """Return the (14, 6) elements of the answer, with those borrowed for segments that the old platform lacks."""
    elements = answer.features.reshape(len(CURVE_NAMES), len(ELEMENTS)).copy()
    for segment in lacking:
        pair = SEGMENT_ELEMENTS[segment]
        if np.isnan(borrowed[0, pair]).all():
            raise UnknownEffect(f"the behaviour of the workload with {SEGMENTS[segment]} is unknown")
        elements[:, pair] = borrowed[:, pair]
    return elements


def source_counts(n: IntArray, old: PlatformTopology, new: PlatformTopology) -> IntArray:
    """Return the thread counts of the old platform with the same distance from their segment's breakpoint, at most its
    end (K,).

    >>> old, new = PlatformTopology(np.nan, 4.0, 8), PlatformTopology(np.nan, 8.0, 32)
    >>> source_counts(np.array([3, 6, 9, 12, 32]), old, new).tolist()
    [3, 4, 5, 8, 8]
    """
    starts = np.array(old.starts)
    order = np.argsort(starts, kind="stable")
    ends = np.empty(3)
    ends[order] = [*np.minimum(starts[order][1:], old.n_max), old.n_max]
    segment = _segment_of_counts(n, new)
    has = starts[segment] < old.n_max
    first = np.where(has, starts[segment], old.n_max)
    moved = np.minimum(first + n - np.array(new.starts)[segment], np.where(has, ends[segment], old.n_max))
    return np.asarray(moved, dtype=np.int64)


def longer_segments(n: IntArray, old: PlatformTopology, new: PlatformTopology) -> IntArray:
    """Return those of the thread counts `n` that are farther behind their segment's breakpoint than any n of the old
    platform, without those in segments that the old platform lacks.

    >>> old, new = PlatformTopology(np.nan, 4.0, 8), PlatformTopology(10.0, 12.0, 18)
    >>> longer_segments(np.array([4, 5, 10, 11, 16, 17]), old, new).tolist()
    [5, 10, 17]
    """
    segment = _segment_of_counts(n, new)
    begins = np.array(old.starts)[segment]
    is_longer = n - np.array(new.starts)[segment] > source_counts(n, old, new) - begins
    return np.asarray(n[is_longer & (begins < old.n_max)])


def _segment_of_counts(n: IntArray, topology: PlatformTopology) -> IntArray:
    """Return the segment of each thread count: that of the last breakpoint before it."""
    starts = np.array(topology.starts)
    begun = np.where(n[:, None] > starts, starts, -1.0)
    return np.asarray(begun.argmax(axis=1))


def _bends(topology: PlatformTopology) -> tuple[float, float]:
    return topology.n_nu, topology.n_ht


def _move_interval(answer: Answer, moved: Answer, source: IntArray) -> Answer:
    if answer.low_s is None or answer.high_s is None:
        return moved
    index = np.searchsorted(answer.n, source)
    wider = np.exp(WIDENING_BEYOND_SEGMENT * np.abs(np.log(moved.n / source)))
    ratio = moved.time_s / answer.time_s[index]
    return replace(moved, low_s=answer.low_s[index] * ratio / wider, high_s=answer.high_s[index] * ratio * wider)


def _change_clock(answer: Answer, old: PlatformTopology, new: PlatformTopology, bound: str | None) -> Answer:
    """Return the answer at another clock: in proportion if the workload is computation-bound, unchanged if it is
    memory-bound.

    If the bound is unknown, the time is in the middle (in ln t), and the interval includes both.
    """
    faster = new.base_mhz / old.base_mhz if new.base_mhz != old.base_mhz else 1.0
    if np.isnan(faster) or faster == 1.0:
        return answer
    exponent, why = CLOCK_EFFECTS.get(bound or "", HALF_FOLLOWS_CLOCK)
    factor = faster**-exponent
    wider = 1.0 if bound in CLOCK_EFFECTS else max(faster, 1 / faster) ** exponent
    sentence = f"clock from {old.base_mhz:g} to {new.base_mhz:g} MHz; the workload is {why}"
    return replace(
        answer,
        t1_s=answer.t1_s * factor,
        time_s=answer.time_s * factor,
        low_s=None if answer.low_s is None else answer.low_s * factor / wider,
        high_s=None if answer.high_s is None else answer.high_s * factor * wider,
        changes=(*answer.changes, sentence),
        lowered=(*answer.lowered, (MEDIUM, "the effect of the clock is estimated from the workload's bound")),
    )


def _sentences(
    old: PlatformTopology, new: PlatformTopology, *, is_moved: bool = True
) -> tuple[list[str], list[tuple[int, str]]]:
    """Return sentences on the change, and reasons that lower the confidence. Without `is_moved`, the effects are those
    of other machines."""
    sentences, lowered = [], list[tuple[int, str]]()
    for name, title, what in (
        ("n_nu", "NUMA breakpoint", "further NUMA nodes"),
        ("n_ht", "SMT breakpoint", "SMT threads"),
    ):
        before, after = getattr(old, name), getattr(new, name)
        if before == after or (np.isnan(before) and np.isnan(after)):
            continue
        if not is_moved:
            sentences.append(f"{title} from {_or_none(before)} to {_or_none(after)}")
        elif np.isnan(after):
            sentences.append(f"no {title} (was {before:g}): no effect of {what}; the curve below it is continued")
        elif after >= new.n_max:
            sentences.append(f"{title} at {after:g}: no thread count is beyond it")
        elif np.isnan(before) or before >= old.n_max:
            sentences.append(f"{title} at {after:g}: the effect of {what} is the mean of that on the references")
            lowered.append((LOW, f"the machine has no {what}: their effect is taken from other machines"))
        else:
            sentences.append(
                f"{title} from {before:g} to {after:g}: the effect of {what} begins there, with the same slopes"
            )
    if new.n_max != old.n_max:
        sentences.append(f"threads from {old.n_max} to {new.n_max}")
    if sentences:
        lowered.append((MEDIUM, "a hypothetical machine: only its topology is known"))
    return sentences, lowered


def _or_none(count: float) -> str:
    return "none" if np.isnan(count) else f"{count:g}"
