"""trust 8: a computation survives the process that computes it, and what nobody needs any more goes away."""

from datetime import timedelta

import pytest
from django.utils import timezone

from predictor.comparisons import MapQuestion
from predictor.computations import running
from predictor.computations.asking import ask
from predictor.computations.running import compute
from predictor.core.assembly import MEASURED
from predictor.models import Computation
from predictor.predictions import ranking_rows
from predictor.predictions.rankings import RankingQuestion, rank_platforms
from predictor.snapshot.cache import read_snapshot
from profiles.jobs import queue
from profiles.jobs.queue import take_up
from profiles.models.base import MOST_ATTEMPTS
from tests.predictor.computations.conftest import WORKLOAD, store_more

pytestmark = pytest.mark.django_db


def claim_next():
    return queue._kinds["computations"].claim_next()


def let_lapse(computation):
    Computation.objects.filter(pk=computation.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def killed(monkeypatch, computation, platforms):
    """A process had the computation in hand, stored so many platforms of it, and was killed."""
    row, left = ranking_rows.ranking_row, list(range(platforms))

    def row_or_death(question, target):
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return row(question, target)

    assert computation.claim()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(running, "SAVE_SECONDS", 0)
        patch.setattr(ranking_rows, "ranking_row", row_or_death)
        compute(computation)


def test_what_a_killed_process_left_is_gone_on_with(waiting, computed, monkeypatch):
    killed(monkeypatch, waiting, 2)
    stored = Computation.objects.get()
    assert (stored.status, stored.done, stored.total) == ("waiting", 2, 3)
    assert take_up("computations") == 0  # the lease still runs: the process may be alive
    let_lapse(stored)
    assert (len(computed), take_up("computations")) == (2, 1)
    assert len(computed) == len(set(computed)) == 3
    assert Computation.objects.get().document == rank_platforms(WORKLOAD).document()


def test_who_was_given_up_stores_nothing_more(waiting, monkeypatch):
    assert waiting.claim()
    let_lapse(waiting)
    second = claim_next()
    monkeypatch.setattr(running, "SAVE_SECONDS", 0)
    compute(waiting)
    assert (Computation.objects.get().status, Computation.objects.get().done) == ("waiting", 0)
    compute(second)
    assert Computation.objects.get().is_done


def test_what_kills_every_process_is_given_up(waiting, monkeypatch):
    for _ in range(MOST_ATTEMPTS):
        killed(monkeypatch, Computation.objects.get(), 0)
        let_lapse(waiting)
    monkeypatch.setattr(ranking_rows, "ranking_row", None)
    take_up("computations")
    assert Computation.objects.get().has_failed


def test_one_that_waited_until_its_revision_was_gone_is_dropped(waiting):
    store_more()
    take_up("computations")
    assert not Computation.objects.exists()


def test_one_under_way_is_finished_at_its_own_revision(waiting, monkeypatch):
    row, more = ranking_rows.ranking_row, []

    def row_while_others_upload(question, target):
        if not more:
            more.append(store_more())
        return row(question, target)

    monkeypatch.setattr(ranking_rows, "ranking_row", row_while_others_upload)
    take_up("computations")
    done = Computation.objects.get()
    assert done.is_done
    assert done.document["revision"] == done.revision
    assert len(done.document["results"]) == 3


def test_the_newest_answers_are_kept_as_far_as_there_is_room(database, started, settings):
    for workload in (WORKLOAD, "app0-section1", "app1-section0"):
        ask(RankingQuestion.of(workload), None)
    take_up("computations")
    sizes = list(Computation.objects.order_by("-finished_at").values_list("size_bytes", flat=True))
    assert len(sizes) == 3
    settings.COMPUTATIONS_KEPT_BYTES = sum(sizes[:2])
    running.remove_old()
    assert [row.question["regions"] for row in Computation.objects.all()] == [["app0-section1"], ["app1-section0"]]


def test_what_is_quicker_does_not_wait_for_rankings(waiting):
    ask(RankingQuestion.of([WORKLOAD, "app0-section1"]), None)
    ask(MapQuestion(read_snapshot(None), MEASURED), None)
    ask(RankingQuestion.of("app0-section1"), None)
    claimed = [claim_next() for _ in range(5)]
    assert [one and (one.kind, one.question.get("regions")) for one in claimed] == [
        ("workload-map", None),
        ("ranking", [WORKLOAD]),
        ("ranking", [WORKLOAD, "app0-section1"]),
        ("ranking", ["app0-section1"]),
        None,
    ]
