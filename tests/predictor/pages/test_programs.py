"""The page of a program, its twin, and who is led there."""

from urllib.parse import urlencode

import pytest
from django.urls import reverse

from benchmarks.models import Upload
from predictor.computations.running import compute_waiting
from predictor.models import Computation
from profiles.models import Source
from profiles.programs import programs_by_source
from tests.benchmarks.uploads import receive, tarball
from tests.pages import figures_of, text_of, twin_of, user
from tests.predictor.conftest import (
    started,  # noqa: F401
    store,
)
from tests.programs import program_measurements
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
MERGE = "sort-merge12"


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def kit():
    store(sample_measurements(3, 6), label="kit")


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


def test_the_fastest_platform_stands_first_with_its_interval(client, program):
    response = client.get(program)
    ranking = client.get(twin_of(response)).json()
    rows = response.context["rows"]
    assert [platform.slug for _, _, platform in rows] == [row["platform"] for row in ranking["results"]]
    assert [place for place, _, _ in rows] == [1, 2]
    words = text_of(response)
    assert "Predicted the fastest: MACHINE".lower() in words.lower()
    assert "1 platform without a prediction" in words
    assert "the program was measured here and on no other platform" in words
    dots = figures_of(response)["program-ranking"]["data"]
    assert sorted(dots[0]["x"]) == [row["time_s"] for row in ranking["results"]]
    assert dots[1]["x"] == [pytest.approx(1.75)]  # where it was measured


def test_the_parts_are_shown_where_they_were_measured(client, program):
    response = client.get(program)
    assert [row["label"] for row in response.context["parts"]] == ["merge:12", "split:40", "serial rest"]
    assert response.context["first_s"] == pytest.approx(5.5)
    assert (response.context["best_n"], response.context["best_s"]) == (4, pytest.approx(1.75))
    shares = [row["first_share"] for row in response.context["parts"]]
    assert sum(shares) == pytest.approx(1)
    bands = figures_of(response)["program"]["data"]
    assert [band["name"] for band in bands] == ["merge:12", "split:40", "serial rest"]
    assert bands[0]["y"] == [4, 2, 1]


def test_each_region_leads_to_its_own_prediction(client, program):
    response = client.get(program)
    _, row, platform = response.context["rows"][0]
    query = urlencode({"workload": MERGE, "target": platform.slug, "method": "mpet"})
    assert row["columns"][0]["query"] == query
    answer = client.get(f"{reverse('unstored-answer')}?{query}")
    assert answer.status_code == 200
    point = next(point for point in answer.context["answer"]["curve"] if point["n"] == row["n_best"])
    assert point["time_s"] == pytest.approx(row["columns"][0]["time_s"])


def test_relative_speed_is_that_of_the_machine_that_measured_it(client, program):
    response = client.get(program, {"n": 2})
    for _, row, _ in response.context["rows"]:
        assert row["n_best"] == 2
        assert row["times_as_fast"] == pytest.approx(3.0 / row["time_s"])
    nowhere = client.get(program, {"n": 3})
    assert nowhere.context["own_s"] is None
    assert "Relative speed" not in text_of(nowhere)


def test_an_older_upload_says_that_the_rest_is_unknown(client, kit):
    store(program_measurements(serial_rest=False), label="old")
    words = text_of(client.get(address_of("old")))
    assert "The serial rest is unknown" in words
    assert "All regions" in words


def test_what_is_no_number_of_threads_is_as_none(client, program):
    for n in ("", "0", "x", "-1", "99999999", "1.5"):
        assert client.get(program, {"n": n}).context["choices"]["n"] is None


def test_an_unknown_method_is_refused(client, program):
    response = client.get(program, {"method": "oracle"})
    assert response.status_code == 422
    assert "No ranking: no" in text_of(response)


def test_where_no_platform_can_be_predicted_it_says_what_to_do(client):
    store(program_measurements(), label="alone")
    words = text_of(client.get(address_of("alone")))
    assert "No platform can be predicted yet" in words
    assert "run the benchmark kit" in words


