import re
from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from predictor.pages.distances import heat_map_cell
from predictor.snapshot.cache import read_database
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.models import Platform, Revision, Workload
from tests.pages import figures_of, store_dataset, store_private, text_of, twin_of, user
from tests.predictor.conftest import store
from tests.samples import sample_measurements, sample_platform, sample_runs

pytestmark = pytest.mark.django_db
PAGES = ("workload-map", "platform-distances", "workload-distances", "compare-platforms", "compare-workloads")


def platforms(*numbers: int) -> str:
    return reverse("compare-platforms") + "?" + "&".join(f"platform=machine-{number}" for number in numbers)


def workloads(*slugs: str) -> str:
    return reverse("compare-workloads") + "?" + "&".join(f"workload={slug}" for slug in slugs)


def test_the_map_has_a_point_a_workload_that_leads_to_it(client, public):
    page = client.get(reverse("workload-map"), {"mark": "app0-section0"})
    traces = figures_of(page)["map"]["data"]
    assert sorted(address for trace in traces for address in trace["meta"]["addresses"]) == [
        reverse("workload", args=[slug]) for slug in Workload.objects.values_list("slug", flat=True)
    ]
    assert sorted(size for trace in traces for size in trace["marker"]["size"]) == [10, 10, 10, 17]
    assert {trace["name"] for trace in traces} == {"domain decomposition", "dynamic loop", "recursive", "wavefront"}


def test_a_heat_map_sorts_by_the_distance_to_one(client, public):
    page = client.get(reverse("platform-distances"), {"near": "machine-2"})
    assert page.context["heads"][0][0] == "machine-2"
    distances = [float(text) for text in re.findall(r'data-distance="([^"]+)"', page.context["rows"][0][2])]
    assert len(distances) == 3 and distances == sorted(distances)
    unsorted = client.get(reverse("platform-distances"), {"near": "never-was"})
    assert [slug for slug, _ in unsorted.context["heads"]] == ["machine-0", "machine-1", "machine-2"]


def test_compared_platforms_show_speeds_wins_curves_and_figure_9(client, public):
    page = client.get(platforms(0, 1, 2))
    figures = figures_of(page)
    assert {"speed", "time", "speedup", "characteristic-0", "characteristic-3"} <= set(figures)
    assert [trace["name"] for trace in figures["time"]["data"]] == ["machine-0", "machine-1", "machine-2"]
    assert next(trace["x"] for trace in figures["speed"]["data"]) == [1.0] * 4
    assert page.content.decode().count('href="/platforms/machine-2/"') == 2, "in the wins and in the table"
    words = text_of(page)
    assert "4 of 4" in words  # the first is the fastest everywhere
    assert "machine-1: 4 workloads compared as whole machines. machine-2:" in words
    heads = ("Wins per core", "Speed per core", "Wins at equal n", "Speed at equal n", "Machine 3 Machine 4, optional")
    assert [head for head in heads if head not in words] == []
    other = client.get(platforms(0, 1) + "&workload=app1-section0")
    assert other.context["drawn"].workload == "app1-section0"
    twin = client.get(twin_of(other)).json()
    assert [one["platform"] for one in twin["platforms"]] == [one.platform for one, *_ in other.context["standings"]]
    assert sum(one["wins_per_core"] for one in twin["platforms"]) == 4
    assert {workload["equal_n"] for workload in twin["workloads"]} == {16}


def test_many_shared_workloads_are_paged_and_counted_over_all_pages(client, public, monkeypatch):
    monkeypatch.setattr("predictor.pages.comparisons.SHARED_PER_PAGE", 3)
    first, second = (client.get(platforms(0, 1) + query) for query in ("", "&page=2&workload=app0-section0"))
    assert [len(page.context["shared"]) for page in (first, second)] == [3, 1]
    assert [len(figures_of(page)["speed"]["data"][0]["x"]) for page in (first, second)] == [3, 1]
    for page in (first, second):
        assert "4 of 4" in text_of(page)
        assert page.context["drawn"].workload == "app0-section0", "drawn, although it is on the other page"
    assert "The chart and the table show 3 of 4 workloads." in text_of(first)


