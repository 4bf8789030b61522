"""The glossary: the words and symbols on the pages, each explained once, for `/glossary/` and links to it.

Numbers of equations and tables are those of Arndt et al., "Multicore Performance Prediction with MPET" (2020).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Term:
    """A term of the glossary.

    `spellings` are other names on the pages, such as "R(n)" for "R". `picture` is the name of its drawing, or "".
    """

    slug: str
    name: str
    text: str
    symbol: str = ""
    unit: str = ""
    equation: str = ""
    picture: str = ""
    spellings: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Return the first sentence of the text, which links show as a tooltip.

        >>> Term("n", "threads", "How many threads run. One is the least.").summary
        'How many threads run.'
        """
        return re.split(r"(?<=\.) (?=[A-Z])", self.text, maxsplit=1)[0]

    @property
    def drawing(self) -> str:
        """Return the template of the drawing, or ""."""
        return f"glossary/{self.picture}.svg" if self.picture else ""


@dataclass(frozen=True)
class TermGroup:
    slug: str
    title: str
    terms: tuple[Term, ...]


THREAD_TIME_SHARE = "share of the thread time n·t(n), from 0 to 1"

DATABASE_TERMS = (
    Term(
        "platform",
        "machine",
        "One computer as it was measured: its processor, its sockets, cores and threads, its clocks and caches. Two "
        "computers with the same processor are two machines if anything else that affects their speed differs. The API"
        " calls it a platform.",
        spellings=("platform",),
    ),
    Term(
        "workload",
        "workload",
        "One parallel section of one program, with one input, one version and one runtime. A program with three "
        "parallel sections is three workloads.",
    ),
    Term(
        "run",
        "run",
        "One execution of a workload on a machine with n threads. A clean run gives the wall time alone; a profile run"
        " also gives the time breakdown of the threads.",
    ),
    Term(
        "profile",
        "profile",
        "All runs of one workload on one machine, from one source. It is the unit of this database: it has a scaling "
        "curve and a feature vector.",
        spellings=("profiles",),
    ),
    Term(
        "time-breakdown",
        "time breakdown",
        "How the thread time of a profile divides into useful work and six losses. It needs profile runs; a profile "
        "without them is time-only: it has wall times alone.",
        equation="Table 1",
        spellings=("decomposed",),
    ),
    Term(
        "origin",
        "origin: measured, simulated, emulated",
        "Where the numbers of a profile come from. Measured ones were taken on the machine. Simulated ones come from a "
        "model of the machine and carry a badge everywhere. Emulated ones come from an emulator of a foreign "
        "instruction set; no prediction uses them.",
        spellings=("simulated", "measured", "origin"),
    ),
    Term(
        "revision",
        "revision",
        "A number that rises whenever the profiles that predictions may use change. A stored prediction names its own.",
    ),
)

