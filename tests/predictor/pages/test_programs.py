"""The page of a program, its twin, and who is led there."""

import json
import re
from dataclasses import replace
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from benchmarks.models import Upload
from benchmarks.public_data.sparecores import stress_ng_workload
from predictor.models import Computation, StoredProgramAnswer
from predictor.models.computations import pack_document
from predictor.predictions.sliders import title_of
from profiles.identity.programs import programs_by_source
from profiles.jobs.queue import take_up
from profiles.models import Platform, Profile, Source
from profiles.prices.tables import set_price_factor
from profiles.templatetags.quantities import seconds, significant
from tests.benchmarks.uploads import receive, tarball
from tests.pages import figures_of, text_of, twin_of, user
from tests.predictor.conftest import store
from tests.predictor.predictions.test_costs import price
from tests.profiles.deliveries import measured
from tests.programs import late_program_measurements, program_measurements
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db
MERGE = "sort-merge12"


@pytest.fixture
def program(kit):
    store(program_measurements(counts=(1, 2, 4)), label="program")
    return address_of("program")


def name_of(label, viewer=None):
    source = Source.objects.get(label=label)
    (name,) = programs_by_source([source.pk], viewer)[source.pk]
    return name


def address_of(label, viewer=None, view="program"):
    return reverse(view, args=name_of(label, viewer).address)


def csv_of(page):
    return twin_of(page) + "&format=csv"


def test_the_fastest_platform_stands_first_with_its_interval(client, program):
    response = client.get(program, {"n": "", "by": ""})  # as the form sends them
    ranking = client.get(twin_of(response)).json()
    rows = response.context["rows"]
    assert [platform.slug for _, platform in rows] == [row["platform"] for row in ranking["results"]]
    assert [row["place"] for row, _ in rows] == [1, 2]
    words = text_of(response)
    assert f"on {rows[0][1].name} with 1" in words
    assert "1 machine has no prediction: the program was measured here and on no other machine" in words
    dots = figures_of(response)["ranking"]["data"]
    assert sorted(dots[0]["x"]) == [row["time_s"] for row in ranking["results"]]
    assert dots[1]["x"] == [pytest.approx(1.75)]  # where it was measured


def test_a_program_whose_region_begins_later_has_its_page(client, kit):
    store(late_program_measurements(), label="program")
    response = client.get(address_of("program"))
    assert response.status_code == 200
    rows = {row["label"]: row for row in response.context["home"].parts}
    assert rows["merge:12"]["first_s"] == 0
    assert rows["serial rest"]["first_s"] == pytest.approx(4.5)
    assert sum(row["first_share"] for row in rows.values()) == pytest.approx(1)
    assert json.loads(client.get(twin_of(response)).content)["measured_times"]["n"] == [1, 2, 4]


def test_the_parts_are_shown_where_they_were_measured(client, program):
    response = client.get(program)
    home, parts = response.context["home"], ["merge:12", "split:40", "serial rest"]
    assert [row["label"] for row in home.parts] == parts
    assert (home.measured.first_s, home.measured.best_n, home.measured.best_s) == (
        pytest.approx(5.5),
        4,
        pytest.approx(1.75),
    )
    assert sum(row["first_share"] for row in home.parts) == pytest.approx(1)
    bands = figures_of(response)["program"]["data"]
    assert [band["name"] for band in bands] == parts
    assert bands[0]["y"] == [4, 2, 1]
    assert 1 <= len(home.limits) <= 3
    assert home.limits[0] == "The serial rest takes 29 % of the time with 4 threads."
    assert [text_of(response).count(sentence) for sentence in home.limits] == [1] * len(home.limits)
    assert f"{program}badge.svg" in response.content.decode()
    badge = client.get(program + "badge.svg")
    assert badge["Content-Type"] == "image/svg+xml" and "1.75 s with 4 threads" in badge.content.decode()


def test_the_twin_and_the_csv_have_what_was_measured_and_the_ranking(client, program):
    page = client.get(program)
    document = client.get(twin_of(page)).json()
    assert (document["name"], document["measured_times"]["n"]) == ("sort", [1, 2, 4])
    assert (document["regions"], document["serial_rest"]) == ([MERGE, "sort-split40"], "sort-serial-rest")
    assert {"time_s", "low_s", "high_s", "regions", "widest_part"} <= set(document["results"][0])
    assert f'href="{csv_of(page).replace("&", "&amp;")}"' in page.content.decode()
    head, *lines = client.get(csv_of(page)).getvalue().decode().splitlines()
    assert len(lines) == 2
    assert {"time_s", "low_s", "high_s", "serial_rest_s", f"{MERGE}_time_s"} <= set(head.split(","))


