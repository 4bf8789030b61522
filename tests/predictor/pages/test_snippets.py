"""Every snippet, run as a reader runs it, gets the answer of the page."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest
from django.urls import reverse

from accounts.models import ApiToken
from predictor.pages import snippets
from predictor.predictions.request import PredictionRequest
from predictor.predictions.service import predict
from tests.pages import store_public, user

pytestmark = pytest.mark.django_db(transaction=True)
REQUESTS = {
    "plain": {},
    "everything": {
        "references": ["machine-0", "machine-2"],
        "method": "mpet2020",
        "n": [1, 2, 4],
        "settings": {"t1_workloads": 2},
        "include_simulated": True,
    },
    "scaling alone": {"scenario": "scaling"},
    "what if": {"workload_changes": {"lock_delay": 0.5, "work": 2}, "platform_changes": {"n_ht": None, "n_max": 8}},
}


@pytest.fixture(params=list(REQUESTS))
def stored(request):
    store_public()
    return predict(PredictionRequest("app0-section0", "machine-1", **REQUESTS[request.param]))


@pytest.fixture
def environment():
    _, secret = ApiToken.issue(user("ada"), name="laptop", scope="predict")
    return {**os.environ, "MPET_TOKEN": secret, "NO_PROXY": "*", "no_proxy": "*"}


def run(command, environment, **options) -> str:
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=60, **options
    ).stdout


def address(live_server) -> str:
    return live_server.url + reverse("api-predictions")


def test_the_python_program_prints_the_curve(stored, environment, live_server):
    program = snippets.python_program(stored.answer, address(live_server))
    printed = [line.split() for line in run([sys.executable, "-c", program], environment).splitlines()]
    expected = [[str(row[name]) for name in ("n", "time_s", "low_s", "high_s")] for row in stored.answer["curve"]]
    assert printed == expected


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_the_command_answers_with_the_stored_prediction(stored, environment, live_server):
    command = snippets.curl_command(stored.answer, address(live_server)).replace("curl ", "curl --silent --fail ", 1)
    answer = json.loads(run(["sh", "-c", command], environment))
    assert answer["id"] == str(stored.uid)
    assert answer["curve"] == stored.answer["curve"]


def test_the_command_is_one_that_a_shell_takes_apart_as_meant(stored):
    command = shlex.split(snippets.curl_command(stored.answer, "http://localhost/it's/").replace("\\\n", " "))
    assert command[1] == "http://localhost/it's/"
    assert json.loads(command[command.index("-d") + 1]) == snippets.request_body(stored.answer)