SCALING_TERMS = (
    Term(
        "n",
        "number of threads",
        "How many software threads a run uses, one on each hardware thread.",
        symbol="n",
        unit="threads",
        spellings=("threads n", "threads", "thread counts"),
    ),
    Term(
        "t",
        "wall time",
        "How long a run takes from its first to its last instruction, with n threads. A profile holds the median of "
        "its repeats; t(1) is the time of one thread.",
        symbol="t(n)",
        unit="s, or an unknown unit where a dataset gives ratios alone",
        equation="Eq. 2 and 3",
        spellings=("t(1)", "time", "wall time"),
    ),
    Term(
        "thread-time",
        "thread time",
        "The total time of all threads: n threads for t(n) seconds each. It is the cost of a run where cores are paid "
        "by the second.",
        symbol="n·t(n)",
        unit="s",
        equation="Table 1",
        spellings=("cost per core",),
    ),
    Term(
        "speedup",
        "speedup",
        "How many times faster n threads are than one: t(1)/t(n). The ideal speedup is n.",
        symbol="S(n)",
        unit="ratio",
        picture="speedup",
        spellings=("S",),
    ),
    Term(
        "efficiency",
        "parallel efficiency",
        "The share of the ideal speedup that is reached: S(n)/n. POP calls it the global efficiency.",
        symbol="S(n)/n",
        unit="ratio or %",
        spellings=("efficiency",),
    ),
    Term(
        "scaling-curve",
        "scaling curve",
        "A quantity of a profile over the number of threads: the time, the redundancy, one of the six losses, or a "
        "ratio of hardware counters.",
        equation="Eq. 5",
        spellings=("scaling", "curve"),
    ),
    Term(
        "slope",
        "slope and offset of a fit",
        "The two numbers of the straight line that is fitted to a scaling curve: p(n) = m·g(n) + b. The slope m is the"
        " rise of the curve per thread; b is the offset, the value at n = 0. m_nu and b_nu are added beyond n_nu "
        "threads, m_ht and b_ht beyond n_ht. g(n) is n; for the task distribution it is n(n + 1)/2.",
        symbol="m, b",
        unit="the curve's own, m per thread",
        equation="Eq. 5 to 7",
        picture="breakpoints",
        spellings=("m", "b", "m_nu", "b_nu", "m_ht", "b_ht", "g(n)", "p(n)"),
    ),
    Term(
        "n_nu",
        "NUMA breakpoint",
        "The number of threads up to which one NUMA node is enough. With more, threads of different nodes share data "
        "over a slower link, and the curves bend. A machine with one node has none.",
        symbol="n_nu",
        unit="threads",
        equation="Eq. 6",
        picture="breakpoints",
    ),
    Term(
        "n_ht",
        "SMT breakpoint",
        "The number of threads up to which each has a core of its own. With more, SMT threads share cores, and the "
        "curves bend. A machine without SMT has none.",
        symbol="n_ht",
        unit="threads",
        equation="Eq. 7",
        picture="breakpoints",
    ),
    Term(
        "n_max",
        "hardware threads",
        "How many threads the machine runs at the same time.",
        symbol="n_max",
        unit="threads",
    ),
    Term(
        "smt",
        "SMT threads",
        "Hardware threads that share one core: Intel calls them hyperthreads. Two of them on one core do more "
        "than one, and less than two cores.",
        spellings=("SMT",),
    ),
    Term(
        "disturbed",
        "disturbed run",
        "A run during which other programs, or other guests of a virtual machine's host, took processor time. The kit "
        "repeats such runs up to three times and keeps the least disturbed; their times are too long by an unknown "
        "amount, so predictions that use them have wider intervals.",
        spellings=("measured under load",),
    ),
    Term(
        "standard-error",
        "standard error of t(n)",
        "The uncertainty of t(n), the median of a few runs, relative to t(n). It is estimated from the scatter of the "
        "repeats over all n together; 90 % of medians are within 1.645 standard errors.",
        unit="%",
    ),
    Term(
        "fit-error",
        "fit error",
        "How far the fitted curves are from the measurements: the mean over n of |t fitted - t| / t, where t fitted is"
        " computed from the fitted curves.",
        unit="%",
        equation="Eq. 3 to 7",
    ),
    Term(
        "residual",
        "residual",
        "How far the measured points of one curve lie from its fit, as the root mean square.",
        unit="the curve's own",
        spellings=("residuals",),
    ),
    Term(
        "feature-vector",
        "feature vector",
        "The 84 fitted numbers of a profile: six of each of its 14 curves. Distances are taken between these vectors. "
        "An unknown element is invalid, not zero.",
        symbol="sc",
        equation="Eq. 8 and 9",
        spellings=("features", "element"),
    ),
    Term(
        "counters",
        "hardware counters",
        "Events that the processor counts while a workload runs. INSTR are instructions, BR branches, BR-M "
        "mispredicted branches, L1-LD and L1-ST loads and stores of the first cache level, L1-LDM and L1-STM those "
        "that miss it, and LLC-LD to LLC-STM the same of the last level. Ratios of them are seven of the scaling "
        "curves.",
        unit="events, or a ratio of two",
        equation="Table 2",
        spellings=(
            "INSTR",
            "BR",
            "BR-M",
            "L1-LD",
            "L1-ST",
            "L1-LDM",
            "L1-STM",
            "LLC-LD",
            "LLC-ST",
            "LLC-LDM",
            "LLC-STM",
        ),
    ),
)