def test_each_region_leads_to_its_own_prediction_and_speed_is_relative_to_the_own_machine(client, program):
    response = client.get(program, {"n": 2})
    for row, platform in response.context["rows"]:
        assert row["n_best"] == 2
        assert f"{significant(3.0 / row['time_s'])}×" in text_of(response)
        part = row["columns"][0]
        query = urlencode({"workload": MERGE, "target": platform.slug, "n": 2, "method": "mpet"})
        assert part["address"] == f"{reverse('unstored-answer')}?{query}"
        answer = client.get(part["address"])
        assert answer.status_code == 200
        times = {point["n"]: point["time_s"] for point in answer.context["answer"]["curve"]}
        assert times[2] == pytest.approx(part["time_s"])
    assert "Relative to the time here" in text_of(response)
    nowhere = client.get(program, {"n": 3})
    assert nowhere.context["own_s"] is None and "Relative to the first" in text_of(nowhere)


def test_an_older_upload_says_that_the_rest_is_unknown(client, kit):
    store(program_measurements(serial_rest=False), label="old")
    words = text_of(client.get(address_of("old")))
    assert "The serial rest is unknown" in words and "All regions" in words


def test_a_fleet_that_shares_no_workload_says_what_would_give_it_a_place(client):
    store(program_measurements(), label="alone")
    fleet = measured(
        [sample_platform(7), sample_platform(8)], [stress_ng_workload("cpu", "0.20.01")], generator="fetch_data x"
    )
    store(fleet, label="fleet")
    page = client.get(address_of("alone"))
    refused = {row["platform"]: row["lacks"] for row in client.get(twin_of(page)).json()["refused"]}
    assert refused == {"machine-0": None, "machine-7": "shared", "machine-8": "shared"}
    name = Platform.objects.get(slug="machine-0").name
    advice = f"Run `make stress-ng` of the benchmark kit on {name}, with stress-ng 0.20.01"
    assert f"{advice}: it then shares workloads with 2 more machines" in text_of(page)


def test_a_fleet_without_the_kit_is_reached_through_a_machine_that_ran_both(client, program):
    stress_ng = [stress_ng_workload("cpu", "0.20.01"), stress_ng_workload("hash", "0.20.01")]
    store(measured([sample_platform(n) for n in (1, 7, 8)], stress_ng, generator="fetch_data x"), label="fleet")
    rows = {row["platform"]: row for row in client.get(twin_of(client.get(program))).json()["results"]}
    assert set(rows) == {"machine-1", "machine-2", "machine-7", "machine-8"}
    reached, first = rows["machine-7"], "workloads were predicted there first, from machines that ran both (machine-1)"
    assert any(first in warning for warning in reached["warnings"])
    assert not any(first in warning for warning in rows["machine-1"]["warnings"])
    estimated = client.get(twin_of(client.get(program)), {"exact": "false"}).json()["results"]
    assert {row["platform"] for row in estimated} == set(rows)
    for region in reached["regions"]:
        question = {"workload": region["workload"], "target": "machine-7", "n": [reached["n_best"]], "explain": True}
        answer = client.post("/api/v1/predictions/", question, content_type="application/json").json()
        assert answer["curve"][0]["time_s"] == pytest.approx(region["time_s"])
        assert {source["label"] for source in answer["sources"]} >= {"program", "fleet", "kit"}
        assert answer["why"]["carried"][0]["name"] == "machine-0"
        page = client.get(reverse("unstored-answer"), {"workload": region["workload"], "target": "machine-7"})
        assert first in text_of(page)
        question = {"workload": region["workload"], "target": "machine-7"}
        assert "app0/section0 small machine-7" in text_of(client.get(reverse("unstored-measure-next"), question))
    offered = client.get("/", {"workload": MERGE, "target": ""}).context
    assert {"machine-7", "machine-8"} <= {offer.stands_for for offer in offered["pairs"].machines}


