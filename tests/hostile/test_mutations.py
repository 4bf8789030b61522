"""A slice of the campaign (lab/hostile/campaign.py), and what the campaign itself relies on."""

import json
import random
import resource
import time

import pytest

from accounts.models import ApiToken
from benchmarks.reading import UNEXPECTED
from lab.hostile.archives import FAMILIES, fresh_files, good_tarballs
from lab.hostile.attack import Answered, Campaign, InProcess, is_told, known_names, outcome_of
from lab.hostile.campaign import MEMORY_LIMIT
from lab.hostile.foreign_files import CHANGES, foreign_mutation
from lab.hostile.mutations import API, KINDS, Known, Sent, mutation
from lab.hostile.sweep import api_addresses, sweep
from lab.hostile.values import change_document, hostile_json
from tests.benchmarks.formats.test_formats import FILES
from tests.benchmarks.tarballs import pack, read
from tests.browser.walk import pages_of
from tests.pages import store_dataset, store_public, user

SLOW_S = 60.0  # a hang, not a measurement
KNOWN = Known(["p", "q"], ["v", "w"], ["0" * 8], [])


@pytest.fixture
def little_memory():
    """What takes gigabytes fails here, instead of taking the machine with it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def campaign(little_memory, db):
    store_dataset()
    profile = store_public()[0]
    owner = user("mallory")
    walk = pages_of(profile, owner)
    secret = ApiToken.issue(owner, ApiToken.Scope.UPLOAD)[1]
    return Campaign(InProcess(owner, secret), known_names(), seed=17, slow_s=SLOW_S), walk


@pytest.mark.lab
def test_the_slice_breaks_nothing_and_every_address_answers_afterwards(campaign):
    attack, walk = campaign
    figures = attack.run(range(400))
    assert sweep(attack, walk) > 150
    assert not figures.failures, "\n\n".join(f"{one.what}: {one.where}\n{one.detail}" for one in figures.failures)
    outcomes = {outcome for _, outcome in figures.families}
    assert outcomes >= {"accepted", "refused", "read"}


def test_the_slice_of_foreign_files_breaks_nothing(campaign):
    attack, _ = campaign
    attack.make = foreign_mutation
    figures = attack.run(range(40))
    assert not figures.failures, "\n\n".join(f"{one.what}: {one.where}\n{one.detail}" for one in figures.failures)
    assert {outcome for _, outcome in figures.families} >= {"refused", "read"}


def test_every_change_of_every_format_is_sent():
    made = [foreign_mutation(5, number, KNOWN) for number in range(400)]
    assert {mutated.family for mutated in made} == {f"{tool}: {change}" for tool in FILES for change in CHANGES}
    assert foreign_mutation(5, 7, KNOWN) == made[7]
    assert max(len(mutated.sent.body) for mutated in made) > 2_000_000


def test_the_same_seed_and_number_send_the_same_bytes(monkeypatch):
    first = [mutation(3, number, KNOWN) for number in range(60)]
    monkeypatch.setattr(time, "time", lambda: 1_900_000_000.0)  # gzip's header tells the time
    assert [mutation(3, number, KNOWN) for number in range(60)] == first
    assert mutation(4, 7, KNOWN) != mutation(3, 7, KNOWN)


def test_every_kind_and_every_family_is_sent():
    made = [mutation(5, number, KNOWN).family for number in range(600)]
    expected = {f"tarball: {name}" for name in FAMILIES} | (set(KINDS) - {"upload"})
    assert set(made) == expected


def test_what_is_mutated_is_good_before():
    for content in good_tarballs():
        assert read(content).profiles
    for seed in range(5):
        assert read(pack(fresh_files(random.Random(seed)))).profiles


def test_documents_are_changed():
    document = {"a": [1, 2, {"b": None}], "c": "x"}
    texts = {change_document(random.Random(seed), json.loads(json.dumps(document)))[1] for seed in range(50)}
    assert len(texts) > 40
    assert json.dumps(document) not in texts
    assert all(isinstance(hostile_json(random.Random(seed)), str) for seed in range(50))


class Scripted:
    """Answers what it is told to, and may store something meanwhile."""

    signs_in_to_pages = True

    def __init__(self, answer: Answered, also=lambda: None) -> None:
        self.answer, self.also = answer, also
        self.asked = []

    def __call__(self, sent: Sent) -> Answered:
        self.also()
        self.asked.append(sent.path)
        return self.answer


def failures_of(answer: Answered, also=lambda: None) -> set[str]:
    """What a campaign says of a server that always answers so; number 0 of this seed is an upload."""
    attack = Campaign(Scripted(answer, also), KNOWN, seed=17, slow_s=1.0)
    number = next(n for n in range(99) if mutation(17, n, KNOWN).family == "tarball: json")
    attack.run([number])
    return {failure.what for failure in attack.figures.failures}


def rejection(**error) -> bytes:
    entry = {"member": "platform.json", "line": 3, "reason": "too large"} | error
    return json.dumps({"status": "rejected", "report": {"errors": [entry], "warnings": []}}).encode()


@pytest.mark.django_db
def test_the_campaign_sees_what_is_wrong():
    good = Answered(201, rejection(), "application/json", 0.1)
    assert failures_of(good) == set()
    assert failures_of(Answered(500, b"", "", 0.1)) == {"500"}
    assert failures_of(Answered(201, rejection(reason="internal error"), "", 0.1)) == {"internal error"}
    assert failures_of(Answered(201, rejection(reason=UNEXPECTED), "", 0.1)) == {"internal error"}
    assert failures_of(Answered(201, rejection(member=None), "", 0.1)) == {"no reason, member or line"}
    assert failures_of(Answered(201, rejection(), "", 2.0)) == {"slow"}
    assert failures_of(Answered(400, b"{}", "text/html", 0.1)) == {"no problem document"}
    assert failures_of(good, also=store_dataset) == {"counts changed"}


@pytest.mark.django_db
@pytest.mark.parametrize("signs_in", [True, False])
def test_pages_of_private_uploads_are_looked_at_by_who_is_signed_in(signs_in):
    report = {"status": "accepted", "visibility": "private", "profiles": ["0" * 8], "report": {}}
    send = Scripted(Answered(200, json.dumps(report).encode(), "application/json", 0.1))
    send.signs_in_to_pages = signs_in
    attack = Campaign(send, KNOWN, seed=17, slow_s=1.0)
    for number in range(8):
        attack.look_at(mutation(17, number, KNOWN), report)
    assert not attack.figures.failures
    assert all(path.startswith(API) for path in send.asked) != signs_in


def test_a_row_of_a_csv_has_a_line():
    error = {"member": "runs.csv", "line": None, "reason": "n 0 is less than 1"}
    assert not is_told(error, in_member=True)
    assert is_told(error | {"line": 2}, in_member=True)
    assert is_told(error | {"reason": "no column repeat"}, in_member=True)
    assert not is_told(error | {"line": 2, "reason": ""}, in_member=True)


def test_what_became_of_a_request():
    post = Sent("POST", f"{API}predictions/")
    outcomes = {status: outcome_of(post, Answered(status, b"{}", "", 0))[0] for status in (201, 400, 500)}
    assert outcomes == {201: "accepted", 400: "refused", 500: "failed"}
    assert outcome_of(Sent("GET", "/"), Answered(200, b"", "", 0))[0] == "read"
    previews = [{"errors": errors, "workloads": []} for errors in ([], [{"reason": "x"}])]
    answers = [Answered(200, json.dumps(preview).encode(), "", 0) for preview in previews]
    assert [outcome_of(Sent("POST", f"{API}uploads/"), answer)[0] for answer in answers] == ["read", "refused"]


@pytest.mark.django_db
def test_every_path_of_the_schema_that_can_be_read_is_swept(campaign):
    paths = [address.split("?")[0] for address in api_addresses(store_public(seed=5)[0])]
    assert len(paths) > 30
    assert not [path for path in paths if "{" in path]