LOSS_TERMS = (
    Term(
        "useful-work",
        "useful work",
        "The part of the thread time in which threads compute what the program is for. Everything else is one of the "
        "six losses.",
        unit="s, or a share of the thread time",
        equation="Table 1",
        picture="useful_work",
    ),
    Term(
        "utilisation",
        "utilisation",
        "The share of the thread time that is useful work: 1 less the six losses. POP calls it the parallel "
        "efficiency. The time follows from it: t(n) = t(1)·R(n) / (n·U(n)).",
        symbol="U(n)",
        unit="share, from 0 to 1",
        equation="Eq. 3 and 4",
        picture="useful_work",
        spellings=("U",),
    ),
    Term(
        "redundancy",
        "redundancy (work inflation)",
        "How much longer n threads together compute than one thread alone does. Above 1 the same work takes more "
        "thread time: memory and caches are slower when shared, or work is done twice. Below 1 it takes less, for "
        "example if the data fits into the caches of many cores.",
        symbol="R(n)",
        unit="ratio",
        equation="Table 1, Eq. 3",
        picture="redundancy",
        spellings=("R", "redundancy", "work inflation"),
    ),
    Term(
        "lock_delay",
        "lock delay",
        "The share of the thread time in which threads wait for locks.",
        symbol="l(n)",
        unit=THREAD_TIME_SHARE,
        equation="Table 1",
        picture="lock_delay",
        spellings=("l", "locks"),
    ),
    Term(
        "work_imbalance",
        "work imbalance",
        "The share of the thread time in which threads are idle because others have more work.",
        symbol="w(n)",
        unit=THREAD_TIME_SHARE,
        equation="Table 1",
        picture="work_imbalance",
        spellings=("w", "imbalance"),
    ),
    Term(
        "task_creation",
        "task creation",
        "The share of the thread time that is spent on creating tasks.",
        symbol="c(n)",
        unit=THREAD_TIME_SHARE,
        equation="Table 1",
        picture="task_creation",
        spellings=("c",),
    ),
    Term(
        "task_distribution",
        "task distribution",
        "The share of the thread time in which threads wait until they get their task; the last thread waits longest.",
        symbol="d(n)",
        unit=THREAD_TIME_SHARE,
        equation="Table 1",
        picture="task_distribution",
        spellings=("d",),
    ),
    Term(
        "task_switching",
        "task switching",
        "The share of the thread time between the end of one task and the start of the next on the same thread.",
        symbol="s(n)",
        unit=THREAD_TIME_SHARE,
        equation="Table 1",
        picture="task_switching",
        spellings=("s",),
    ),
    Term(
        "task_join",
        "task synchronisation (join)",
        "The share of the thread time in which threads wait for each other at the end, after the last task.",
        symbol="j(n)",
        unit=THREAD_TIME_SHARE,
        equation="Table 1",
        picture="task_join",
        spellings=("j", "task join", "task synchronisation"),
    ),
    Term(
        "pop",
        "POP efficiencies",
        "The efficiencies of the POP project. Parallel efficiency is U(n), computation scaling is 1/R(n), and their "
        "product is the global efficiency S(n)/n.",
        unit="%",
        equation="Eq. 3",
        spellings=("computation scaling", "1/R(n)"),
    ),
    Term(
        "bound",
        "memory-bound, communication-bound, computation-bound",
        "What keeps a workload from being faster with more threads: the memory's bandwidth, the exchange between "
        "threads, or the cores themselves.",
    ),
    Term(
        "roofline",
        "roofline",
        "The highest performance that a machine reaches: limited by memory bandwidth for programs that move much data,"
        " by arithmetic for those that compute much on little data.",
        unit="flop/s over flop/byte",
    ),
    Term(
        "core-to-core-latency",
        "core-to-core latency",
        "How long a core waits for a cache line that another core wrote last.",
        unit="ns",
        spellings=("lock-transfer latency",),
    ),
    Term(
        "penalty",
        "parallel penalty",
        "How much longer a run takes than an even share of the work of one thread: t(n) - t(1)/n.",
        symbol="A(n)",
        unit="s",
    ),
    Term(
        "serial-fraction",
        "serial fraction",
        "The share of the work that only one thread can do, as Karp and Flatt read it from a measured speedup: "
        "(1/S(n) - 1/n) / (1 - 1/n).",
        symbol="f(n)",
        unit="%",
    ),
)

