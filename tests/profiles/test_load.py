"""Measured under load: what page and API of a profile and of a platform say of it, and to whom."""

from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from tests.pages import text_of
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_workload

pytestmark = pytest.mark.django_db


def disturbed(measurements):
    """Half of the runs, those with 1 to 5 of 11 thread counts, and nothing known of n = 6."""
    profiles = []
    for record in measurements.profiles:
        flags = np.where(record.runs.n == 6, np.nan, (record.runs.n < 6).astype(float))
        profiles.append(replace(record, runs=replace(record.runs, disturbed=flags)))
    return replace(measurements, profiles=profiles)


def test_a_profile_says_how_many_runs_were_disturbed_and_how_well_it_is_known(client):
    (profile,) = deliver(disturbed(measured())).profiles
    page = text_of(client.get(reverse("profile", args=[profile.uid])))
    assert "Measured under load: other programs disturbed 30 of 66 runs." in page
    document = client.get(reverse("api-profile", args=[profile.uid])).json()
    assert (document["run_count"], document["disturbed_count"]) == (66, 30)
    assert 0 < document["standard_error"] < 0.01
    assert f"±{100 * 1.645 * document['standard_error']:.3g} %" in page
    spread = document["spread"]
    assert spread["n"] == document["curves"]["n"]
    assert spread["count"] == [3] * 11  # clean runs, of which t(n) is the median
    assert spread["disturbed_count"] == [3] * 5 + [None] + [0] * 5
    times = sorted(profile.runs.filter(n=4, pass_kind="clean").values_list("time_s", flat=True))
    assert spread["deviation_s"][3] == pytest.approx(np.std(times, ddof=1))
    assert spread["low_quartile_s"][3] == pytest.approx((times[0] + times[1]) / 2)
    assert spread["high_quartile_s"][3] == pytest.approx((times[1] + times[2]) / 2)


def test_nothing_is_said_where_nobody_looked_and_without_runs_there_is_no_spread(client):
    (profile,) = deliver().profiles
    for address in (reverse("profile", args=[profile.uid]), reverse("platform", args=[profile.platform.slug])):
        assert "under load" not in text_of(client.get(address))
    assert client.get(reverse("api-profile", args=[profile.uid])).json()["disturbed_count"] is None
    assert client.get(reverse("api-platform", args=[profile.platform.slug])).json()["load"] is None
    profile.runs.all().delete()
    assert client.get(reverse("api-profile", args=[profile.uid])).json()["spread"] is None
    assert client.get(reverse("profile", args=[profile.uid])).status_code == 200


def test_a_platform_sums_up_what_the_viewer_sees(client, django_user_model):
    owner = django_user_model.objects.create_user("owner")
    (profile,) = deliver(disturbed(measured())).profiles
    deliver(disturbed(measured(workloads=[sample_workload(3)])), owner=owner, private=True)
    address = reverse("api-platform", args=[profile.platform.slug])
    assert client.get(address).json()["load"] == {"judged_runs": 66, "disturbed_runs": 30}
    page = text_of(client.get(reverse("platform", args=[profile.platform.slug])))
    assert "Measured under load: other programs disturbed 30 of 66 runs here." in page
    client.force_login(owner)
    assert client.get(address).json()["load"] == {"judged_runs": 132, "disturbed_runs": 60}