def test_the_owners_prices_are_on_the_page_for_that_user_alone(client, program):
    price(1, "3.6")
    public = client.get(program)
    assert "3.6" in text_of(public)
    ada = user("ada")
    set_price_factor(ada, Decimal("0.5"))
    client.force_login(ada)
    page = client.get(program)
    assert "× your factor" in text_of(page)
    rows = {row["platform"]: row for row, _ in page.context["rows"]}
    assert rows["machine-1"]["price"] == pytest.approx(1.8)
    api = {row["platform"]: row["price_basis"] for row in client.get(f"/api/v1{program}").json()["results"]}
    assert api["machine-1"] == "factor"
    client.logout()
    assert "× your factor" not in text_of(client.get(program))


def test_visitors_get_one_computed_page_of_a_program_on_many_machines(client, program, ada, monkeypatch):
    """`exact` is the default otherwise, and what they may not ask for."""
    monkeypatch.setattr("predictor.predictions.rankings.FEWEST_ESTIMATED_PLATFORMS", 1)
    monkeypatch.setattr("predictor.predictions.ranking_rows.RANKED_PER_PAGE", 1)
    address = address_of("program", view="api-program")
    exact = client.get(address).json()["results"]
    assert [row["estimated"] for row in exact] == [False, False]
    monkeypatch.setattr("predictor.predictions.rankings.MOST_PLATFORMS_OF_VISITORS", 1)
    assert [row["estimated"] for row in client.get(address).json()["results"]] == [False, True]
    assert client.get(address, {"exact": "true"}).status_code == 400
    client.force_login(ada)
    assert client.get(address).json()["results"] == exact


def test_filters_and_order_are_those_of_the_ranking_of_a_workload(client, program):
    Platform.objects.filter(slug="machine-1").update(physical_cores=2, vendor="AMD", device_class="embedded")
    everything = client.get(address_of("program", view="api-program")).json()["results"]
    assert [row["place"] for row in everything] == [1, 2]
    slower = everything[1]
    for chosen in ({"vendor": "AuthenticAMD"}, {"max_cores": "2"}, {"device_class": "embedded", "measured": "false"}):
        page = client.get(program, chosen)
        (row,) = client.get(twin_of(page)).json()["results"]
        assert row == next(row for row in everything if row["platform"] == "machine-1")
        shown = [(one["place"], platform.slug) for one, platform in page.context["rows"]]
        assert shown == [(row["place"], "machine-1")]
        assert len(client.get(csv_of(page)).getvalue().decode().splitlines()) == 2
    assert "of the selection" in text_of(page)
    assert slower["relative"] == pytest.approx(slower["time_s"] / everything[0]["time_s"])
    words = text_of(client.get(program, {"min_threads": "1000"}))
    assert "No machine with a prediction passes the filters" in words and "benchmark kit" not in words


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("min_cores", "many"), ("by", "price"), ("method", "oracle"), ("n", "0"), ("n", "1.5"), ("n", "99999999")],
)
def test_a_wrong_choice_is_refused_by_its_name(client, program, name, wrong):
    page = client.get(program, {name: wrong})
    assert page.status_code == 422
    assert (f"There is no method “{wrong}”." if name == "method" else f"{title_of(name)}:") in text_of(page)
    api = client.get(address_of("program", view="api-program"), {name: wrong})
    assert api.json()["errors"][0]["name"] == name


def test_the_order_is_by_core_time_or_where_prices_are_known_by_the_cost_of_a_run(client, program):
    Platform.objects.filter(slug="machine-1").update(physical_cores=1)
    page = client.get(program, {"by": "core_time", "n": 4})
    rows = client.get(twin_of(page)).json()["results"]
    assert [(row["platform"], row["core_time_s"]) for row in rows] == [
        ("machine-1", rows[0]["time_s"]),
        ("machine-2", pytest.approx(4 * rows[1]["time_s"])),
    ]
    assert [shown["core_time_s"] for shown, _ in page.context["rows"]] == [row["core_time_s"] for row in rows]
    assert page.context["charts"][0].title == "Core time on each machine"
    unpriced = text_of(client.get(program, {"by": "cost"}))
    assert "No price of these machines is known, so they are ordered by time." in unpriced
    assert "All machines: fastest first" in unpriced
    price(1, "3.6")
    price(2, "0.36")
    page = client.get(program, {"by": "cost"})
    rows = client.get(twin_of(page)).json()["results"]
    assert [row["platform"] for row in rows] == ["machine-2", "machine-1"]
    assert rows[0]["cost"] == pytest.approx(0.36 / 3600 * rows[0]["time_s"])
    shown = [(row["cost"], row["pareto"]) for row, _ in page.context["rows"]]
    assert shown == [(row["cost"], row["pareto"]) for row in rows]
    words = text_of(page)
    assert all(part in words for part in ("All machines: cheapest first", "USD per 1,000 runs", "us 2026-01-31"))
    assert not re.search(r"\de-0\d\b", words)  # the address of the upload may contain 7e-0329
    drawn = {name for trace in figures_of(page)["cost"]["data"] for name in trace["customdata"]}
    assert drawn == set(Platform.objects.filter(slug__in=["machine-1", "machine-2"]).values_list("name", flat=True))


