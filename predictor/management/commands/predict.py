"""`manage.py predict`: a prediction or a ranking on the command line."""

import argparse
import json
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from predictor.core.methods import METHODS
from predictor.core.scenarios import SCENARIOS
from predictor.core.scenarios.scenario import CHARACTERISTICS, PLATFORM_CHANGES
from predictor.core.steps import ComputedStep
from predictor.figures.platforms import priced
from predictor.management.tables import formatted_number, text_table
from predictor.models import Prediction
from predictor.predictions.feasibility import described_ranking
from predictor.predictions.next_measurements import next_measurements
from predictor.predictions.question import DEFAULT_METHOD, NoPrediction, PredictionRequest, RequestError
from predictor.predictions.ranking_choice import BY_COST, BY_TIME, RANKING_FILTERS, RANKING_ORDER, RankingChoice
from predictor.predictions.ranking_rows import RANKED_PER_PAGE
from predictor.predictions.rankings import Ranking, RankingQuestion, rank_platforms
from predictor.predictions.service import predict
from profiles.measurements import STRATEGIES
from profiles.models import Platform

# Options that require a single target, with their defaults.
ONE_TARGET_ONLY: dict[str, Any] = {
    "reference": None,
    "scenario": "migration",
    "strategy": None,
    "include_outliers": False,
    "measure_next": False,
    "change": [],
}
RANKING_ONLY: dict[str, Any] = {"by": BY_TIME, "where": [], "page": 1, "exact": False}


class Command(BaseCommand):
    help = "Predict the run times of a workload on a platform where it was not measured, from the public profiles."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--workload", metavar="W", required=True, help="slug or name of the workload")
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--target", metavar="T", help="slug or name of the target platform")
        where.add_argument(
            "--ranking", action="store_true", help="predict on every platform, sorted by time; the result is not stored"
        )
        parser.add_argument(
            "--reference",
            metavar="P",
            action="append",
            help="use only the workload's profiles on platform P; repeatable",
        )
        parser.add_argument(
            "--method", metavar="M", default=DEFAULT_METHOD, help=f"prediction method: {', '.join(METHODS)}"
        )
        parser.add_argument(
            "--n",
            metavar="1,2,4",
            type=parse_thread_counts,
            help="thread counts to predict, at most 512 (default: 1 to n_max)",
        )
        parser.add_argument(
            "--method-settings",  # Django defines --settings itself
            metavar="JSON",
            type=parse_settings,
            default={},
            help='settings of the method, such as {"t1_workloads": 3}',
        )
        parser.add_argument(
            "--scenario",
            choices=SCENARIOS,
            default="migration",
            help="scenario to predict (docs/scenarios.md; default: migration)",
        )
        parser.add_argument(
            "--strategy", choices=STRATEGIES, help="parallelisation strategy, for --scenario parallelisation"
        )
        parser.add_argument(
            "--change",
            metavar="NAME=X",
            action="append",
            type=parse_change,
            default=[],
            help=f"multiply a characteristic by a factor ({', '.join(CHARACTERISTICS)}), or set a new value of the "
            f"platform ({', '.join(PLATFORM_CHANGES)}; 'none': no such effect); repeatable",
        )
        parser.add_argument("--include-simulated", action="store_true", help="include simulated profiles")
        parser.add_argument("--include-outliers", action="store_true", help="include outliers (see find_outliers)")
        parser.add_argument("--measure-next", action="store_true", help="suggest measurements that narrow the interval")
        parser.add_argument("--by", choices=RANKING_ORDER.choices, default=BY_TIME, help="sort order of a ranking")
        parser.add_argument(
            "--where",
            metavar="NAME=VALUE",
            action="append",
            type=parse_filter,
            default=[],
            help=f"filter a ranking by {', '.join(parameter.name for parameter in RANKING_FILTERS)}; repeatable",
        )
        parser.add_argument(
            "--page",
            metavar="P",
            type=int,
            default=1,
            help=f"page of {RANKED_PER_PAGE} rows to compute in a ranking of many platforms; other rows are estimated",
        )
        parser.add_argument("--exact", action="store_true", help="compute every row of a ranking")
        parser.add_argument(
            "--json", action="store_true", help="print the complete answer in the JSON format of the API"
        )

    def handle(self, **options: Any) -> None:
        try:
            lines = self.ranking(options) if options["ranking"] else self.prediction(options)
        except NoPrediction as error:
            advice = f"\nWhat would help: {error.advice}." if error.advice else ""
            raise CommandError(f"{error}{advice}") from error
        except RequestError as error:
            raise CommandError(str(error)) from error
        self.stdout.write("\n".join(lines))

    def ranking(self, options: dict[str, Any]) -> list[str]:
        """Return the lines of a ranking. Raise CommandError for options that a ranking does not support."""
        refuse_given(options, ONE_TARGET_ONLY, "not allowed with --ranking")
        if options["n"] is not None and len(options["n"]) != 1:
            raise CommandError("--n: a ranking has one thread count")
        if options["page"] < 1:
            raise CommandError(f"--page {options['page']}: must be at least 1")
        choice = RankingChoice.of({**dict(options["where"]), "by": options["by"]})
        workload, choices = options["workload"], {name: options[name] for name in ("method", "include_simulated")}
        choices |= {"choice": choice, "page": None if options["exact"] else options["page"]}
        choices |= {"settings": options["method_settings"], "n": options["n"] and options["n"][0]}
        with tqdm(desc="rank", unit="platform", leave=False) as bar:

            def progress(step: ComputedStep) -> None:
                bar.total = step.total
                bar.update(step.done - bar.n)

            computed = rank_platforms(workload, progress=progress, **choices)
        platforms = {row.slug: row for row in Platform.objects.visible_to(None).filter(slug__in=computed.platforms)}
        chosen = replace(
            computed,
            results=choice.rows(computed.results, platforms),
            refused=choice.refused(computed.refused, platforms),
        )
        document = described_ranking(RankingQuestion.of(workload, **choices), chosen.document(), None)
        if options["json"]:
            return [json.dumps(document, indent=1, allow_nan=False)]
        advice = [f"What would help: {document['advice']}."] if document["advice"] else []
        return [*ranking_report(chosen, choice), *advice]

    def prediction(self, options: dict[str, Any]) -> list[str]:
        refuse_given(options, RANKING_ONLY, "requires --ranking")
        changes = dict(options["change"])
        same = ("workload", "target", "method", "n", "include_simulated", "include_outliers", "scenario", "strategy")
        request = PredictionRequest(
            **{name: options[name] for name in same},
            references=options["reference"],
            settings=options["method_settings"],
            workload_changes={name: value for name, value in changes.items() if name not in PLATFORM_CHANGES} or None,
            platform_changes={name: value for name, value in changes.items() if name in PLATFORM_CHANGES} or None,
        )
        prediction = predict(request)
        if options["measure_next"]:
            return next_measurements_report(prediction, as_json=options["json"])
        if options["json"]:
            return [json.dumps({"id": str(prediction.uid)} | prediction.answer, indent=1, allow_nan=False)]
        return prediction_report(prediction)