def test_csv_has_all_rows_and_a_column_for_each_region(client, program):
    response = client.get(program)
    csv = response.context["csv"]
    assert f'href="{csv.replace("&", "&amp;")}"' in response.content.decode()
    head, *lines = client.get(csv).getvalue().decode().splitlines()
    assert len(lines) == 2
    assert {"time_s", "low_s", "high_s", "serial_rest_s", f"{MERGE}_time_s"} <= set(head.split(","))


def test_the_twin_has_what_was_measured_and_the_ranking(client, program):
    document = client.get(twin_of(client.get(program))).json()
    assert document["name"] == "sort"
    assert document["measured_times"]["n"] == [1, 2, 4]
    assert document["regions"] == [MERGE, "sort-split40"]
    assert document["serial_rest"] == "sort-serial-rest"
    assert {"time_s", "low_s", "high_s", "regions", "widest_part"} <= set(document["results"][0])


@pytest.mark.parametrize("view", ["program", "api-program", "program-measure-next", "api-program-measure-next"])
def test_a_private_program_is_404_for_others(client, kit, view):
    ada = user("ada")
    store(program_measurements(), label="mine", owner=ada, private=True)
    address = address_of("mine", ada, view) + ("?target=machine-1" if "next" in view else "")
    assert client.get(address).status_code == 404
    client.force_login(user("bob"))
    assert client.get(address).status_code == 404
    client.force_login(ada)
    assert client.get(address).status_code == 200


def test_an_unknown_program_is_404(client, program):
    uid = name_of("program").source_uid
    assert client.get(reverse("program", args=[uid, "other"])).status_code == 404
    assert client.get(reverse("api-program", args=[uid, "other"])).status_code == 404


def test_what_would_narrow_the_interval(client, program):
    response = client.get(program)
    address = f"{response.context['narrowing']}?{response.context['rows'][0][1]['narrowing_query']}"
    assert f'hx-get="{address.replace("&", "&amp;")}"' in response.content.decode()
    page = client.get(address)
    twin = client.get(twin_of(page)).json()
    assert page.context["widest"].slug == twin["workload"] == response.context["rows"][0][1]["widest_part"]
    assert [row["platform"] for row, _, _ in page.context["rows"]] == [row["platform"] for row in twin["results"]]
    assert "adds most to the width" in text_of(page)
    part = client.get(address, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "adds most to the width" in text_of(part)


@pytest.mark.parametrize("target", ["nowhere", "machine-0", ""])
def test_what_cannot_be_predicted_cannot_be_narrowed(client, program, target):
    address = address_of("program", view="program-measure-next") + f"?target={target}"
    response = client.get(address)
    assert response.status_code == 422
    assert "No prediction:" in text_of(response)
    assert client.get(address_of("program", view="api-program-measure-next") + f"?target={target}").status_code in {
        400,
        422,
    }


def test_a_long_one_is_computed_behind_the_request(client, program, started):  # noqa: F811
    response = client.get(program)
    assert "is computed as soon as" in text_of(response)
    assert Computation.objects.get().kind == "program"
    twin = client.get(address_of("program", view="api-program"))
    assert twin.status_code == 202
    compute_waiting()
    assert len(client.get(program).context["rows"]) == 2
    assert len(client.get(address_of("program", view="api-program")).json()["results"]) == 2


def test_the_page_takes_a_fixed_number_of_queries(client, program, django_assert_num_queries):
    client.get(program)
    # source, names, regions' keys, profiles; revision, newest profile; the platforms of the ranking
    with django_assert_num_queries(7):
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
    workload = page.context["parts"][0]["profile"].workload
    assert link in client.get(reverse("workload", args=[workload.slug])).content.decode()
    document = client.get(reverse("api-upload", args=[upload.uid])).json()
    assert document["programs"] == [
        {"name": "sort", "url": f"http://testserver{reverse('program', args=name.address)}"}
    ]


def test_an_upload_of_the_kit_names_no_program(client):
    upload = receive(tarball())
    assert client.get(reverse("api-upload", args=[upload.uid])).json()["programs"] == []