def test_public_data_only_is_what_everybody_gets(client, program):
    theirs = client.get(address_of("program", view="api-program")).json()
    ada = user("ada")
    store(sample_measurements(4, 5, seed=9), label="mine", owner=ada, private=True)
    client.force_login(ada)
    own, shared = client.get(program), client.get(program, {"public_only": "true"})
    assert client.get(twin_of(own)).json()["results"] != theirs["results"]
    assert client.get(twin_of(shared)).json()["results"] == theirs["results"]
    row, platform = shared.context["rows"][0]
    query = urlencode({"workload": MERGE, "target": platform.slug, "public_only": "true", "method": "mpet"})
    assert row["columns"][0]["address"] == f"{reverse('unstored-answer')}?{query}"
    assert "public_only=true" in shared.context["narrowing"]
    assert client.get(shared.context["narrowing"]).context["rows"]
    assert 'name="public_only"' in own.content.decode()
    client.logout()
    assert 'name="public_only"' not in client.get(program).content.decode()


def test_of_a_private_program_public_data_say_nothing(client, kit):
    ada = user("ada")
    store(program_measurements(), label="mine", owner=ada, private=True)
    client.force_login(ada)
    page = client.get(address_of("mine", ada))
    assert 'name="public_only"' not in page.content.decode()
    refused = client.get(address_of("mine", ada), {"public_only": "true"})
    assert refused.status_code == 422
    assert "the program is private" in text_of(refused)
    api = client.get(address_of("mine", ada, "api-program"), {"public_only": "true"})
    assert api.json()["errors"][0]["name"] == "public_only"


def test_a_private_or_unknown_program_is_404_for_others(client, kit):
    ada = user("ada")
    store(program_measurements(), label="mine", owner=ada, private=True)
    views = ("program", "api-program", "program-measure-next", "api-program-measure-next")
    for viewer, status in ((None, 404), (user("bob"), 404), (ada, 200)):
        if viewer:
            client.force_login(viewer)
        for view in views:
            answer = client.get(address_of("mine", ada, view), {"target": "machine-1"} if "next" in view else {})
            assert answer.status_code == status, (viewer, view)
    uid = name_of("mine", ada).source_uid
    for view in views[:2]:
        assert client.get(reverse(view, args=[uid, "other"])).status_code == 404


def test_a_later_upload_does_not_rewrite_what_an_earlier_address_says(client, program):
    api = address_of("program", view="api-program")
    before, twin = client.get(program), client.get(api).json()
    store(program_measurements(counts=(1, 2, 4), speed=3.0), label="later")
    again, now = client.get(program), client.get(program, {"today": "true"})
    times = {
        page: [(row["platform"], row["time_s"], row["low_s"]) for row, _ in shown.context["rows"]]
        for page, shown in (("before", before), ("again", again), ("now", now))
    }
    assert times["again"] == times["before"] != times["now"]
    assert client.get(twin_of(again)).json()["results"] == client.get(twin_of(before)).json()["results"]
    assert client.get(api).json()["results"] == twin["results"]
    assert client.get(api, {"today": "true"}).json()["results"] != twin["results"]
    assert "uploaded again later" in text_of(again) and "uploaded again later" not in text_of(now)
    later = address_of("later")
    assert f'href="{later}"' in again.content.decode() and f'href="{program}"' in client.get(later).content.decode()
    assert "1.75 s" in text_of(again)