def test_a_machine_measured_at_one_thread_is_not_compared_as_a_whole_machine(client, public):
    """Of the other machine's 12 cores the workloads took one, all with SMT, ten (where the first has no time), all."""
    counts = {0: (1,), 1: (1, 24), 2: (10,), 3: (1, 12)}
    rng = np.random.default_rng(1)
    measurements = sample_measurements(1, 4)
    size = {"physical_cores": 12, "threads": 24, "n_max": 24, "n_nu": 6, "n_ht": 12, "placement": tuple(range(24))}
    measurements.platforms[0] = sample_platform(3, name="cloud/small.2", **size)
    measurements.profiles[:] = [
        replace(profile, runs=sample_runs(rng, counts[profile.workload]), counters=None)
        for profile in measurements.profiles
    ]
    store(measurements, label="n1")
    page = client.get(reverse("compare-platforms"), {"platform": ["machine-0", "cloud/small.2"]})
    words, twin = text_of(page), client.get(twin_of(page)).json()
    partial, others = twin["workloads"][0], [one["platforms"][1] for one in twin["workloads"]]
    assert [one["compared"] for one in others] == ["equal_n", "whole", "no_common_n", "whole"]
    assert (partial["winner"], partial["equal_n"], others[0]["speed"]) == (None, 1, None)
    assert others[0]["speed_at_equal_n"] > 0
    other = twin["platforms"][1]
    whole = [one["speed"] for one in others if one["speed"]]
    assert other["mean_speed"] == pytest.approx((whole[0] * whole[1]) ** 0.5)
    assert (other["compared_whole"], other["compared_at_equal_n"], other["left_out_no_common_n"]) == (2, 1, 1)
    assert "geometric mean of 2 workloads" in words
    assert (
        "cloud/small.2: 2 workloads compared as whole machines. 1 compared at the largest common n only, because one "
        "of the two did not run it on every core. 1 omitted: 1 without a common n, 0 not run on the first."
    ) in words
    assert "n = 1, not on all 12 cores" in words and "× at n = 1" in words
    speed = figures_of(page)["speed"]["data"][1]
    assert speed["marker"]["symbol"] == ["square-open", "square", "square-open", "square"]
    assert speed["text"] == ["both at n = 1", "whole machines", "no common n", "whole machines"]
    assert speed["x"][2] is None


def test_names_are_taken_as_well_as_slugs(client, public):
    measurements = sample_measurements(2, 2)
    measurements.platforms[:] = [sample_platform(i, name=f"cloud/c{i}.large") for i in range(2)]
    store(measurements, label="cloud")
    on = {"on": "machine-1"}
    for view, names, slugs in (
        ("platform", ["cloud/c0.large", "machine-0"], ["cloud-c0-large", "machine-0"]),
        ("workload", ["app0/section0", "app1/section1"], ["app0-section0", "app1-section1"]),
    ):
        by_name, by_slug = (client.get(reverse(f"compare-{view}s"), {view: chosen} | on) for chosen in (names, slugs))
        assert by_name.context["chosen"] == by_slug.context["chosen"]
        assert view == "workload" or by_name.context["shared"]
        assert twin_of(by_name) == twin_of(by_slug)
    assert by_slug.context["on"].slug == "machine-1"
    curves = figures_of(by_slug)["time"]["data"]
    assert [trace["name"] for trace in curves] == ["app0/section0", "app1/section1"]
    address = reverse("api-compare-workloads")
    asked = {"slugs": "app0/section0,app1-section1"} | on
    assert client.get(address, asked).json() == client.get(twin_of(by_slug)).json()
    once = client.get(address, {"slugs": "app0/section0,app0-section0"} | on)
    assert once.json()["errors"][0]["name"] == "slugs"


def test_an_unknown_name_or_parameter_is_an_error(client, public):
    page, address = reverse("compare-platforms"), reverse("api-compare-platforms")
    misspelt = client.get(page, {"platform": ["machine-0", "machin-1"]})
    assert misspelt.status_code == 404
    assert "There is no machine “machin-1” Did you mean: machine-1" in text_of(misspelt)
    assert f'href="{reverse("platform", args=["machine-1"])}"' in misspelt.content.decode()
    assert client.get(workloads("app0-section0", "app1-section1") + "&on=nothing").status_code == 404
    for query in (
        "",
        "slugs=machine-0",
        "slugs=machine-0,machine-1&by=price",
        "slugs=machine-0,machine-1&origin=x",
        "slugs=machine-0,machine-1&include_simulated=1",
        "slugs=machine-0,machin-1",
    ):
        refused = client.get(f"{address}?{query}")
        assert refused.status_code == 400, query
    assert "Did you mean" in refused.json()["detail"]


@pytest.mark.parametrize("kind", ["platform", "workload"])
def test_what_nobody_may_see_is_not_found(client, public, kind):
    profile = store_private(user("ada"))[0]
    slug = getattr(profile, kind).slug
    public_slug = "machine-0" if kind == "platform" else "app0-section0"
    address = f"{reverse(f'compare-{kind}s')}?{kind}={public_slug}&{kind}="
    assert client.get(address + slug).status_code == client.get(address + "never-was").status_code == 404


def test_private_measurements_leave_every_page_of_others_as_it_was(client, public):
    addresses = [*(reverse(name) for name in PAGES), reverse("workload-map") + "?origin=simulated"]
    before = [text_of(client.get(address, follow=True)) for address in addresses]
    store_private(user("ada"))
    assert [text_of(client.get(address, follow=True)) for address in addresses] == before


def test_simulated_profiles_are_marked_and_shown_where_nothing_is_measured(client):
    ada = user("ada")
    store_private(ada)
    client.force_login(ada)
    page = client.get(reverse("workload-map"))
    assert page.context["origin"] == "simulated"
    assert '<span class="badge simulated">simulated</span>' in page.content.decode()


def simulated_too() -> None:
    """The first two machines once more, simulated, and one that is nothing but simulated."""
    measurements = replace(sample_measurements(3, 2, seed=8), origin="simulated")
    measurements.platforms[2] = sample_platform(7, name="model")
    store(measurements, label="model", kind="simulator")


