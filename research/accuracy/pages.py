"""Pages of docs/accuracy/ and tables inside other pages, as Markdown from stored results."""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from predictor.core.methods import METHODS
from research.accuracy.studies import (
    ACCURACY_PAGES,
    CUT_QUESTIONS,
    DIVERSE_DATASETS,
    DIVERSE_QUESTIONS,
    FEW_DATASETS,
    FEW_QUESTIONS,
    HOLDOUT_QUESTIONS,
    LARGE,
    WEIGHTED_DATASETS,
    WEIGHTS_DRAW,
    WHOLE_REPOSITORY,
    WRONG_QUESTIONS,
    BeyondQuestion,
    StoredResult,
    Study,
    StudyQuestion,
    protocol_options,
    published_studies,
    studies_beyond,
)

Results = Mapping[str, StoredResult]

WRITTEN = "<!-- Written by `python -m research accuracy_tables` from research/accuracy/results; do not edit. -->"
NOTHING = "–"
LINE_LENGTH = 120
MEAN_AND_MEDIAN = ("mean", "median")
WITH_TAIL = (*MEAN_AND_MEDIAN, "p95")
QUESTION_TITLES: dict[str, str] = {
    "pair": "pair",
    "cpu_model": "cpu_model",
    "microarchitecture": "microarchitecture",
    "pair-k5": "pair, K=5",
    "microarchitecture-k5": "microarchitecture, K=5",
    **{cut: f"cuts of {cut}" for cut in CUT_QUESTIONS},
}
QUESTIONS = (*HOLDOUT_QUESTIONS, *CUT_QUESTIONS)
DRAWS = {
    "seed11": "300 profiles, seed 11",
    "all": "all 2,864 profiles",
    "seed5": "2,000 profiles, seed 5",
}


@dataclass(frozen=True)
class Dataset:
    """The description of a dataset at the top of its page."""

    about: str
    note: str = ""


DATASETS = {
    "sparecores-gb6": Dataset(
        "Geekbench 6: 16 workloads on 179 families of cloud instances, 4 to 12 thread counts",
        "A family is one provider, instance family and processor; its curve is made of virtual machines of growing "
        "size.",
    ),
    "sparecores-llama": Dataset(
        "llama.cpp: 51 cases of inference on 186 families of cloud instances, 4 to 12 thread counts",
        "Inference is bound by memory; 24 % of the curves rise by over 20 % at some step.",
    ),
    "sparecores-stressng": Dataset(
        "stress-ng: 84 stressors on 357 families of cloud instances, one thread and all threads",
        "Ten stressors are not fixed work (spinmem, memthrash, eventfd, l1cache, cache, hrtimers, resched, "
        "tlb-shootdown, ptr-chase, stream) and have huge errors: read the medians.",
    ),
    "rrze-likwid": Dataset(
        "SPEChpc and LULESH: 16 cases on two servers (Ice Lake, Sapphire Rapids), 50 to 104 thread counts",
        "With one reference only, every regression becomes `speed-ratio-per-n`.",
    ),
    "gbm": Dataset(
        "Training of gradient boosting: 29 cases on 6 servers, 5 to 12 thread counts",
        "Platforms can be compared within one software epoch only. A case that no other platform has is refused.",
    ),
    "demo": Dataset(
        "The demo, simulated: 26 workloads on 15 machines",
        "Each simulated profile is predicted from the other simulated ones. Simulated data allow a comparison of the "
        "methods, but say nothing about the size of the errors.",
    ),
    "kit": Dataset(
        "The benchmark kit: 34 workloads, decomposed, on five shared virtual machines: four of two threads, one of 16",
        "Each profile is predicted from those of the other machines. So few machines reveal little more than speed "
        "ratios, which every method finds. The remaining errors come from the different strengths of the processors, "
        "the scaling beyond two threads, and the load of other guests during a measurement (a run of twice the length, "
        "minutes later, was 20 to 30 % slower).",
    ),
}


