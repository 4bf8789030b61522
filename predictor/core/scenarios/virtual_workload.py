"""Virtual workloads: an existing workload with some of its characteristics changed (scenario 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from predictor.core.answers import LOW, MEDIUM, Answer, fractions_of, is_decomposed
from predictor.core.errors import PredictionError
from predictor.core.scenarios.scenario import WorkloadChanges
from profiles.arrays import FloatArray
from profiles.scaling.names import FRACTIONS
from profiles.scaling.runs import LEAST_UTILISATION
from profiles.scaling.wording import whole_percent

GROW_WITH_WORK = ("lock_delay", "work_imbalance", "task_distribution")
MISS_COST = 50.0  # instructions per last-level miss: 200 cycles with fourfold overlap, at one instruction per cycle
WIDENING_OF_CHANGE = 0.25  # of |ln| of the change; an assumption, not calibrated
NEGLIGIBLE_SHARE = 1e-9  # smaller fractions of the thread time count as 0


class UnknownCharacteristic(PredictionError):
    """The predicted profile does not contain the size of the characteristic to be changed."""

    lacks = "change"

    def __init__(self, characteristic: str, reason: str) -> None:
        self.characteristic = characteristic
        super().__init__(f"{characteristic} cannot be changed: {reason}")


@dataclass(frozen=True, eq=False)
class ThreadTime:
    """The time breakdown of n t(n) in seconds: `computing` (J,) and the six `parts` (6, J)."""

    computing: FloatArray
    parts: FloatArray

    @property
    def total(self) -> FloatArray:
        return np.asarray(self.computing + self.parts.sum(axis=0))


def change_workload(answer: Answer, changes: WorkloadChanges, bound: str | None) -> Answer:
    """Return the answer for a workload with these factors on its characteristics (Eq. 3-4).

        n t(n) = C(n) + sum_i P_i(n),    C = t(1) R(n),    P_i = f_i(n) n t(n)
        C' = k_work [C(1) + k_redundancy (C(n) - C(1))] (1 - mu + mu k_memory),    P_i' = k_i [k_work] P_i

    The curves follow from these: t' = (C' + sum P_i') / n, t'(1) likewise, f_i' = P_i' / (n t'), U' = C' / (n t'), R' =
    C' / t'(1), so that U' + sum f_i' = 1 and n t'(n) U'(n) = R'(n) t'(1). k_work applies to the parts of
    GROW_WITH_WORK. mu is the share of computing that waits for memory (`memory_share`). If R < R(1), a large
    k_redundancy could make C' negative, so that the bracket is at least a hundredth of C(1).

    Example: t(1) = 8 s, t(4) = 2.5 s with lock delay 0.2: n t = 10 s, and 2 s of it is lock delay; half of it leaves 9
    s: t'(4) = 2.25 s.

    Parameters: `answer` with n = 1 among its thread counts, in seconds; `bound` memory | communication | computation,
    None = unknown. Returns the changed answer; its interval changes in proportion to t and widens by 0.25 |ln(t'/t)| on
    each side. Its features are not fitted again. NaN stays NaN. Raises UnknownCharacteristic if a part is to be changed
    and the answer is time-only, or if the memory use of the workload is needed and unknown; ValueError without n = 1.
    Source: Arndt et al. 2020, Eq. 3-4 and scenario 5; docs/scenarios.md.

    >>> curves = dict.fromkeys(FRACTIONS, np.zeros(2)) | {"lock_delay": np.array([0.0, 0.2])}
    >>> answer = Answer(8.0, np.array([1, 4]), np.array([8.0, 2.5]), np.empty(0), curves, [], [])
    >>> change_workload(answer, WorkloadChanges.of({"lock_delay": 0.5}), None).time_s.round(9)
    array([8.  , 2.25])
    """
    first = np.flatnonzero(answer.n == 1)
    if not len(first):
        raise ValueError("changes start from n = 1")
    if changes.changed_fractions and not is_decomposed(answer):
        raise UnknownCharacteristic(
            ", ".join(changes.changed_fractions),
            "its share of the time is not known, because the profiles are time-only or the method predicts no time "
            "breakdown",
        )
    if not changes.changed:
        return answer
    before = split_thread_time(answer)
    of_one_thread = before.computing[first]
    computing = of_one_thread + changes.factor("redundancy") * (before.computing - of_one_thread)
    computing = np.maximum(computing, LEAST_UTILISATION * of_one_thread)
    mu, how = memory_share(answer, bound) if changes.factor("memory") != 1 else (np.zeros(len(answer.n)), "")
    work = changes.factor("work")
    computing = work * computing * (1 - mu + mu * changes.factor("memory"))
    factors = [changes.factor(name) * (work if name in GROW_WITH_WORK else 1.0) for name in FRACTIONS]
    after = ThreadTime(computing, before.parts * np.array(factors)[:, None])
    if (after.total <= NEGLIGIBLE_SHARE * before.total).any():
        raise UnknownCharacteristic(", ".join(changes.changed), "no time would be left")
    changed = _rebuild_answer(answer, before, after, int(first[0]))
    if bound == "computation" and changes.factor("memory") > 1 and changed.high_s is not None:
        changed = replace(changed, high_s=np.asarray(changed.high_s * changes.factor("memory")))
    named = ", ".join(name.replace("_", " ") for name in changes.changed)
    lowered = [(MEDIUM, f"a hypothetical workload: {named} changed, everything else kept")]
    if "memory" in changes.changed:
        lowered.append((LOW, "the cost of memory traffic is estimated, not measured"))
    return replace(
        changed, changes=(*answer.changes, *_sentences(answer, changes, how)), lowered=(*answer.lowered, *lowered)
    )


def split_thread_time(answer: Answer) -> ThreadTime:
    """Return the time breakdown of an answer (Eq. 3-4), in thread seconds.

        C(n) = U(n) n t(n),    P_i(n) = f_i(n) n t(n),    U = 1 - sum f_i, at least 0.01

    Example: t(4) = 2.5 s with lock delay 0.2: n t = 10 s, with 8 s of computing and 2 s of lock delay.

    >>> curves = dict.fromkeys(FRACTIONS, np.zeros(2)) | {"lock_delay": np.array([0.0, 0.2])}
    >>> time = split_thread_time(Answer(8.0, np.array([1, 4]), np.array([8.0, 2.5]), np.empty(0), curves, [], []))
    >>> time.computing.tolist(), time.parts[0].round(9).tolist()
    ([8.0, 8.0], [0.0, 2.0])
    """
    total = answer.n * answer.time_s
    fractions = fractions_of(answer)
    used = np.maximum(1.0 - fractions.sum(axis=0), LEAST_UTILISATION)
    # If the fractions are too large, U has its least value as in reconstruction, and the fractions are scaled down.
    fractions = fractions * ((1.0 - used) / np.maximum(fractions.sum(axis=0), NEGLIGIBLE_SHARE))
    return ThreadTime(total * used, fractions * total)


def memory_share(answer: Answer, bound: str | None) -> tuple[FloatArray, str]:
    """Return the share of computing that waits for memory at each n (J,), and a text with its source.

    If counters are predicted: x = MISS_COST * misses of the last level per instruction, mu = x / (1 + x); else by the
    workload's bound: 1 for memory, 0 for computation. Invalid counters at an n are replaced by those at the least n.
    Raise UnknownCharacteristic if neither is known.

    Example: 0.02 misses per instruction, each with the cost of 50 instructions, take as long as the instruction itself:
    mu = 1/2.

    >>> counters = {"L1-LD/INSTR": np.array([0.2]), "L1-LD/LLC-LDM": np.array([10.0])}
    >>> memory_share(Answer(1.0, np.array([1]), np.array([1.0]), np.empty(0), counters, [], []), None)[0]
    array([0.5])
    """
    reads = answer.curves["L1-LD/INSTR"] / answer.curves["L1-LD/LLC-LDM"]
    at_one = reads[answer.n.argmin()]
    if np.isfinite(at_one) and at_one >= 0:
        waiting = MISS_COST * np.where(np.isfinite(reads) & (reads >= 0), reads, at_one)
        mu = waiting / (1.0 + waiting)
        return mu, (
            f"by the last-level misses per instruction, {whole_percent(mu[0])} to {whole_percent(mu[-1])} of computing "
            f"waits for memory (a miss counts as {MISS_COST:g} instructions)"
        )
    if bound == "memory":
        return np.ones(len(answer.n)), "the workload is memory-bound: all of its computing waits for memory"
    if bound == "computation":
        return np.zeros(len(answer.n)), (
            "the workload is computation-bound: its time stays the same; the interval allows for a memory bound"
        )
    raise UnknownCharacteristic(
        "memory", "neither last-level counters nor a memory or computation bound are known for this workload"
    )


def _rebuild_answer(answer: Answer, before: ThreadTime, after: ThreadTime, first: int) -> Answer:
    """Return the answer with the thread time `after` in place of `before`; `first` is the index of n = 1."""
    ratio = after.total / before.total
    t1_s = float(answer.t1_s * ratio[first])
    time_s = answer.time_s * ratio
    widening = np.exp(WIDENING_OF_CHANGE * np.abs(np.log(ratio)))
    curves = dict(answer.curves) | {
        "redundancy": after.computing / t1_s,
        "utilisation": after.computing / after.total,
    }
    if is_decomposed(answer):
        curves |= dict(zip(FRACTIONS, after.parts / after.total, strict=True))
    return replace(
        answer,
        t1_s=t1_s,
        time_s=time_s,
        curves=curves,
        low_s=None if answer.low_s is None else answer.low_s * ratio / widening,
        high_s=None if answer.high_s is None else answer.high_s * ratio * widening,
    )


def _sentences(answer: Answer, changes: WorkloadChanges, memory: str) -> list[str]:
    """Return a sentence for each change, with its effect and its assumptions."""
    sentences = []
    for name in changes.changed:
        factor = changes.factor(name)
        sentence = f"{name.replace('_', ' ')} × {factor:g}"
        if name in FRACTIONS:
            nothing = not (answer.curves[name] > NEGLIGIBLE_SHARE).any()
            sentence += (
                ": the workload has none, so nothing changes"
                if nothing
                else ": its thread time changes by this factor at every n; everything else stays"
            )
        elif name == "redundancy":
            what = "computing" if is_decomposed(answer) else "thread time (time-only profiles: every loss counts)"
            sentence += f": the {what} beyond that of one thread changes by this factor"
        elif name == "memory":
            sentence += f": memory traffic changes by this factor; {memory}"
        else:
            grow = ", ".join(part.replace("_", " ") for part in GROW_WITH_WORK)
            sentence += f": computing, {grow} grow with the work; creating, switching and joining threads stay"
        sentences.append(sentence)
    return sentences