LIKENESS_TERMS = (
    Term(
        "distance",
        "distance of two profiles",
        "How differently two profiles behave: 0 is equal, 1 is the largest difference that the database allows. It is "
        "the root mean square of the differences of their feature vectors, each element first brought to the range "
        "from 0 to 1.",
        symbol="D",
        unit="from 0 to 1",
        equation="Eq. 10 to 15",
        spellings=("distances",),
    ),
    Term(
        "d_a",
        "distance of two workloads",
        "How differently two workloads behave on the same machine. The mean distance is taken over all machines that "
        "have profiles of both.",
        symbol="D_a",
        unit="from 0 to 1",
        equation="Eq. 16 and 18",
        picture="distances",
        spellings=("distance of workloads", "workload distance D_a"),
    ),
    Term(
        "d_p",
        "distance of two machines",
        "How differently the same workload behaves on two machines. The mean distance is taken over all workloads "
        "that have profiles on both.",
        symbol="D_p",
        unit="from 0 to 1",
        equation="Eq. 17 and 19",
        picture="distances",
        spellings=("distance of machines",),
    ),
    Term(
        "d_t",
        "tuple distance",
        "Both distances in one number: 1 - (1 - D_p)·(1 - D_a). A candidate is near if both its machine and its "
        "workload are.",
        symbol="D_t",
        unit="from 0 to 1",
        equation="Eq. 20",
        picture="distances",
        spellings=("of both", "tuple distance"),
    ),
)

PREDICTION_TERMS = (
    Term(
        "target",
        "target",
        "The machine for which a workload is predicted. It was measured with other workloads.",
        symbol="T",
        picture="candidates",
    ),
    Term(
        "reference",
        "reference machine",
        "A machine on which the workload was measured. Its measurements are transferred to the target.",
        symbol="P",
        picture="candidates",
        spellings=("references", "reference machines", "reference"),
    ),
    Term(
        "candidate",
        "candidate",
        "A reference machine together with a benchmark: another workload that was measured on the reference and on the"
        " target. The workload is assumed to change from the reference to the target as the benchmark does.",
        equation="Eq. 20 to 23",
        picture="candidates",
        spellings=("candidates",),
    ),
    Term(
        "benchmark",
        "benchmark",
        "A workload whose profiles on the target and on a reference are used to predict another workload.",
        symbol="B",
        picture="candidates",
    ),
    Term(
        "weight",
        "weight",
        "How much a candidate counts in a prediction: the nearer it is, the more.",
        symbol="r",
        unit="share of the sum of all weights",
        equation="Eq. 22 and 23",
    ),
    Term(
        "attribution",
        "attribution",
        "The references, benchmarks and elements of the feature vector that determine a prediction: their share of the"
        " weight, and by how much the predicted time would change without each.",
        unit="%",
    ),
    Term(
        "scenario",
        "scenario",
        "What a prediction is asked for: the time of one thread, the scaling, both, a program that is not parallel "
        "yet, or a changed workload or machine.",
        equation="Table 3",
    ),
    Term(
        "method",
        "method",
        "The rule by which a prediction is made. mpet is the default; mpet2020 is the method of the paper; the others "
        "are baselines to compare with.",
    ),
)