@pytest.mark.parametrize("member", ["time_kind", "limited", "lacks"])
def test_a_stored_ranking_that_lacks_a_member_gives_way_to_the_answer_of_today(client, program, member):
    """As an earlier version of MPET may have stored it."""
    client.get(program)
    store(program_measurements(counts=(1, 2, 4), speed=3.0), label="later")
    change_stored_ranking(lambda members: members.pop(member, None))
    api = address_of("program", view="api-program")
    assert client.get(api).json()["results"] == client.get(api, {"today": "true"}).json()["results"]
    page = client.get(program)
    assert (page.status_code, "uploaded again later" in text_of(page)) == (200, False)
    assert [row["platform"] for row, _ in page.context["rows"]] == ["machine-1", "machine-2"]
    assert "uploaded again later" in text_of(client.get(program)), "today's answer was stored"


def test_a_stored_ranking_with_a_member_that_is_unknown_today_is_shown_without_it(client, program):
    client.get(program)
    store(program_measurements(counts=(1, 2, 4), speed=3.0), label="later")
    change_stored_ranking(lambda members: members.update(former="1"))
    page = client.get(program)
    assert (page.status_code, "uploaded again later" in text_of(page)) == (200, True)
    assert [row["platform"] for row, _ in page.context["rows"]] == ["machine-1", "machine-2"]


def change_stored_ranking(change):
    """Change the members of the stored ranking, and those of its rows."""
    (stored,) = StoredProgramAnswer.objects.all()
    document = stored.document
    for members in (document, *document["results"], *document["refused"]):
        change(members)
    stored.packed = pack_document(document)
    stored.save()


def test_what_was_kept_of_a_private_program_stays_its_owner_s_when_it_is_published(client, kit):
    ada = user("ada")
    store(program_measurements(counts=(1, 2, 4)), label="mine", owner=ada, private=True)
    client.force_login(ada)
    client.get(address_of("mine", ada))
    source = Source.objects.get(label="mine")
    assert StoredProgramAnswer.objects.get(source=source).is_private
    StoredProgramAnswer.objects.update(is_private=False)
    store(program_measurements(counts=(1, 2, 4), speed=3.0), label="later", owner=ada, private=True)
    assert "uploaded again later" not in text_of(client.get(address_of("mine", ada)))


