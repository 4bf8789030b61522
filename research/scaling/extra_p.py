"""Extra-P, the established tool for scaling models, as a peer. It models n t(n)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from research.scaling.evaluation import Case, ModelOutcome, judge_times

EXTRA_P_VERSION = "4.2.0"
# The file is not named extrap.py, because that would hide the package from the worker.
WORKER = Path(__file__).with_name("extra_p_worker.py")


class PeerError(Exception):
    """Raised if the peer cannot be installed or fails. The message has the end of its error output."""


def prepare_interpreter(folder: Path) -> Path:
    """Return the interpreter of Extra-P's environment in the folder. Create the environment if it is missing.

    Extra-P pins an old numpy, so it cannot share the environment of this project.
    """
    interpreter = folder / "bin" / "python"
    done = folder / f"extrap-{EXTRA_P_VERSION}"
    if done.exists() and interpreter.exists():
        return interpreter
    venv.create(folder, with_pip=True, clear=True)
    install = [
        str(interpreter),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"extrap=={EXTRA_P_VERSION}",
    ]
    _run(install, "", "cannot install Extra-P")
    done.touch()
    return interpreter


def extra_p_outcomes(interpreter: Path, cases: Sequence[Case]) -> list[ModelOutcome]:
    """Return Extra-P's outcome of each case: a model of n t(n) over n. The seconds exclude start-up and imports."""
    questions = [
        {"n": case.n.tolist(), "value": (case.n * case.time_s).tolist(), "asked": case.n_asked.tolist()}
        for case in cases
    ]
    answers = json.loads(_run([str(interpreter), str(WORKER)], json.dumps(questions), "Extra-P failed"))
    outcomes = []
    for index, (case, answer) in enumerate(zip(cases, answers, strict=True)):
        if answer["value"] is None:
            outcomes.append(ModelOutcome(index, seconds=answer["seconds"], refusal=answer["reason"]))
        else:
            outcomes.append(judge_times(index, case, np.array(answer["value"]) / case.n_asked, answer["seconds"]))
    return outcomes


def _run(command: list[str], given: str, failure: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
    done = subprocess.run(  # noqa: S603 - our own interpreter and script
        command, input=given, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise PeerError(f"{failure} ({Path(sys.executable).name} -> {command[0]}): {done.stderr.strip()[-500:]}")
    return done.stdout
