"""What the schema says is what the API does: schemathesis asks of every operation what is described, and what is not.

MPET_CONTRACT_EXAMPLES: so many random questions of each operation, beside those at the bounds of each parameter."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from accounts.device_logins import begin_login
from accounts.models import ApiToken
from benchmarks.client_wheel import wheel_name
from benchmarks.quarantine import store_in_quarantine
from predictor.core.methods import METHODS, settings_values
from predictor.models import Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from predictor.scaling_models.registry import SCALING_MODELS, describe_model
from predictor.scaling_models.task_graph import TASK_MEASURES
from profiles.dump.files import DUMP_FORMS
from profiles.dump.published import publish_dump
from profiles.identity.programs import programs_by_source
from profiles.models import Platform, Profile, Workload
from tests.mpet_site.api_samples import API, client_of, make_user, store, tarball
from tests.predictor.stored_evaluations import evaluate_and_store, store_report
from tests.programs import program_measurements
from tests.samples import sample_measurements

EXAMPLES = os.environ.get("MPET_CONTRACT_EXAMPLES", "4")
CONFIG = Path(__file__).with_name("schemathesis.toml")
NEED_A_TOKEN = {
    f"GET {API}account/",
    f"GET {API}account/export/",
    f"GET {API}prices/mine/",
    f"GET {API}tokens/",
    f"GET {API}uploads/",
    f"POST {API}predictions/batch/",
    f"POST {API}scaling-models/{{name}}/",
    f"POST {API}uploads/",
    f"POST {API}quarantine/{{secret}}/claim/",
    f"DELETE {API}predictions/",
    f"DELETE {API}uploads/{{id}}/",
    f"PATCH {API}programs/{{id}}/{{slug}}/",
    f"PATCH {API}uploads/{{id}}/",
}
MAY_BE_GONE = {
    f"DELETE {API}predictions/{{id}}/",  # by then another request has deleted all
    f"GET {API}kit/{{architecture}}/",  # `make static` was not run here; tests/benchmarks/api has an answer
}


@pytest.fixture
def names(transactional_db, settings, tmp_path):
    """A database that has something to answer on every path, and the names of its rows."""
    whole = sample_measurements(4, 6, seed=3)
    store(replace(whole, profiles=whole.profiles[1:]), label="first")
    user = make_user("ada")
    upload = client_of(user).post(API + "uploads/", {"file": tarball(), "visibility": "public"}).json()
    slugs = [rows.order_by("pk").first().slug for rows in (Workload.objects.all(), Platform.objects.all())]
    predict(PredictionRequest(*slugs))
    store(replace(whole, profiles=whole.profiles[:1]), label="later")
    source = store(program_measurements(), owner=user, label="program").source
    programs = programs_by_source([source.pk], None)[source.pk]
    doomed = [
        client_of(user).post(API + "uploads/", {"file": tarball(sample_measurements(1, 1, seed=seed))}).json()["id"]
        for seed in (11, 12, 13)
    ]
    quarantined = [
        store_in_quarantine(tarball(sample_measurements(1, 1, seed=seed)), "results.tar.gz")[1]
        for seed in range(20, 27)
    ]
    evaluation = evaluate_and_store()
    store_report()
    settings.STATE_DIR = tmp_path
    publish_dump()
    return {
        "client": [wheel_name()],
        "dump": list(DUMP_FORMS),
        "platforms": list(Platform.objects.visible_to(None).values_list("slug", flat=True)),
        "workloads": list(Workload.objects.visible_to(None).values_list("slug", flat=True)),
        "profiles": [str(uid) for uid in Profile.objects.visible_to(None).values_list("uid", flat=True)],  # these stay
        "predictions": [str(uid) for uid in Prediction.objects.values_list("uid", flat=True)],
        "evaluations": [str(evaluation.uid)],
        "uploads": [upload["id"]],
        "programs": [{"id": str(program.source_uid), "slug": program.slug} for program in programs],
        "regions": ["sort-merge12", "sort-split40"],
        "uploads to delete": doomed,
        "quarantine": quarantined[:1],
        "quarantine to delete": quarantined[1:4],
        "quarantine to claim": quarantined[4:],
        "scaling-models": list(SCALING_MODELS),
        "models": {
            name: describe_model(name) | {"measures": TASK_MEASURES if name == "task_graph" else ()}
            for name in SCALING_MODELS
        },
        "settings": {name: settings_values(method.settings()) for name, method in METHODS.items()},
        "device codes": [begin_login("a program", "192.0.2.1")[1]],
        "token": ApiToken.issue(user, "upload")[1],
    }


RUNS = {"with a token": "fuzzing", "at every bound": "examples,coverage,fuzzing,stateful", "as anybody": "fuzzing"}


@pytest.mark.parametrize(
    "run", ["with a token", *(pytest.param(run, marks=pytest.mark.lab) for run in ("at every bound", "as anybody"))]
)
def test_behaviour_and_schema_agree(run, names, live_server, tmp_path):
    """Trust 16. Every operation that is open to the asker also answers with what was asked for: names are real."""
    (tmp_path / "names.json").write_text(json.dumps(names))
    token = ("--header", f"Authorization: Bearer {names['token']}") if run != "as anybody" else ()
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG), "run", *token),
        *("--phases", RUNS[run], "--max-examples", EXAMPLES, f"{live_server.url}{API}schema/?format=json"),
    ]
    environment = os.environ | {
        "SCHEMATHESIS_HOOKS": str(CONFIG.with_name("contract_hooks.py")),
        "MPET_CONTRACT_NAMES": str(tmp_path / "names.json"),
        "MPET_CONTRACT_ANSWERS": str(tmp_path / "answers.json"),
    }
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answers = json.loads((tmp_path / "answers.json").read_text())
    assert len(answers) >= 39
    assert not {name: counts for name, counts in answers.items() if any(status >= "500" for status in counts)}
    answered = {name for name, counts in answers.items() if set(counts) & {"200", "201", "202", "204"}}
    assert set(answers) - answered - MAY_BE_GONE == (NEED_A_TOKEN if run == "as anybody" else set())
