"""The pages of one platform, one workload and one profile, and what all pages about them have in common."""

from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from predictor.snapshot.cache import read_database
from profiles.models import Profile, Workload
from profiles.pages import views
from profiles.scaling.features import stored_features
from tests.pages import figures_of, store_dataset, store_private, store_public, text_of
from tests.profiles.deliveries import deliver
from tests.profiles.scaling.ceilings import MEASURED
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db


@pytest.fixture
def public():
    return store_public()


def test_a_platform_shows_its_topology_and_its_profiles(client, public):
    platform = public[0].platform
    address = reverse("platform", args=[platform.slug])
    page = client.get(address)
    words = text_of(page)
    assert "Second NUMA node beyond 4 threads" in words
    assert "SMT threads beyond 8 threads" in words
    assert words.count("L1 data 32 KiB L2 1 MiB L3 16 MiB") == 1
    assert "machine-0 2 sockets, 8 cores, 16 threads" in words
    for label in ("Sockets 2", "NUMA nodes 2", "Cores 8", "Threads 16"):
        assert label in words, "a label for each fact"
    assert f"{reverse('compare-platforms')}?platform={platform.slug}" in page.content.decode()
    for said in ("faster than", "4 profiles", "Compilers and kernels of these uploads", "g++ 12.2 -O2 Linux 6.1"):
        assert said in words
    assert "2 sockets, 2 NUMA nodes, 8 cores, 16 hardware threads" in page.content.decode()
    assert "machine-1" in words  # among the most similar


def test_a_platform_shows_its_measured_ceilings_with_its_workloads(client):
    deliver(sample_measurements(1, 2, environment={"roofline": MEASURED}))
    page = client.get(reverse("platform", args=["machine-0"]))
    figure = figures_of(page)["roofline"]
    assert [trace["name"] for trace in figure["data"]] == ["1 thread", "2 threads", "workloads, by instructions"]
    assert figure["data"][2]["text"] == ["app0/section0, 16 threads", "app0/section1, 16 threads"]
    for words in ("CPU 0 and CPU 1 61.7 ns", "2 threads 64.4 ns", "Measured ceilings"):
        assert words in text_of(page)


def test_a_platform_whose_ceilings_nobody_measured_has_no_empty_section(client):
    deliver(sample_measurements(1, 1, environment={"roofline": {"peak_flops": "?"}}))
    page = client.get(reverse("platform", args=["machine-0"]))
    assert "Measured ceilings" not in text_of(page)
    assert "plotly" not in page.content.decode()


def test_a_workload_shows_time_and_speedup_on_its_platforms(client, public):
    page = client.get(reverse("workload", args=[public[0].workload.slug]))
    assert set(figures_of(page)) == {"ranking", "limits", "time", "speedup"}
    assert len(figures_of(page)["time"]["data"]) == 3


def test_a_profile_shows_figure_5_its_fits_and_its_source(client, public, monkeypatch):
    address = reverse("profile", args=[public[0].uid])
    page = client.get(address)
    assert set(figures_of(page)) == {"shares", "speedup", "pop", "redundancy", "losses", "residuals", "counters"}
    words = text_of(page)
    for said in ("public.tar.gz", "16 threads are", "redundancy", "work imbalance", "BR-M/INSTR", "L1-LD/LLC-LDM"):
        assert said in words
    assert "Compiler, flags, kernel g++ 12.2, -O2, Linux 6.1" in words
    assert "INSTR" in page.context["counters"].columns
    assert "budget" in figures_of(client.get(address, {"budget": "time"}))
    # A fit through all points has no residual.
    features, rms = stored_features(public[0])
    monkeypatch.setattr(views, "stored_features", lambda profile: (features, np.full_like(rms, 3.5e-16)))
    page = client.get(address)
    assert {row[2] for rows in page.context["fits"].values() for row in rows} == {0.0}


def test_a_time_only_profile_shows_no_parts_and_no_empty_fits(client):
    profile = store_dataset()[0]
    page = client.get(reverse("profile", args=[profile.uid]))
    assert set(figures_of(page)) == {"speedup", "efficiency", "redundancy", "residuals"}
    assert [row[0] for row in page.context["fits"]["Scaling curves"]] == ["redundancy"]
    assert list(page.context["fits"]) == ["Scaling curves"]


def test_a_profile_that_waits_for_its_curves_is_still_a_page(client, public):
    profile = public[0]
    profile.curves.delete()
    profile.feature_vector.delete()
    assert client.get(reverse("profile", args=[profile.uid])).status_code == 200
    assert client.get(reverse("workload", args=[profile.workload.slug])).status_code == 200


def test_licence_and_source_stand_wherever_a_dataset_is_shown_and_relative_times_are_no_seconds(client):
    profile = store_dataset()[0]
    for address in map(reverse, ("home", "platforms", "workloads", "profiles")):
        check_dataset(client.get(address), address == reverse("profiles"))
    for address in addresses_of(profile):
        check_dataset(client.get(address), True)


