"""Who computes: `manage.py db_worker` (MPET_TASKS=database), or a thread of the server that was asked."""

import logging
import threading

from django.conf import settings
from django.db import connections
from django_tasks import task

from predictor.computations.running import compute_waiting
from predictor.models import Computation

logger = logging.getLogger(__name__)
AFTER_UPLOADS = -10  # of django_tasks' priorities: what somebody sent comes first


@task(priority=AFTER_UPLOADS)
def compute_what_waits() -> None:
    """Compute what waits, until nothing does."""
    compute_waiting()


def uses_workers() -> bool:
    return not settings.TASKS["default"]["BACKEND"].endswith("ImmediateBackend")


def start_computing() -> None:
    """Have what waits computed, not in this request."""
    if uses_workers():
        compute_what_waits.enqueue()
    else:
        threading.Thread(target=compute_in_thread, name="computations", daemon=True).start()


def compute_in_thread() -> None:
    try:
        compute_waiting()
    except Exception:
        logger.exception("nothing more is computed in this thread")
    finally:
        connections.close_all()


def take_up_computations() -> None:
    """Go on with what a killed process left; a chore of every server and worker (mpet_site.web.periodic_tasks)."""
    if not uses_workers():
        compute_waiting()
        return
    lapsed = Computation.objects.unfinished().lapsed()
    if any(computation.claim() and computation.release() for computation in lapsed):
        compute_what_waits.enqueue()