TRUST_TERMS = (
    Term(
        "interval",
        "prediction interval",
        "The range from low to high in which the measured time is expected. A 90 % interval is made to hold 90 of 100 "
        "measurements.",
        unit="s, or ± %",
        picture="interval",
        spellings=("interval", "low", "high"),
    ),
    Term(
        "confidence",
        "confidence",
        "The width of the interval in one word: high up to ±10 %, medium up to ±25 %, low beyond. Facts that the "
        "interval cannot include lower it, and are listed.",
        picture="interval",
    ),
    Term(
        "coverage",
        "coverage",
        "The share of measured times that lie inside their prediction intervals. For 90 % intervals it should be 90 %.",
        unit="%",
        spellings=("intervals cover", "inside the interval", "inside"),
    ),
    Term(
        "error",
        "prediction error",
        "How far a prediction is from the measurement: the mean over the measured n of |predicted - measured| / "
        "measured. Where the known times are simulated it is the error against the simulation.",
        unit="%",
        spellings=("mean error", "error"),
    ),
    Term(
        "bias",
        "bias",
        "The mean signed error: above 0 the method predicts times that are too long, below 0 too short.",
        unit="%",
    ),
    Term(
        "percentile",
        "percentile",
        "The error below which that share of the predictions lies: 95 % of them for p95. The median is p50.",
        unit="%",
        spellings=("p70", "p80", "p95", "70 %", "80 %", "95 %", "median"),
    ),
    Term(
        "advised-n",
        "advised threads",
        "The number of threads with the least predicted time; of those within 0.5 % of it, the smallest. The answer "
        "states how probable it is that this number is within 5 % of the fastest.",
        spellings=("advised n", "advised thread count"),
    ),
    Term(
        "validated",
        "validated prediction",
        "A prediction whose workload was later measured on its target. The prediction is stored unchanged; the "
        "measurement gives its error.",
        spellings=("settled", "settlement", "validated predictions"),
    ),
    Term(
        "track-record",
        "track record",
        "The errors of the validated predictions that were made before the pair was measured.",
        unit="%",
    ),
    Term(
        "baseline",
        "baseline",
        "What something is compared with. Among methods it is a simple one such as Amdahl's law or the nearest "
        "neighbour; in a what-if it is the workload and the machine without the changes.",
        spellings=("baselines",),
    ),
    Term(
        "holdout",
        "holdout",
        "What is hidden from a method while it is tested: the pair alone, every machine with the same processor model,"
        " or more. The stricter the holdout, the less similar to the target the remaining profiles are.",
        spellings=("hidden",),
    ),
    Term(
        "leave-one-out",
        "leave-one-out",
        "A test in which each known profile in turn is hidden and predicted from the others.",
    ),
    Term(
        "refused",
        "refused",
        "A prediction that a method did not make, because the database has too few measurements for it.",
    ),
    Term(
        "outlier",
        "outlier",
        "A profile that contradicts the others of its workload and machine. It is shown with the reasons, and no "
        "prediction uses it.",
        spellings=("outliers",),
    ),
    Term("wins", "wins", "On how many of the compared workloads a machine is the fastest."),
)