def check_dataset(page, shows_times: bool) -> None:
    words = text_of(page)
    assert "Example measurements of 2026" in words
    assert "CC BY-SA 4.0" in words
    if shows_times:
        assert "unknown unit" in words
        assert " ms " not in words


def addresses_of(profile: Profile) -> list[str]:
    return [
        reverse("platform", args=[profile.platform.slug]),
        reverse("workload", args=[profile.workload.slug]),
        reverse("profile", args=[profile.uid]),
    ]


def test_what_is_private_to_others_is_as_unknown_as_what_never_was_and_changes_no_list(client, public, ada, bob):
    pages = [reverse(name) for name in ("home", "platforms", "workloads", "profiles")]
    before = [text_of(client.get(address)) for address in pages]
    addresses = addresses_of(store_private(ada)[0])
    assert [text_of(client.get(address)) for address in pages] == before
    for viewer in (None, bob):
        if viewer:
            client.force_login(viewer)
        for address in addresses:
            missing = client.get(address)
            assert missing.status_code == 404
            assert "secret" not in text_of(missing)
            if "/platforms/" in address:
                assert text_of(missing) == text_of(client.get(reverse("platform", args=["never-was"])))


def test_the_owner_sees_private_rows_with_badges(client, public, ada):
    profile = store_private(ada)[0]
    client.force_login(ada)
    for address in (reverse("platforms"), reverse("workloads"), reverse("profiles"), *addresses_of(profile)):
        content = client.get(address).content.decode()
        assert '<span class="badge private">private</span>' in content, address
        assert '<span class="badge simulated">simulated</span>' in content or "/platforms/secret" in address, address


def test_charts_say_what_is_simulated_in_title_and_saved_numbers(client, public):
    simulated = replace(sample_measurements(1, 1, seed=5), origin="simulated")
    again = deliver(simulated, kind="simulator").profiles[0]
    page = client.get(reverse("workload", args=[again.workload.slug]))
    names = [trace["name"] for trace in figures_of(page)["time"]["data"]]
    assert names.count("machine-0 (simulated)") == names.count("machine-0") == 1
    content = page.content.decode()
    assert "Time (partly simulated)" in content
    assert 'data-origin="mixed"' in content
    content = client.get(reverse("profile", args=[again.uid])).content.decode()
    assert "Speedup (simulated)" in content
    assert 'data-origin="simulated"' in content
    content = client.get(reverse("profile", args=[public[0].uid])).content.decode()
    assert "data-origin" not in content
    assert "(simulated)" not in content


def test_private_profiles_on_public_platforms_are_hidden_and_not_counted(client, public, ada):
    """The same machine and workloads, measured again in private."""
    deliver(sample_measurements(seed=9), owner=ada, private=True)
    assert Profile.objects.count() == 24
    page = client.get(reverse("platforms"))
    assert [row.profile_count for row in page.context["page"]] == [4, 4, 4]
    assert "4 profiles" in text_of(client.get(reverse("platform", args=[public[0].platform.slug])))


def test_queries_do_not_grow_with_the_rows(client, public, django_assert_num_queries):
    profile = public[0]
    read_database()  # made once a revision and process
    # count, page, sources, and the values of six filters
    with django_assert_num_queries(9):
        client.get(reverse("platforms"))
    with django_assert_num_queries(7):
        client.get(reverse("workloads"))
    # platforms and workloads to choose from, and what has their names, count, keys of the page, its rows, sources
    with django_assert_num_queries(8):
        client.get(reverse("profiles"))
    # the platform, count, page with workloads and curves, ceilings, sources, what deliveries say otherwise, their
    # compilers, how many runs were disturbed, prices; revision and newest profile, for the standing and for the
    # neighbours
    with django_assert_num_queries(14):
        client.get(reverse("platform", args=[profile.platform.slug]))
    # the workload, the profile that stands for it, its ceilings, its uploads, count, page with platforms and curves,
    # sources, what deliveries say otherwise; revision and newest profile, twice; stored ranking, waiting computations,
    # machines, what has their names, prices; the neighbours
    with django_assert_num_queries(19):
        client.get(reverse("workload", args=[profile.workload.slug]))
    # the profile with all that belongs to it, its runs, the platform's ceilings, its counters, its compiler
    with django_assert_num_queries(5):
        client.get(reverse("profile", args=[profile.uid]))


def test_workload_pages_hold_as_many_curves_as_a_figure_bears(client):
    store_public(platforms=18, workloads=1)
    page = client.get(reverse("workload", args=[Workload.objects.get().slug]))
    assert len(figures_of(page)["time"]["data"]) == len(page.context["about"]["page"]) == 16
    assert "16 of 18 profiles. All profiles of this workload" in text_of(page)
