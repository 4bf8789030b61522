"""Worker in the environment of Extra-P: reads cases as JSON from standard input and writes the answers as JSON.

A case is {"n": [...], "value": [...], "asked": [...]}, an answer {"value": [...] or null, "seconds": .., "reason": ..}.
The worker imports nothing of this project, which requires another numpy.
"""

import contextlib
import json
import sys
import time
from typing import Any


def model_of(n: list[float], value: list[float]) -> Any:
    """Return Extra-P's function of one parameter, fitted to the points."""
    from extrap.entities.callpath import Callpath  # noqa: PLC0415 - it exists in Extra-P's environment only
    from extrap.entities.coordinate import Coordinate  # noqa: PLC0415
    from extrap.entities.experiment import Experiment  # noqa: PLC0415
    from extrap.entities.measurement import Measurement  # noqa: PLC0415
    from extrap.entities.metric import Metric  # noqa: PLC0415
    from extrap.entities.parameter import Parameter  # noqa: PLC0415
    from extrap.modelers.model_generator import ModelGenerator  # noqa: PLC0415

    experiment, path, metric = Experiment(), Callpath("main"), Metric("thread_seconds")
    experiment.add_parameter(Parameter("n"))
    experiment.add_callpath(path)
    experiment.add_metric(metric)
    for threads, seconds in zip(n, value, strict=True):
        coordinate = Coordinate(threads)
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(Measurement(coordinate, path, metric, [seconds]))
    generator = ModelGenerator(experiment)
    generator.model_all()
    return next(iter(generator.models.values())).hypothesis.function


def answer_case(case: dict[str, list[float]]) -> dict[str, Any]:
    """Return the answer to one case. Any exception that Extra-P raises counts as a refusal."""
    started = time.process_time()
    try:
        function = model_of(case["n"], case["value"])
        value = [float(function.evaluate(n)) for n in case["asked"]]
    except Exception as error:
        return {"value": None, "seconds": time.process_time() - started, "reason": str(error) or type(error).__name__}
    return {"value": value, "seconds": time.process_time() - started, "reason": ""}


def main() -> None:
    cases = json.load(sys.stdin)
    # The first case imports Extra-P, so it is not timed.
    answer_case({"n": [1.0, 2.0, 4.0, 8.0, 16.0], "value": [1.0, 2.0, 4.0, 8.0, 16.0], "asked": [32.0]})
    with contextlib.redirect_stdout(sys.stderr):
        answers = [answer_case(case) for case in cases]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
