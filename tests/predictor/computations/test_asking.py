"""trust 8: what takes longer than a request is computed behind it, once for all who may see the same."""

import pytest

from predictor.computations import asking
from predictor.computations.asking import ask, question_key
from predictor.core.methods import METHODS
from predictor.models import Computation
from predictor.predictions.rankings import RankingQuestion, rank_platforms
from profiles.jobs.queue import take_up
from tests.mpet_site.api_samples import make_user
from tests.predictor.computations.conftest import WORKLOAD

pytestmark = pytest.mark.django_db


def asked(user=None, workload=WORKLOAD, **choices):
    return ask(RankingQuestion.of(workload, user, **choices), user)


def test_what_fits_in_a_request_is_answered_in_it_and_not_stored(database):
    answer = asked()
    assert answer.is_computed
    assert answer.document == rank_platforms(WORKLOAD).document()
    assert not Computation.objects.exists()


def test_what_does_not_fit_is_computed_once_for_all_who_ask(
    database, started, monkeypatch, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        first, second = asked(), asked(make_user("ada"))
    assert not (first.is_computed or second.is_computed)
    assert (first.document, first.has_begun) == (None, False)
    assert len(started) == Computation.objects.count() == 1
    assert take_up("computations") == 1
    document = rank_platforms(WORKLOAD).document()
    monkeypatch.setattr(RankingQuestion, "steps", None)
    for user in (None, make_user("bob")):
        answer = asked(user)
        assert answer.is_computed
        assert answer.document == document


def test_what_the_request_had_time_for_is_kept(database, started, computed, monkeypatch):
    def two_steps(steps, seconds):
        return [next(steps) for _ in range(3)][-1], False  # the first is where it begins

    monkeypatch.setattr(asking, "steps_within", two_steps)
    answer = asked()
    assert (answer.done, answer.total) == (2, 3)
    assert len(answer.document["results"]) == 2
    take_up("computations")
    assert len(computed) == len(set(computed)) == 3
    assert asked().document == rank_platforms(WORKLOAD).document()


def test_no_more_wait_than_may(database, started, settings):
    settings.COMPUTATIONS_WAITING = 2
    asked()
    asked(workload="app0-section1")
    assert asked(workload="app1-section0").is_full
    assert not asked().is_computed  # who waits already is told how far it is
    assert Computation.objects.count() == 2
    take_up("computations")
    answer = asked(workload="app1-section0")
    assert not (answer.is_full or answer.is_computed)


def test_who_may_set_nothing_going_is_still_told_what_others_did(database, started):
    def forbidden():
        return ask(RankingQuestion.of(WORKLOAD), None, may_enqueue=lambda: False)

    assert (forbidden().is_full, Computation.objects.exists()) == (True, False)
    asked()
    answer = forbidden()
    assert not (answer.is_full or answer.is_computed)


def test_a_question_differs_by_all_that_changes_its_answer(database):
    ada, bob = make_user("ada"), make_user("bob")
    questions = [
        RankingQuestion.of(WORKLOAD),
        RankingQuestion.of(WORKLOAD, method="mpet2020"),
        RankingQuestion.of(WORKLOAD, level=0.8),
        RankingQuestion.of(WORKLOAD, include_simulated=True),
        RankingQuestion.of("app0-section1"),
    ]
    keys = [question_key(question, viewer) for question in questions for viewer in (None, ada, bob)]
    assert len(set(keys)) == len(keys)
    assert question_key(RankingQuestion.of(WORKLOAD, ada), None) == keys[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_stored_question_is_understood_again(database, started, method):
    question = RankingQuestion.of(WORKLOAD, method=method)
    ask(question, None)
    stored = Computation.objects.get()
    assert RankingQuestion.from_canonical(stored.question, None).canonical() == question.canonical() == stored.question
