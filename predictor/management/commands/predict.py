import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from predictor.core.methods import METHODS
from predictor.models import Prediction
from predictor.services import DEFAULT_METHOD, PredictionRequest, RequestError, predict
from predictor.tables import number, table


class Command(BaseCommand):
    help = "Predict how a workload runs on a platform where nobody ran it, from the public profiles."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--workload", metavar="W", required=True, help="slug or name")
        parser.add_argument("--target", metavar="T", required=True, help="slug or name of the platform")
        parser.add_argument(
            "--reference", metavar="P", action="append", help="use only the workload's profiles on P; may be repeated"
        )
        parser.add_argument("--method", metavar="M", default=DEFAULT_METHOD, help=f"one of {', '.join(METHODS)}")
        parser.add_argument("--n", metavar="1,2,4", type=thread_counts, help="thread counts; default 1 to n_max")
        parser.add_argument(
            "--method-settings",  # --settings is Django's own
            metavar="JSON",
            type=method_settings,
            default={},
            help='such as {"t1_workloads": 3}',
        )
        parser.add_argument("--include-simulated", action="store_true", help="let simulated profiles take part")
        parser.add_argument("--json", action="store_true", help="print the whole answer as the API gives it")

    def handle(self, **options: Any) -> None:
        request = PredictionRequest(
            workload=options["workload"],
            target=options["target"],
            references=options["reference"],
            method=options["method"],
            n=options["n"],
            settings=options["method_settings"],
            include_simulated=options["include_simulated"],
        )
        try:
            prediction = predict(request)
        except RequestError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps({"id": str(prediction.uid)} | prediction.answer, indent=1, allow_nan=False))
        else:
            self.stdout.write("\n".join(report(prediction)))


def thread_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of thread counts such as 1,2,4") from None


def method_settings(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return values


def report(prediction: Prediction) -> list[str]:
    """The lines that a reader gets."""
    answer = prediction.answer
    unit = "s" if answer["time_kind"] == "absolute" else "relative"
    level, reasons = answer["confidence"]["level"], answer["confidence"]["reasons"]
    lines = [
        f"{prediction}, version {answer['method_version']}, revision {answer['revision']}, prediction {prediction.uid}",
        f"t(1) = {number(answer['t1_s'])} {unit}; confidence {level}" + "".join(f"\n  {reason}" for reason in reasons),
        "",
        *curve_table(answer, unit),
    ]
    for part, title in (("t1", "Candidates for t(1)"), ("scaling", "Candidates for the scaling vector")):
        lines += ["", title, *candidate_table(answer["candidates"][part])]
    lines += [f"warning: {warning}" for warning in answer["warnings"]]
    return lines + [f"data: {source_line(source)}" for source in answer["sources"]]


def curve_table(answer: dict[str, Any], unit: str) -> list[str]:
    shown = answer["measured"] or {"curve": []}
    measured = {point["n"]: point["time_s"] for point in shown["curve"]}
    rows = []
    for point in answer["curve"]:
        known, time_s = measured.get(point["n"]), point["time_s"]
        error = None if known is None or time_s is None else 100 * abs(time_s - known) / known
        rows.append(
            [
                str(point["n"]),
                *(number(value) for value in (time_s, point["speedup"], point["efficiency"], known)),
                "" if error is None else f"{error:.1f}",
            ]
        )
    lines = table(["n", f"time ({unit})", "speedup", "efficiency", "measured", "error %"], rows)
    if shown.get("error_percent") is not None:
        lines.append(f"mean error over the measured n: {shown['error_percent']:.1f} %")
    return lines


def candidate_table(candidates: list[dict[str, Any]]) -> list[str]:
    names = ("distance_platform", "distance_workload", "distance_tuple", "weight")
    rows = [[one["platform"], one["workload"], *(number(one[name]) for name in names)] for one in candidates]
    return table(["platform", "workload", "D_p", "D_a", "D_t", "weight"], rows, words=2)


def source_line(source: dict[str, str]) -> str:
    return "; ".join(text for text in (source["label"], source["licence"], source["citation"]) if text)