def test_measured_and_simulated_profiles_meet_only_where_that_is_asked_for(client, public):
    simulated_too()
    address = reverse("compare-platforms") + "?platform=machine-0&platform=model"
    alone = client.get(address)
    assert alone.context["origin"] == "measured"
    assert not alone.context["shared"]
    assert "Include simulated profiles" in text_of(alone)
    both = client.get(address + "&include_simulated=true")
    assert both.context["origin"] == "mixed"
    assert len(both.context["shared"]) == 2
    assert "partly simulated" in text_of(both)
    figures = figures_of(both)
    assert [trace["name"] for trace in figures["time"]["data"]] == ["machine-0", "model (simulated)"]
    assert 'data-origin="mixed"' in both.content.decode()
    assert "(partly simulated)" in both.content.decode()
    twin = client.get(twin_of(both)).json()
    assert [row["simulated"] for row in twin["workloads"][0]["platforms"]] == [False, True]


def test_what_is_nothing_but_simulated_is_compared_and_says_so(client, public):
    simulated_too()
    page = client.get(reverse("platform-distances"), {"near": "model"})
    assert page.context["origin"] == "simulated"
    assert page.context["near"] == "model"
    assert '<span class="badge simulated">simulated</span>' in page.content.decode()
    mixed = client.get(reverse("platform-distances"), {"include_simulated": "true"})
    assert [slug for slug, _ in mixed.context["heads"]] == ["machine-0", "machine-1", "machine-2", "model"]
    assert client.get(twin_of(mixed)).json()["origin"] == "mixed"


def test_sources_and_licences_stand_under_every_comparison_and_relative_times_have_no_unit(client, public):
    store_dataset()
    assert "CC BY-SA" not in text_of(client.get(platforms(0, 1)))
    compared = (
        reverse("compare-platforms") + "?platform=cloud-0&platform=cloud-1",
        workloads("relative-0", "relative-1"),
    )
    for address in (*map(reverse, PAGES[:3]), *compared):
        page = client.get(address)
        words = text_of(page)
        assert "Example measurements of 2026" in words and "CC BY-SA 4.0" in words, address
        sources = client.get(twin_of(page)).json()["sources"]
        assert sources == [
            {"label": "example-dataset", "licence": "CC BY-SA 4.0", "citation": "Example measurements of 2026"}
        ]
        if address in compared:
            assert "unknown unit" in str(figures_of(page)) and " ms " not in words


def test_a_name_as_it_is_displayed_is_taken(client):
    """Pages show the name of a simulated machine without its mark, and in lists with what tells it apart."""
    store(replace(sample_measurements(2, 3), origin="simulated"), label="simulated")
    Platform.objects.filter(slug="machine-0").update(name="i7-4771 (simulated)")
    Platform.objects.filter(slug="machine-1").update(name="twin")
    page = client.get(reverse("compare-platforms"), {"platform": ["i7-4771", "TWIN"]})
    assert page.status_code == 200
    assert [slug for slug, *_ in page.context["chosen"]] == ["machine-0", "machine-1"]
    store(replace(sample_measurements(1, 3, seed=3), platforms=[sample_platform(5)]), label="other")
    Platform.objects.exclude(slug="machine-0").update(name="twin")
    (row,) = disambiguate(Platform.objects.filter(slug="machine-1"), None)
    page = client.get(reverse("compare-platforms"), {"platform": ["i7-4771", disambiguated_name(row)]})
    assert page.status_code == 200


def test_small_distances_are_told_apart_in_a_heat_map():
    """On a fleet of alike machines all of them were 0.00."""
    cells = [heat_map_cell("platforms", ("a", "A"), "b", (mean, 3), (0.00096, 1e-4)) for mean in (0.00096, 0.00012)]
    assert [re.search(r">([\d.]+)</a>", cell)[1] for cell in cells] == ["9.60", "1.20"]


def test_twins_answer_with_the_same(client, public):
    for address in (workloads("app0-section0", "app0-section1"), *map(reverse, PAGES[:3]), platforms(2, 0)):
        twin = client.get(twin_of(client.get(address)))
        assert twin.status_code == 200, twin.content
    assert [platform["platform"] for platform in twin.json()["platforms"]] == ["machine-2", "machine-0"]


def test_queries_do_not_grow_with_the_rows(client, public, django_assert_num_queries):
    Revision.raise_for(None)
    read_database()  # made once a revision and process
    # revision and newest profile; names; sources; the first time also whether somebody computes it, and how many wait
    for name in ("workload-map", "platform-distances"):
        with django_assert_num_queries(6):
            client.get(reverse(name))
        with django_assert_num_queries(4):
            client.get(reverse(name))
    # revision and newest, names of the chosen, names of the shared, the relative among them, two lists to choose from
    # and what has their names, sources
    with django_assert_num_queries(10):
        client.get(platforms(0, 1, 2))
    # and the platform, instead of the names of the shared
    with django_assert_num_queries(10):
        client.get(workloads("app0-section0", "app0-section1"))
