"""A profile in the forms of other tools: exactly what was measured, to those who may see it."""

import csv
import io
import json

import numpy as np
import pytest

from profiles.models import Profile, Run
from tests.mpet_site.api_samples import client_of, store
from tests.samples import sample_measurements, varied_measurements

pytestmark = pytest.mark.django_db


def path(profile, form):
    return f"/api/v1/profiles/{profile.uid}/{form}/"


@pytest.fixture
def profile():
    return store(varied_measurements()).profiles[0]


def test_extra_p_has_the_repeats_that_the_curve_is_the_median_of(client, profile):
    lines = client.get(path(profile, "extra-p")).content.decode().splitlines()
    words = {line.split()[0]: line.split()[1:] for line in lines if not line.startswith("DATA")}
    assert (words["PARAMETER"], words["METRIC"], words["REGION"]) == (["n"], ["time"], ["app0/section0"])
    medians = [float(np.median([float(t) for t in line.split()[1:]])) for line in lines if line.startswith("DATA")]
    stored = Profile.objects.get(pk=profile.pk).curves
    assert [int(n) for n in words["POINTS"]] == stored.n.tolist()
    assert medians == stored.values[: len(stored.n)].tolist()


def test_json_lines_say_the_same(client, profile):
    answer = client.get(path(profile, "extra-p-lines"))
    assert answer["Content-Type"].startswith("application/jsonl")
    rows = [json.loads(line) for line in answer.content.decode().splitlines()]
    clean = Run.objects.filter(profile=profile, pass_kind="clean", size=None, clock_mhz=None)
    expected = sorted(clean.values_list("n", "time_s"))
    assert sorted((row["params"]["n"], row["value"]) for row in rows) == expected
    assert {row["callpath"] for row in rows} == {"app0/section0"}


def test_raw_runs_are_all_runs(client, profile):
    rows = list(csv.DictReader(io.StringIO(client.get(path(profile, "runs")).content.decode())))
    assert len(rows) == Run.objects.filter(profile=profile).count()
    stored = Run.objects.filter(profile=profile).order_by("pk")
    for row, run in zip(rows, stored, strict=True):
        assert (int(row["n"]), row["pass"], float(row["time_s"])) == (run.n, run.pass_kind, run.time_s)
        assert row["use_ns"] == ("" if run.use_ns is None else str(run.use_ns))
        assert row["size"] == ("" if run.size is None else str(run.size))


@pytest.mark.parametrize("form", ["extra-p", "extra-p-lines", "runs"])
def test_private_profiles_are_their_owners(client, form, alice, bob):
    secret = store(sample_measurements(1, 1, seed=3), owner=alice, private=True).profiles[0]
    viewers = (client, client_of(bob), client_of(alice))
    assert [viewer.get(path(secret, form)).status_code for viewer in viewers] == [404, 404, 200]


def test_the_page_leads_there(client, profile):
    page = client.get(f"/profiles/{profile.uid}/").content.decode()
    assert all(f'href="{path(profile, form)}"' in page for form in ("extra-p", "extra-p-lines", "runs"))
