"""The periodic evaluation on a sample of the stored profiles, and the accuracy that pages show."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from datetime import timedelta

import numpy as np
from django.conf import settings
from django.utils import timezone

from mpet_site.state_folder import file_lock
from predictor.accuracy.published import HiddenMeasurements, pooled, published_measurements
from predictor.core.methods import DEFAULT_METHOD
from predictor.models import EvaluatedMethod, Evaluation
from profiles.models import Profile, Revision

logger = logging.getLogger(__name__)
SAMPLE = 100
# The front page shows a server's own evaluation instead of the published figures if it has at least this many
# predictions and machines. With fewer machines, the errors depend more on the machines than on the method.
FEWEST_SHOWN, FEWEST_MACHINES = 100, 10
FEWEST_PROFILES = 20  # minimum number of public profiles for an evaluation
SAMPLED_BASELINES = ("speed-ratio-per-n", "ridge")
LONGEST_S = 3600


def evaluate_if_due() -> bool:
    """Evaluate a sample of the public profiles if an evaluation is due. Return whether it was made.

    An evaluation is due if the server has enough public profiles, and if its latest evaluation is older than
    MPET_EVALUATION_HOURS and of another revision. This periodic task runs the evaluation in a separate process with the
    lowest priority, so that it does not delay requests. A file lock prevents concurrent evaluations on a host.
    """
    if not settings.EVALUATION_HOURS or not settings.STATE_IS_WRITABLE or not is_due():
        return False
    with file_lock(settings.STATE_DIR / "evaluation.lock", wait=False) as is_mine:
        if not is_mine or not is_due():
            return False
        methods = ",".join((DEFAULT_METHOD, *SAMPLED_BASELINES))
        command = [sys.executable, "manage.py", "evaluate", "--database", "--method", methods]
        done = subprocess.run(  # noqa: S603  our own arguments
            ["nice", "-n", "19", *command, "--sample", str(SAMPLE), "--seed", "1", "--jobs", "1"],  # noqa: S607
            cwd=settings.BASE_DIR,
            env=os.environ | {"MPET_STATE_DIR": str(settings.STATE_DIR)},
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    if done.returncode:
        logger.warning("the evaluation of the stored profiles failed: %s", done.stderr.strip()[-500:])
    return not done.returncode


def is_due() -> bool:
    public, _ = Revision.current()
    newest = Evaluation.objects.order_by("-created_at").first()
    if newest is not None:
        recent = newest.created_at > timezone.now() - timedelta(hours=settings.EVALUATION_HOURS)
        if recent or newest.revision == public:
            return False
    rows = Profile.objects.public().exclude(origin="emulated").order_by()
    return len(rows.values_list("pk")[:FEWEST_PROFILES]) == FEWEST_PROFILES


def own_measurements() -> HiddenMeasurements | None:
    """Return the accuracy of the default method in the latest evaluation of measured profiles, or None if there is
    none."""
    rows = EvaluatedMethod.objects.filter(name=DEFAULT_METHOD, evaluation__origin="measured", evaluation__probes=None)
    method = rows.select_related("evaluation").order_by("-evaluation__created_at", "-evaluation").first()
    if method is None:
        return None
    errors = 100 * np.asarray(method.errors_full, dtype=np.float64)
    answered = np.isfinite(errors)
    machines = len(method.evaluation.pairs.get("platforms", ()))
    return HiddenMeasurements(
        name="this server",
        method=method.name,
        version=method.version,
        date=f"{method.evaluation.created_at:%Y-%m-%d}",
        command="",
        errors=errors[answered],
        refused=int((~answered).sum()),
        coverage=method.statistics.get("coverage"),
        machines=machines,
    )


def shown_measurements() -> HiddenMeasurements | None:
    """Return the accuracy for the front page: the server's own evaluation, or the published figures of all public
    datasets if the own evaluation has too few predictions or machines."""
    found = own_measurements()
    if found is not None and len(found.errors) >= FEWEST_SHOWN and found.machines >= FEWEST_MACHINES:
        return found
    return pooled(published_measurements(), "public datasets")