def test_what_would_narrow_the_interval(client, program):
    response = client.get(program)
    address = response.context["narrowing"]
    assert f'hx-get="{address.replace("&", "&amp;")}"' in response.content.decode()
    page = client.get(address)
    twin = client.get(twin_of(page)).json()
    assert page.context["widest"].slug == twin["workload"] == response.context["rows"][0][0]["widest_part"]
    assert [row["platform"] for row, _, _ in page.context["rows"]] == [row["platform"] for row in twin["results"]]
    assert "contributes most to the width" in text_of(page)
    part = client.get(address, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "contributes most to the width" in text_of(part)
    unknown = "There is no target machine"
    for target, reason in (("nowhere", unknown), ("machine-0", "was measured here"), ("", unknown)):
        refused = client.get(address_of("program", view="program-measure-next"), {"target": target})
        assert (refused.status_code, text_of(refused).count(reason)) == (422, 1)
        api = client.get(address_of("program", view="api-program-measure-next"), {"target": target})
        assert api.status_code in {400, 422}


def test_what_to_measure_next_on_a_simulated_machine_says_that_it_is_apart(client, program):
    machines = [replace(machine, name="sim 0") for machine in sample_measurements(1, 2).platforms]
    store(replace(sample_measurements(1, 2), platforms=machines, origin="simulated"), label="simulated")
    machine = Platform.objects.get(name__startswith="sim 0")
    response = client.get(address_of("program", view="program-measure-next") + f"?target={machine.slug}")
    assert response.status_code == 422
    assert "never mixed" in text_of(response) and "No other workload was measured" not in text_of(response)


def test_a_long_one_is_computed_behind_the_request(client, program, started):
    response = client.get(program)
    assert "Waiting for other computations" in text_of(response)
    assert Computation.objects.get().kind == "ranking"
    twin = client.get(address_of("program", view="api-program"))
    assert twin.status_code == 202
    take_up("computations")
    assert len(client.get(program).context["rows"]) == 2
    assert len(client.get(address_of("program", view="api-program")).json()["results"]) == 2


def test_the_page_takes_a_fixed_number_of_queries(client, program, django_assert_num_queries):
    client.get(program)
    # source, names, regions' keys, profiles; ceilings of the machine; uploads; revision, newest profile; the platforms
    # of the ranking, of their names, and their prices; what would help those without an answer
    # and what is kept of it: its choice of revision
    with django_assert_num_queries(15):
        client.get(program)


def test_upload_workload_and_list_lead_here(client, kit):
    ada = user("ada")
    upload = receive(tarball(program_measurements()), owner=ada, visibility="private", filename="sort.tar.gz")
    assert upload.status == Upload.Status.ACCEPTED
    client.force_login(ada)
    (name,) = programs_by_source([upload.source_id], ada)[upload.source_id]
    link = f'href="{reverse("program", args=name.address)}"'
    for address in (reverse("upload-report", args=[upload.uid]), reverse("uploads")):
        assert link in client.get(address).content.decode()
    page = client.get(reverse("program", args=name.address))
    assert reverse("upload-report", args=[upload.uid]) in page.content.decode()
    workload = page.context["home"].parts[0]["profile"].workload
    assert link in client.get(reverse("workload", args=[workload.slug])).content.decode()
    document = client.get(reverse("api-upload", args=[upload.uid])).json()
    address = reverse("program", args=name.address)
    assert document["programs"] == [{"name": "sort", "url": f"http://testserver{address}", "labels": {}}]
    assert client.get(reverse("api-upload", args=[receive(tarball()).uid])).json()["programs"] == []


def test_the_page_of_a_workload_is_that_of_a_program_of_one_part(client, kit):
    """One view and one template; what was on the former page is there too."""
    page = client.get("/workloads/app0-section0/")
    assert "predictor/ranking.html" in {template.name for template in page.templates}
    home, words = page.context["home"], text_of(page)
    assert f"Measured {seconds(home.measured.best_s)} on" in words
    assert f"Best number of threads {home.measured.best_n} as measured; predicted on" in words
    assert 1 <= len(home.limits) <= 3 and home.limits[0] in words
    assert "limits" in figures_of(page)
    assert "Fastest" in words and "What to measure next for" in words
    headings = ("What limits it", "All machines: fastest", "Uploads of this workload")
    assert sorted(headings, key=words.index) == list(headings)
    assert "http://testserver/workloads/app0-section0/" in words
    assert client.get(home.badge)["Content-Type"] == "image/svg+xml"
    assert seconds(home.measured.best_s) in client.get(home.badge).content.decode()
    assert twin_of(page) == "/api/v1/workloads/app0-section0/"
    ranking = client.get("/api/v1/rankings/", {"workload": "app0-section0"}).json()["results"]
    assert [platform.slug for _, platform in page.context["rows"]] == [row["platform"] for row in ranking]
    for part in ("Parallel strategy", "Measured profiles", "All of them as CSV", "Most similar workloads"):
        assert part in words, part
    assert set(figures_of(client.get("/workloads/app0-section0/?show=cost"))) == {"ranking", "limits", "cost"}
    price(0, "3.6")
    assert "Cheapest within" in text_of(client.get("/workloads/app0-section0/"))


def test_a_workload_shows_its_readers_own_measurement_first(client, kit):
    ada = user("ada")
    own = program_measurements(sample_platform(1))
    receive(tarball(own), ada, "private", "mine.tar.gz")
    store(program_measurements(sample_platform(2), speed=2.0), label="others")
    client.force_login(ada)
    page = client.get(f"/workloads/{MERGE}/")
    slug = Profile.objects.get(source__owner=ada, workload__section="merge:12").workload.slug
    own_page = client.get(f"/workloads/{slug}/")
    assert own_page.context["home"].program.source.owner_id == ada.pk
    assert page.status_code == own_page.status_code == 200
    client.logout()
    assert client.get(f"/workloads/{MERGE}/").context["home"].program.source.label == "others"


def test_a_workload_that_no_prediction_may_use_is_still_a_page(client):
    ada = user("ada")
    emulated = store(
        replace(sample_measurements(1, 1), origin="emulated"), label="emulated", owner=ada, private=True
    ).profiles[0]
    client.force_login(ada)
    page = client.get(f"/workloads/{emulated.workload.slug}/")
    assert page.status_code == 200
    assert "1 profile" in text_of(page)
    assert not page.context["home"].share  # it is private
    client.logout()
    assert client.get(f"/workloads/{emulated.workload.slug}/badge.svg").status_code == 404