def refuse_given(options: dict[str, Any], defaults: dict[str, Any], words: str) -> None:
    """Raise CommandError for the first option with a value other than its default."""
    given = [name for name, default in defaults.items() if options[name] != default]
    if given:
        raise CommandError(f"--{given[0].replace('_', '-')}: {words}")


def parse_filter(text: str) -> tuple[str, str]:
    """Parse a filter such as min_cores=16 or vendor=AMD."""
    name, _, value = text.partition("=")
    names = [parameter.name for parameter in RANKING_FILTERS]
    if name not in names or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE; names: {', '.join(names)}")
    return name, value


def parse_change(text: str) -> tuple[str, float | None]:
    """Parse a change such as lock_delay=0.5, n_max=32 or n_nu=none."""
    name, _, value = text.partition("=")
    if name not in (*CHARACTERISTICS, *PLATFORM_CHANGES):
        names = ", ".join((*CHARACTERISTICS, *PLATFORM_CHANGES))
        raise argparse.ArgumentTypeError(f"{name!r} cannot be changed; known: {names}")
    if value == "none":
        return name, None
    try:
        return name, int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from None


def parse_thread_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of thread counts such as 1,2,4") from None


def parse_settings(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return values


def prediction_report(prediction: Prediction) -> list[str]:
    """Return the lines of text that the command prints for a prediction."""
    answer = prediction.answer
    unit = "s" if answer["time_kind"] == "absolute" else "relative"
    level, reasons = answer["confidence"]["level"], answer["confidence"]["reasons"]
    lines = [
        f"{prediction}, version {answer['method_version']}, revision {answer['revision']}, prediction {prediction.uid}",
        f"t(1) = {formatted_number(answer['t1_s']) or 'not requested'} {unit}; confidence {level}",
        *(f"  {reason}" for reason in reasons),
        *(f"changed: {sentence}" for sentence in answer["changes"]),
        "",
        *curve_table(answer, unit),
    ]
    for part, title in (("t1", "Candidates for t(1)"), ("scaling", "Candidates for the scaling vector")):
        lines += ["", title, *candidate_table(answer["candidates"][part])]
    lines += [f"warning: {warning}" for warning in answer["warnings"]]
    for source in answer["sources"]:
        lines.append("data: " + "; ".join(filter(None, (source["label"], source["licence"], source["citation"]))))
    return lines


def next_measurements_report(prediction: Prediction, *, as_json: bool) -> list[str]:
    document = next_measurements(prediction)
    if as_json:
        return [json.dumps(document, indent=1, allow_nan=False)]
    if not document["results"]:
        return ["No further measurement is expected to narrow the interval."]
    rows = [
        [result["kind"], result["workload"], result["platform"], f"{result['interval_expected']:.3f}"]
        for result in document["results"]
    ]
    now = document["results"][0]["interval_now"]
    head = f"{prediction}: the interval of {document['method']} is a factor of {now:.3f} to either side"
    return [head, "", *text_table(["measure", "workload", "platform", "expected"], rows, words=3)]


def curve_table(answer: dict[str, Any], unit: str) -> list[str]:
    measured = answer["measured"] or {"curve": []}
    measured_s = {point["n"]: point["time_s"] for point in measured["curve"]}
    before = {point["n"]: point["time_s"] for point in answer["baseline"] or ()}
    rows = []
    for point in answer["curve"]:
        expected_s, time_s = measured_s.get(point["n"]), point["time_s"]
        error = None if expected_s is None or time_s is None else 100 * abs(time_s - expected_s) / expected_s
        rows.append(
            [
                str(point["n"]),
                *(formatted_number(value) for value in (time_s, point["speedup"], point["efficiency"], expected_s)),
                "" if error is None else f"{error:.1f}",
            ]
        )
    heads = ["n", f"time ({unit})", "speedup", "efficiency", "measured", "error %"]
    if answer["baseline"] is not None:
        heads[-1] = "unchanged"
        rows = [[*row[:-1], formatted_number(before.get(int(row[0])))] for row in rows]
    lines = text_table(heads, rows)
    if measured.get("error_percent") is not None:
        lines.append(f"mean error over the measured n: {measured['error_percent']:.1f} %")
    return lines


def ranking_report(ranking: Ranking, choice: RankingChoice) -> list[str]:
    unit = "s" if ranking.time_kind == "absolute" else "relative"
    currency = next((result["currency"] for result in ranking.results if result["currency"]), "")
    factor, cost = priced((result["cost"] for result in ranking.results), unit, currency)
    order = choice.title(has_prices=bool(currency), unit=unit)
    if choice.by == BY_COST and not currency:
        order += ": no price of these platforms is known"
    marks = {"estimate": "estimated", "limited": "limited"}
    rows = [
        [
            result["platform"],
            str(result["n_best"]),
            *(formatted_number(result[name]) for name in ("time_s", "low_s", "high_s", "measured_time_s")),
            formatted_number(result["core_time_s"]),
            "" if result["cost"] is None else formatted_number(result["cost"] * factor),
            " ".join(words for words, said in marks.items() if result[said]),
        ]
        for result in ranking.results
    ]
    lines = [
        f"{ranking.workload} by {ranking.method}, version {ranking.method_version}, revision {ranking.revision}",
        order,
        "",
    ]
    heads = [
        "platform",
        "n" if ranking.n else "best n",
        f"time ({unit})",
        "low",
        "high",
        "measured",
        "core time",
        cost if currency else "cost",
        "",
    ]
    lines += text_table(heads, rows, words=1)
    return lines + [f"{result['platform']}: {result['reason']}" for result in ranking.refused]


def candidate_table(candidates: list[dict[str, Any]]) -> list[str]:
    names = ("distance_platform", "distance_workload", "distance_tuple", "weight")
    rows = [
        [candidate["platform"], candidate["workload"], *(formatted_number(candidate[name]) for name in names)]
        for candidate in candidates
    ]
    return text_table(["platform", "workload", "D_p", "D_a", "D_t", "weight"], rows, words=2)