def dataset_page(name: str, results: Results) -> str:
    """Return the whole page of a dataset."""
    dataset = DATASETS[name]
    full = results[Study(name, "pair").name]
    parts = [
        f"# Accuracy on {name}",
        WRITTEN,
        f"{dataset.about}. {dataset.note}".strip(),
        "Errors are in percent; [accuracy](../accuracy.md) defines them and compares the datasets. The "
        "first three rows are the methods, the others the [baselines](../baselines.md). K=5: the target is known by "
        "five random workloads only.",
        "## The workload is unknown on the target (holdout `pair`)",
        provenance_of(full),
        full_table(full),
        *harder_questions(name, results),
        *small_databases(name, results),
        *other_draws(name, results),
    ]
    return "\n\n".join(wrap_text(part) for part in parts) + "\n"


def provenance_of(result: StoredResult) -> str:
    """Return the command of a result, its date, its duration and the versions of the software."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    methods = ", ".join(f"{name} {number}" for name, number in result["methods"].items() if name.startswith("mpet"))
    note = f" {result['note']}" if "note" in result else ""
    commands = result["command"].split(" && ")
    code = "\n".join(f"    {command}" for command in commands)
    return (
        f"{code}\n\n{result['date']}, {result['seconds']:.0f} s; {versions}; versions of the methods: {methods}.{note}"
    )


def full_table(result: StoredResult) -> str:
    head = [
        "method",
        "full: mean / median / p70 / p80 / p95 / max",
        "bias",
        "t(1): mean / median / p95",
        "scaling: mean / median / p95",
        "90 % interval: coverage / width",
        "predicted, refused",
        "s",
    ]
    rows = [
        [
            f"`{name}`",
            *error_cells(of_method),
            interval_cell(of_method),
            *count_cells(of_method),
            f"{of_method['seconds']:.1f}",
        ]
        for name, of_method in result["results"].items()
    ]
    floor = result["noise_floor"]
    if floor and floor["full"]["count"]:
        rows.append(["noise floor", *error_cells(floor), NOTHING, *count_cells(floor), ""])
        return markdown_table(head, rows)
    return markdown_table(head, rows) + "\n\nNo run was repeated, so there is no noise floor."


def harder_questions(name: str, results: Results) -> list[str]:
    stored = studies_with_result(name, HOLDOUT_QUESTIONS[1:], results)
    if not stored:
        return []
    text = (
        "The workload is also unknown on every platform with the target's `cpu_model` or microarchitecture; five "
        "workloads are known on the target. The same profiles as above. Full curve, mean / median / p95."
    )
    return [
        "## Harder questions",
        text,
        study_options(stored, results),
        method_table(stored, results),
    ]


def small_databases(name: str, results: Results) -> list[str]:
    stored = studies_with_result(name, CUT_QUESTIONS, results)
    if not stored:
        return []
    text = (
        "Six random cuts of 3, 5 and 9 platforms and 12 workloads, and of 16 and 16; the platforms of a cut differ in "
        "`cpu_model`. 60 random profiles of each cut (or all) are predicted from the rest of it. Full curve, mean / "
        "median / p95."
    )
    return [
        "## Small databases: cuts",
        text,
        study_options(stored, results),
        method_table(stored, results),
    ]


def other_draws(name: str, results: Results) -> list[str]:
    draws = {draw: studies_with_result(name, HOLDOUT_QUESTIONS, results, draw) for draw in DRAWS}
    stored_draws = {draw: stored for draw, stored in draws.items() if stored}
    first = studies_with_result(name, HOLDOUT_QUESTIONS, results)
    if not stored_draws or not first:
        return []
    rows = [["300 profiles, seed 7", *(mpet_cell(results[study.name]) for study in first)]]
    rows += [
        [DRAWS[draw], *(mpet_cell(results[study.name]) for study in stored)] for draw, stored in stored_draws.items()
    ]
    text = (
        "Mean / median error of the full curve, and in brackets the share of measured times inside the 90 % interval "
        "and its median width. Two draws often differ more than two methods."
    )
    return [
        "## Other draws of `mpet`",
        text,
        markdown_table(["", *(QUESTION_TITLES[study.question] for study in first)], rows),
    ]


def studies_with_result(name: str, questions: Sequence[StudyQuestion], results: Results, draw: str = "") -> list[Study]:
    """Return the studies of these questions that have a stored result."""
    of_draw = [study for study in published_studies() if (study.dataset, study.draw) == (name, draw)]
    return [study for study in of_draw if study.question in questions and study.name in results]


def study_options(chosen: Sequence[Study], results: Results) -> str:
    """Return the options of `evaluate` and the seconds of each column, one per line."""
    lines = []
    for study in chosen:
        command = " ".join([*protocol_options(study.question), *study.sample])
        lines.append(f"- {QUESTION_TITLES[study.question]}: `{command}`, {results[study.name]['seconds']:.0f} s")
    return "\n".join(lines)


def method_table(chosen: Sequence[Study], results: Results) -> str:
    """Return a table with one row per method and one column per study, and with the coverage of the intervals."""
    columns = [results[study.name]["results"] for study in chosen]
    rows = [
        [f"`{method}`", *(slashed_numbers(column[method]["full"], WITH_TAIL) for column in columns)]
        for method in columns[0]
    ]
    rows.append(["interval of `mpet`: coverage / width", *(interval_cell(column["mpet"]) for column in columns)])
    refused = [", ".join(refusals(column)) or "none" for column in columns]
    return markdown_table(
        ["method", *(QUESTION_TITLES[study.question] for study in chosen)], [*rows, ["refused", *refused]]
    )


def refusals(column: StoredResult) -> list[str]:
    """Return the smallest number of refusals of all methods, and the methods that refused more."""
    refused = {name: of_method["full"]["refused"] for name, of_method in column.items()}
    common = min(refused.values())
    more = [f"`{name}` {count}" for name, count in refused.items() if count > common]
    return ([f"{common} by every method"] if common else []) + more


def summary_table(results: Results) -> str:
    """Return the errors of `mpet`, the best baseline and `mpet2020`, one row per dataset."""
    head = ["dataset", "what it is", "`mpet`", "its 90 % interval holds", "best baseline", "`mpet2020`"]
    rows = []
    for name, dataset in DATASETS.items():
        by_method = results[Study(name, "pair").name]["results"]
        best = best_baseline(by_method)
        holds = f"{100 * by_method['mpet']['coverage']:.1f} %"
        errors_of = [
            slashed_numbers(by_method[method]["full"], MEAN_AND_MEDIAN) for method in ("mpet", best, "mpet2020")
        ]
        cells = [f"**{errors_of[0]}**", holds, f"`{best}` {errors_of[1]}", errors_of[2]]
        rows.append([f"[{name}](accuracy/{name}.md)", dataset.about, *cells])
    return markdown_table(head, rows)


def harder_table(results: Results) -> str:
    """Return the errors of `mpet` and of the best baseline on every question, for the large datasets."""
    rows = []
    for name in LARGE:
        columns = [results[study.name]["results"] for study in studies_with_result(name, QUESTIONS, results)]
        rows.append(
            [f"`mpet`, {name}", *(slashed_numbers(column["mpet"]["full"], MEAN_AND_MEDIAN) for column in columns)]
        )
        best = [column[best_baseline(column)]["full"] for column in columns]
        rows.append(["best baseline", *(slashed_numbers(statistics, MEAN_AND_MEDIAN) for statistics in best)])
    return markdown_table(
        ["", *(QUESTION_TITLES[study.question] for study in studies_with_result(LARGE[0], QUESTIONS, results))], rows
    )


def beaten_table(results: Results) -> str:
    """Return the baselines that are not better than `mpet2020`, and the best baseline."""
    head = ["", "mean of `mpet2020` not beaten by", "median not beaten by", "best baseline by mean", "`mpet`"]
    rows = []
    chosen = [study for name in DATASETS for study in studies_with_result(name, ("pair", "microarchitecture"), results)]
    for study in chosen:
        by_method = results[study.name]["results"]
        best = best_baseline(by_method)
        label = study.dataset + ("" if study.question == "pair" else f", {study.question}")
        best_errors = slashed_numbers(by_method[best]["full"], MEAN_AND_MEDIAN)
        mpet_errors = slashed_numbers(by_method["mpet"]["full"], MEAN_AND_MEDIAN)
        weak = [baselines_no_better(by_method, statistic) for statistic in MEAN_AND_MEDIAN]
        rows.append([label, *weak, f"`{best}` {best_errors}", mpet_errors])
    return markdown_table(head, rows)


def baselines_no_better(by_method: StoredResult, statistic: str) -> str:
    limit = by_method["mpet2020"]["full"][statistic]
    names = [f"`{name}`" for name in baseline_names(by_method) if by_method[name]["full"][statistic] >= limit]
    if len(names) == len(baseline_names(by_method)):
        return "all"
    return ", ".join(names) or "none: all are better"


def intervals_table(results: Results) -> str:
    """Return the coverage and median width of the intervals of `mpet`, for every draw of the large datasets."""
    rows = []
    for name in LARGE:
        for draw, label in {"": "300 profiles, seed 7", **DRAWS}.items():
            stored = studies_with_result(name, HOLDOUT_QUESTIONS, results, draw)
            if stored:
                cells = [interval_cell(results[study.name]["results"]["mpet"]) for study in stored]
                rows.append([f"{name}, {label}", *cells])
    return markdown_table(["", *(QUESTION_TITLES[question] for question in HOLDOUT_QUESTIONS)], rows)


def independent_table(results: Results) -> str:
    """Return the errors of our baselines and, in brackets, those that others computed on the same datasets.

    The numbers of others are stored in independent.json.
    """
    others = results["independent"]
    ours = {name: results[Study(name, "pair").name]["results"] for name in others}
    methods = [name for name in ours[LARGE[0]] if name in METHODS and name not in ("mpet", "frequency-scaling")]
    rows = []
    for method in [*methods[1:], methods[0]]:
        cells = []
        for name, numbers in others.items():
            other = f" ({' / '.join(map(str, numbers[method]))})" if method in numbers else ""
            cells.append(slashed_numbers(ours[name][method]["full"], WITH_TAIL) + other)
        rows.append([f"`{method}`", *cells])
    return markdown_table(["method", *others], rows)


def few_table(name: str, results: Results) -> str:
    """Return the errors by number of references, one row per method, and the quality of the intervals."""
    by_question = [results[Study(name, question).name]["results"] for question in FEW_QUESTIONS]
    rows = [
        [f"`{method}`", *(slashed_numbers(of_methods[method]["full"], MEAN_AND_MEDIAN) for of_methods in by_question)]
        for method in by_question[0]
    ]
    chosen = [of_methods["mpet"] for of_methods in by_question]
    rows.append(["interval of `mpet`: coverage / width", *map(interval_cell, chosen)])
    keys = ("interval_score", "constant_interval_score")
    scores = [" / ".join(f"{of_method[key]:.2f}" for key in keys) for of_method in chosen]
    rows.append(["its score / of one width for all", *scores])
    return markdown_table(["R", *(question.removeprefix("references-") for question in FEW_QUESTIONS)], rows)


def applications_table(results: Results) -> str:
    """Return the errors and intervals for the workloads of each application, by number of references."""
    by_question = [results[Study("sparecores-suites", question).name]["applications"] for question in FEW_QUESTIONS]
    rows = [
        [
            application,
            *(
                f"{slashed_numbers(of_application[application]['mpet']['full'], MEAN_AND_MEDIAN)} "
                f"({interval_cell(of_application[application]['mpet'])})"
                for of_application in by_question
            ),
        ]
        for application in by_question[0]
    ]
    return markdown_table(["R", *(question.removeprefix("references-") for question in FEW_QUESTIONS)], rows)


def diverse_table(results: Results) -> str:
    """Return the errors in small databases of very different machines, one row per dataset and size."""
    head = ["dataset", "cuts", "`mpet`", "its interval", "best baseline", "`mpet2020`"]
    rows = []
    for name in DIVERSE_DATASETS:
        for question in DIVERSE_QUESTIONS:
            by_method = results[Study(name, question).name]["results"]
            best = best_baseline(by_method)
            errors = {
                method: slashed_numbers(by_method[method]["full"], MEAN_AND_MEDIAN)
                for method in ("mpet", "mpet2020", best)
            }
            cells = [errors["mpet"], interval_cell(by_method["mpet"])]
            label = question.removeprefix("diverse-")
            rows.append([name, label, *cells, f"`{best}` {errors[best]}", errors["mpet2020"]])
    return markdown_table(head, rows)


def known_n_table(questions: Sequence[BeyondQuestion], results: Results) -> str:
    """Return the errors and intervals of the methods beyond the known thread counts.

    There is one row for each dataset, set of known thread counts, and range of predicted n. If everything is known with
    all threads alone, another row has the errors at all measured n.
    """
    methods = ("ideal", "amdahl", "usl", "speed-ratio-per-n", "kernel-ridge")
    rows = []
    for study in studies_beyond():
        if study.question not in questions:
            continue
        found = results[study.name]
        ranges = dict(found["distances"])
        if study.question == "known-most":
            ranges["all n"] = {
                method: {**of_method["full"], "coverage": of_method["coverage"]}
                for method, of_method in found["results"].items()
            }
        for distance, of_method in ranges.items():
            ours = of_method["mpet"]
            cells = [f"{slashed_numbers(ours, MEAN_AND_MEDIAN)} ({100 * ours['coverage']:.0f})"]
            cells += [slashed_numbers(of_method[method], MEAN_AND_MEDIAN) for method in methods]
            known = study.question.removeprefix("known-")
            rows.append([study.dataset, known, distance, str(ours["count"]), *cells])
    head = ["dataset", "known to n", "asked", "profiles", "`mpet` (holds)"]
    return markdown_table([*head, *(f"`{method}`" for method in methods)], rows)


def wrong_table(results: Results) -> str:
    """Return the errors and intervals by share of wrong profiles, one row per dataset and share."""
    questions: tuple[StudyQuestion, ...] = ("pair", *WRONG_QUESTIONS)
    methods, rows = list(results[Study(LARGE[0], questions[-1]).name]["results"]), list[list[str]]()
    for name in LARGE:
        for question in questions:
            of_methods = results[Study(name, question).name]["results"]
            cells = [slashed_numbers(of_methods[method]["full"], MEAN_AND_MEDIAN) for method in methods]
            cells[0] += f" ({100 * of_methods['mpet']['coverage']:.0f})"
            rows.append([name, "0" if question == "pair" else question.removeprefix("wrong-"), *cells])
    return markdown_table(["dataset", "% wrong", "`mpet` (holds)", *(f"`{name}`" for name in methods[1:])], rows)


def repository_table(results: Results) -> str:
    """Return the errors and intervals of each method in the whole repository, for all profiles and by application."""
    result = results[Study(WHOLE_REPOSITORY, "pair").name]
    parts = {"all": result["results"], **result["applications"]}
    names = list(result["results"])
    head = [
        "",
        "profiles",
        *(f"`{name}`" for name in names),
        "interval of `mpet`",
    ]
    rows = [
        [
            part,
            str(by_method["mpet"]["full"]["count"]),
            *(slashed_numbers(by_method[name]["full"], MEAN_AND_MEDIAN) for name in names),
            interval_cell(by_method["mpet"]),
        ]
        for part, by_method in parts.items()
    ]
    return markdown_table(head, rows)


def weights_table(results: Results) -> str:
    """Return the errors of `mpet2020` with each of the weights that the paper leaves to future work, by dataset."""
    by_dataset = [results[Study(name, "pair", WEIGHTS_DRAW).name]["results"] for name in WEIGHTED_DATASETS]
    rows = [
        [
            name.removeprefix("mpet2020: ") if name != "mpet2020" else "as published (default)",
            *(slashed_numbers(by_method[name]["full"], MEAN_AND_MEDIAN) for by_method in by_dataset),
        ]
        for name in by_dataset[0]
    ]
    refused = [", ".join(refusals(by_method)) or "none" for by_method in by_dataset]
    return markdown_table(["", *WEIGHTED_DATASETS], [*rows, ["refused", *refused]])


TABLES: dict[str, Callable[[Results], str]] = {
    "summary": summary_table,
    "harder": harder_table,
    "beaten": beaten_table,
    "intervals": intervals_table,
    "independent": independent_table,
    "few references by application": applications_table,
    "very different machines": diverse_table,
    "weights of mpet2020": weights_table,
    "beyond": partial(known_n_table, ("known-2", "known-4")),
    "half": partial(known_n_table, ("known-half",)),
    "between": partial(known_n_table, ("known-ends",)),
    "all threads": partial(known_n_table, ("known-most",)),
    "workload with all threads": partial(known_n_table, ("known-workload-most",)),
    "wrong profiles": wrong_table,
    "whole repository": repository_table,
    **{f"few references {name}": partial(few_table, name) for name in FEW_DATASETS},
}
FRAME = re.compile(r"(<!-- table: ([\w -]+?) -->\n).*?(\n<!-- end of table -->)", flags=re.S)
FRAMED_PAGES = (
    "accuracy.md",
    "baselines.md",
    "accuracy/harder.md",
    "accuracy/intervals.md",
    "accuracy/independent.md",
    "accuracy/few-references.md",
    "accuracy/small-databases.md",
    "accuracy/mpet2020-weights.md",
    "accuracy/beyond.md",
    "accuracy/repository.md",
    "accuracy/wrong-profiles.md",
)


def accuracy_documents(results: Results) -> dict[Path, str]:
    """Return the expected text of every page with numbers from these results."""
    documents = {ACCURACY_PAGES / f"{name}.md": dataset_page(name, results) for name in DATASETS}
    for name in FRAMED_PAGES:
        page = ACCURACY_PAGES.parent / name
        documents[page] = with_tables(page.read_text(encoding="utf-8"), results)
    return documents


def with_tables(text: str, results: Results) -> str:
    """Return the page with its framed tables replaced."""
    return FRAME.sub(lambda frame: f"{frame[1]}\n{TABLES[frame[2]](results)}\n{frame[3]}", text)


def wrap_text(text: str) -> str:
    """Return the text with its paragraphs filled to LINE_LENGTH. Tables, code, lists and headings stay as they are."""
    blocks = text.split("\n\n")
    kept = ("#", "|", "<", "-", " ")
    return "\n\n".join(block if block.startswith(kept) else fill_paragraph(block) for block in blocks)


def fill_paragraph(paragraph: str) -> str:
    return textwrap.fill(paragraph, LINE_LENGTH, break_long_words=False, break_on_hyphens=False)


def baseline_names(by_method: StoredResult) -> list[str]:
    return [name for name in by_method if name in METHODS and METHODS[name].baseline]


def best_baseline(by_method: StoredResult) -> str:
    return min(baseline_names(by_method), key=lambda name: by_method[name]["full"]["mean"])


def error_cells(of_method: StoredResult) -> list[str]:
    """Return the cells of the full curve, its bias, t(1) and scaling."""
    full, bias = of_method["full"], of_method["full"]["bias"]
    return [
        slashed_numbers(full, ("mean", "median", "p70", "p80", "p95", "max")),
        NOTHING if bias is None else f"{bias:+.1f}",
        slashed_numbers(of_method["t1"], WITH_TAIL),
        slashed_numbers(of_method["scaling"], WITH_TAIL),
    ]


def count_cells(of_method: StoredResult) -> list[str]:
    return [f"{of_method['full']['count']}, {of_method['full']['refused']}"]


def interval_cell(of_method: StoredResult) -> str:
    if of_method["coverage"] is None:
        return NOTHING
    return f"{100 * of_method['coverage']:.1f} / {rounded_percent(100 * of_method['interval_width'])}"


def mpet_cell(result: StoredResult) -> str:
    mpet = result["results"]["mpet"]
    return f"{slashed_numbers(mpet['full'], ('mean', 'median'))} ({interval_cell(mpet)})"


def slashed_numbers(statistics: StoredResult, wanted: Sequence[str]) -> str:
    return " / ".join(rounded_percent(statistics[name]) for name in wanted)


def rounded_percent(value: float | None) -> str:
    """Return the value with three significant digits and at most two decimals."""
    if value is None:
        return NOTHING
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{float(f'{value:.3g}'):.0f}"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