TERM_GROUPS = (
    TermGroup("database", "What the database holds", DATABASE_TERMS),
    TermGroup("scaling", "How a workload scales", SCALING_TERMS),
    TermGroup("losses", "Where the threads’ time goes", LOSS_TERMS),
    TermGroup("likeness", "How similar two profiles are", LIKENESS_TERMS),
    TermGroup("prediction", "How a prediction is made", PREDICTION_TERMS),
    TermGroup("trust", "How accurate it is", TRUST_TERMS),
)
# The documentation of each group, and of the terms that are documented elsewhere.
READING = {
    "database": "concepts.md",
    "time-breakdown": "method-scaling.md#1-from-runs-to-curves-table-1-runspy",
    "scaling": "method-scaling.md#1-from-runs-to-curves-table-1-runspy",
    **dict.fromkeys(
        ("scaling-curve", "slope", "n_nu", "n_ht", "fit-error", "residual"),
        "method-scaling.md#2-the-curve-model-eq-5-7-featurespy",
    ),
    "feature-vector": "method-scaling.md#3-the-feature-vector-eq-8-9-featurespy",
    "disturbed": "kit.md#what-can-go-wrong",
    "losses": "tutorial/2-profile.md",
    **dict.fromkeys(("bound", "roofline", "core-to-core-latency"), "limits.md#what-is-meant"),
    **dict.fromkeys(("penalty", "serial-fraction"), "scaling-models.md"),
    "likeness": "method.md#2-distances-eq-10-20-normalisepy-distancepy",
    "prediction": "how-it-works.md",
    "candidate": "method.md#3-candidates-candidatespy",
    "weight": "method.md#4-interpolation-eq-21-23-interpolatepy",
    "attribution": "why.md#attribution",
    "scenario": "scenarios.md",
    "method": "method-mpet.md",
    "trust": "accuracy.md#how-it-is-measured",
    **dict.fromkeys(("interval", "coverage"), "method-mpet.md#intervals"),
    "confidence": "decisions/prediction-confidence.md",
    **dict.fromkeys(("validated", "track-record"), "why.md#track-record"),
    "baseline": "baselines.md",
    "advised-n": "accuracy/advice.md",
    "refused": "api.md#what-is-possible",
    "outlier": "why.md#outliers",
    "wins": "baselines.md",
}
TERMS = tuple(term for group in TERM_GROUPS for term in group.terms)
TERM_BY_SLUG = {term.slug: term for term in TERMS}


@cache
def _by_spelling() -> dict[str, Term]:
    """Map each spelling to its term. A name has priority over a spelling, and an earlier term over a later one."""
    spelled: dict[str, Term] = {}
    for term in TERMS:
        for words in (term.symbol, term.name, term.slug.replace("_", " ")):
            spelled.setdefault(_plain(words), term)
    for term in TERMS:
        for words in term.spellings:
            spelled.setdefault(_plain(words), term)
    spelled.pop("", None)
    return spelled


def _plain(words: str) -> str:
    """Return the lower case of a word. A symbol keeps its case, because S(n) is not s(n).

    >>> _plain("Work imbalance"), _plain("S(n)"), _plain("D_a")
    ('work imbalance', 'S(n)', 'D_a')
    """
    words = " ".join(words.split())
    return words if len(words.partition("(")[0].partition("_")[0]) <= 1 else words.lower()


def term_of(words: str) -> Term | None:
    """Return the term in the head of a table or the title of a chart, ignoring the unit and text after a comma.

    >>> term_of("Work imbalance (%)").slug, term_of("R(n), fitted").slug, term_of("t(1)").slug
    ('work_imbalance', 'redundancy', 't')
    >>> term_of("Received") is None
    True
    """
    for part in (words, words.partition(",")[0], re.sub(r" \([^)]*\)$", "", words.partition(",")[0])):
        term = _by_spelling().get(_plain(part))
        if term is not None:
            return term
    return None


SYMBOL_PATTERN = re.compile(
    r"(?<![\w.])("
    r"n·t\(n\)|S\(n\)/n|[A-Za-z]\((?:n|1)\)|[mb]_(?:nu|ht)|n_(?:nu|ht|max)|D_[apt]"
    r")(?![\w/])"
)


def terms_in(*texts: str) -> list[Term]:
    """Return the terms of the symbols in the texts, without duplicates, in order of their occurrence.

    >>> [term.slug for term in terms_in("U(n) and 1/R(n)", "time t(n) (s)")]
    ['utilisation', 'redundancy', 't']
    """
    terms = (term_of(symbol) for text in texts for symbol in SYMBOL_PATTERN.findall(text))
    return list(dict.fromkeys(term for term in terms if term is not None))
