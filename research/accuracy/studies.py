"""Evaluations that docs/accuracy/ publishes: the question of each one, and its stored result."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, Literal, get_args

from django.conf import settings

from mpet_site.web.plain_json import nan_to_null
from predictor.accuracy.published import ERRORS_DRAW, ERRORS_FOLDER
from predictor.core.methods import METHODS
from predictor.core.mpet2020.method import MPET2020

StoredResult = Mapping[str, Any]
HoldoutQuestion = Literal["pair", "cpu_model", "microarchitecture", "pair-k5", "microarchitecture-k5"]
CutQuestion = Literal["3x12", "5x12", "9x12", "16x16"]
DiverseQuestion = Literal["diverse-3x16", "diverse-4x16"]
FewQuestion = Literal[
    "references-1",
    "references-2",
    "references-3",
    "references-5",
    "references-10",
    "references-20",
    "references-all",
]
BeyondQuestion = Literal["known-2", "known-4", "known-half", "known-ends", "known-most", "known-workload-most"]
# The number is the percentage of wrong profiles.
WrongQuestion = Literal["wrong-1", "wrong-5", "wrong-20"]
StudyQuestion = HoldoutQuestion | CutQuestion | DiverseQuestion | FewQuestion | BeyondQuestion | WrongQuestion

HOLDOUT_QUESTIONS: tuple[HoldoutQuestion, ...] = get_args(HoldoutQuestion)
CUT_QUESTIONS: tuple[CutQuestion, ...] = get_args(CutQuestion)
DIVERSE_QUESTIONS: tuple[DiverseQuestion, ...] = get_args(DiverseQuestion)
FEW_QUESTIONS: tuple[FewQuestion, ...] = get_args(FewQuestion)
BEYOND_QUESTIONS: tuple[BeyondQuestion, ...] = get_args(BeyondQuestion)
WRONG_QUESTIONS: tuple[WrongQuestion, ...] = get_args(WrongQuestion)
BEYOND_DATASETS = ("rrze-likwid", "gbm", "kit", "sparecores-gb6", "sparecores-llama")
BEYOND_METHODS = ("--method", "mpet,ideal,amdahl,usl,speed-ratio-per-n,kernel-ridge")
# Map dataset -> the holdout of its studies.
FEW_DATASETS = {"sparecores-suites": "application", "sparecores-gb6": "pair"}
DIVERSE_DATASETS = ("sparecores-gb6", "sparecores-llama", "sparecores-stressng", "sparecores-suites", "demo")
DIVERSE_METHODS = (
    *("--method", "mpet,mpet2020,speed-ratio,speed-ratio-per-n,additive-log,ridge,kernel-ridge,low-rank"),
)
WEIGHTED_DATASETS = ("gbm", "rrze-likwid", "kit", "demo", "sparecores-gb6")
WEIGHTED_METHODS = ("--method", MPET2020.name, "--ablation", MPET2020.name)
WEIGHTS_DRAW = "weights"
ERRORS_DATASETS = ("sparecores-gb6", "sparecores-llama", "sparecores-stressng", "rrze-likwid", "gbm")
FEW_METHODS = ("--method", "mpet,speed-ratio-per-n,ridge,kernel-ridge,low-rank")
ACCURACY_PAGES = settings.BASE_DIR / "docs" / "accuracy"
RESULTS_FOLDER = Path(__file__).with_name("results")
SHARED_DATA = "../shared/data"
ALL_METHODS = ("--method", "mpet2020,mpet", "--baselines")
MPET_ALONE = ("--method", "mpet")
# Significant digits of stored numbers.
STORED_DIGITS = 6
LARGE = ("sparecores-gb6", "sparecores-llama", "sparecores-stressng")
DATABASE_COMMANDS = {"demo": ("load_demo",), "kit": ("import_results", "benchmarks/reference/*.tar.gz")}
# All data of a public source, in an existing database. This database is too large to be created for one study.
WHOLE_REPOSITORY = "repository"
REPOSITORY_COMMAND = ("fetch_data", "sparecores")
REPOSITORY_METHODS = ("--no-save", "--method", "mpet,speed-ratio-per-n,kernel-ridge", "--by-application")


@dataclass(frozen=True)
class Study:
    """One evaluation: its dataset, its question, and the profiles that are drawn."""

    dataset: str
    question: StudyQuestion
    # Empty for the draw of the full tables.
    draw: str = ""
    methods: tuple[str, ...] = ALL_METHODS
    sample: tuple[str, ...] = ("--sample", "300", "--seed", "7")

    @property
    def name(self) -> str:
        return ".".join(filter(None, (self.dataset, self.question, self.draw)))

    @property
    def result(self) -> Path:
        # The pages of the server show the results in ERRORS_FOLDER.
        folder = ERRORS_FOLDER if self.draw == ERRORS_DRAW else RESULTS_FOLDER
        return folder / f"{self.name}.json"

    @property
    def preparation(self) -> tuple[str, ...]:
        """Return the command that fills the database, or nothing if the study uses a dataset folder."""
        return REPOSITORY_COMMAND if self.dataset == WHOLE_REPOSITORY else DATABASE_COMMANDS.get(self.dataset, ())

    @property
    def command(self) -> str:
        """Return the command that runs the study. `python -m research` also has the commands of `manage.py`."""
        return "evaluate_ablation" if self.draw == WEIGHTS_DRAW else "evaluate"

    def arguments(self, data: str = SHARED_DATA) -> list[str]:
        """Return the arguments of the command. `data` is the folder of the datasets."""
        subject = ["--database"] if self.preparation else ["--dataset", f"{data}/{self.dataset}"]
        return [*subject, *self.methods, *protocol_options(self.question, self.dataset), *self.sample]


def protocol_options(question: StudyQuestion, dataset: str = "") -> tuple[str, ...]:
    """Return the options of `evaluate` that define what is hidden."""
    kind, _, number = question.partition("-")
    if kind == "references":
        limit = () if number == "all" else ("--references", number)
        applications = ("--by-application",) if FEW_DATASETS[dataset] == "application" else ()
        return ("--holdout", FEW_DATASETS[dataset], *limit, "--unlike", *applications)
    if kind == "known":
        references = ("--references", "3") if number.endswith("most") else ()
        return ("--holdout", "pair", *references, "--known-n" if number.isdigit() else "--known-at", number)
    if kind == "wrong":
        return ("--holdout", "pair", "--wrong", str(int(number) / 100))
    if kind == "diverse":
        return ("--cut", number, "--cuts", "20", "--diverse")
    if question in CUT_QUESTIONS:
        return ("--cut", question, "--cuts", "6")
    holdout, _, probes = question.partition("-k")
    return ("--holdout", holdout, *(("--probes", probes) if probes else ()))


def published_studies() -> Iterator[Study]:
    """Yield every published evaluation, the fast ones first."""
    for dataset in ("rrze-likwid", "gbm", "sparecores-div16"):
        yield Study(dataset, "pair")
    for dataset in ("rrze-likwid", "gbm"):
        yield Study(dataset, "microarchitecture")
    for dataset in DATABASE_COMMANDS:
        yield Study(dataset, "pair", sample=())
    for dataset in WEIGHTED_DATASETS:
        sample: tuple[str, ...] = () if dataset in DATABASE_COMMANDS else ("--sample", "300", "--seed", "7")
        yield Study(dataset, "pair", WEIGHTS_DRAW, WEIGHTED_METHODS, sample)
    for dataset in ERRORS_DATASETS:
        yield Study(dataset, "pair", ERRORS_DRAW, MPET_ALONE)
    for dataset in DIVERSE_DATASETS:
        for diverse in DIVERSE_QUESTIONS:
            yield Study(dataset, diverse, methods=DIVERSE_METHODS, sample=("--sample", "40", "--seed", "7"))
    for dataset in LARGE:
        for question in HOLDOUT_QUESTIONS:
            yield Study(dataset, question)
        for cut in CUT_QUESTIONS:
            yield Study(dataset, cut, sample=("--sample", "60", "--seed", "7"))
    yield from studies_beyond()
    yield from further_draws()
    for dataset in FEW_DATASETS:
        for few in FEW_QUESTIONS:
            yield Study(dataset, few, methods=FEW_METHODS)
    yield from (Study(dataset, wrong, methods=FEW_METHODS) for dataset in LARGE for wrong in WRONG_QUESTIONS)
    yield Study(WHOLE_REPOSITORY, "pair", methods=REPOSITORY_METHODS, sample=("--sample", "400", "--seed", "9"))


def studies_beyond() -> Iterator[Study]:
    """Yield the studies that predict unknown thread counts.

    The workload is known with few threads and predicted with many, or on half of the machines everything is known with
    few threads, or known only with all threads, or only with one thread and with all threads.
    """
    for dataset in BEYOND_DATASETS:
        sample: tuple[str, ...] = () if dataset in DATABASE_COMMANDS else ("--sample", "150", "--seed", "7")
        for question in BEYOND_QUESTIONS:
            # Only one machine of the kit has more than two threads. The others are known with two threads at most.
            if (dataset, question) != ("kit", "known-4"):
                yield Study(dataset, question, methods=BEYOND_METHODS, sample=sample)


def further_draws() -> Iterator[Study]:
    """Yield the studies of `mpet` alone, on other and on larger draws."""
    for dataset in LARGE:
        other = ("seed11", ("--sample", "300", "--seed", "11"))
        larger = ("seed5", ("--sample", "2000", "--seed", "5"))
        # All profiles are evaluated, so the seed draws only the probes.
        whole = ("all", ("--seed", "7"))
        for draw, sample in (other, whole if dataset == "sparecores-gb6" else larger):
            for question in HOLDOUT_QUESTIONS:
                yield Study(dataset, question, draw, MPET_ALONE, sample)


def result_document(study: Study, report: StoredResult, seconds: float, day: date, note: str = "") -> dict[str, Any]:
    """Return the stored form of an evaluation: its report and how it was made."""
    versions = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    preparation = f"manage.py {' '.join(study.preparation)} && " if study.preparation else ""
    program = "manage.py" if study.command == "evaluate" else "python -m research"
    return {
        "dataset": study.dataset,
        "command": f"{preparation}{program} {study.command} {' '.join(study.arguments())}",
        "date": day.isoformat(),
        "seconds": round(seconds, 1),
        "versions": {"python": python_version(), **versions},
        "methods": {name: METHODS[name.partition(":")[0]].version for name in report["methods"]},
        **({"note": note} if note else {}),
        **({"errors_percent": report["errors_percent"]} if "errors_percent" in report else {}),
        "results": round_numbers(nan_to_null(report["methods"])),
        "noise_floor": round_numbers(nan_to_null(report["noise_floor"])),
        **({"distances": round_numbers(report["distances"])} if "distances" in report else {}),
        **({"applications": stored_applications(report["applications"])} if "applications" in report else {}),
    }


def stored_applications(applications: StoredResult) -> dict[str, Any]:
    """Return the stored form of the results by application: the errors and the interval of every method."""
    return {
        application: {
            name: {
                "full": round_numbers({key: of_method["full"][key] for key in ("mean", "median", "count")}),
                **round_numbers({key: of_method[key] for key in ("coverage", "interval_width")}),
            }
            for name, of_method in methods.items()
        }
        for application, methods in applications.items()
    }


def errors_percent(rows: Iterable[Mapping[str, str]]) -> list[float]:
    """Return the errors of the full curve in ascending order, from the table that `evaluate --csv` writes.

    Refused predictions are left out.
    """
    return sorted(float(f"{float(row['full_error_percent']):.4g}") for row in rows if row["full_error_percent"])


def round_numbers(value: Any) -> Any:
    """Return the value with every float in it rounded to STORED_DIGITS significant digits."""
    if isinstance(value, dict):
        return {key: round_numbers(part) for key, part in value.items()}
    return float(f"{value:.{STORED_DIGITS}g}") if isinstance(value, float) else value


def write_result(study: Study, stored: StoredResult) -> None:
    """Write the result as JSON with one line per method, so that a diff shows which methods changed."""
    lines = (
        f"  {json.dumps(name)}: {json.dumps(values, allow_nan=False)}" for name, values in stored["results"].items()
    )
    written = {**stored, "results": {}} | ({"errors_percent": []} if "errors_percent" in stored else {})
    text = json.dumps(written, indent=1, allow_nan=False)
    text = text.replace('"errors_percent": []', f'"errors_percent": {json.dumps(stored.get("errors_percent"))}')
    text = text.replace('"results": {}', '"results": {\n' + ",\n".join(lines) + "\n }")
    study.result.write_text(text + "\n", encoding="utf-8")


def read_stored_results() -> dict[str, StoredResult]:
    """Return every stored result by the name of its study. `independent` has the numbers that others computed."""
    paths = sorted([*RESULTS_FOLDER.glob("*.json"), *ERRORS_FOLDER.glob("*.json")])
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
