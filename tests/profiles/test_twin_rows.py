"""Two profiles of one pair, and two workloads of one name, can be told apart wherever they are listed."""

import re
from dataclasses import replace

import pytest
from django.urls import reverse

from predictor.snapshot.cache import read_snapshot
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.models import Platform, Profile, Source, Workload
from tests.pages import text_of
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_measurements, sample_platform, sample_workload

pytestmark = pytest.mark.django_db
FROM_PROFILES = re.compile(r'^SELECT (?!1 ).*"profiles_source"."label".* FROM "profiles_profile" ')


def store_measured(label, seed, measurements=None, owner=None):
    measurements = measurements or measured(seed=seed)
    deliver(measurements, label=label, owner=owner, private=owner is not None)


@pytest.fixture
def pages():
    store_measured("first.tar.gz", 1)
    store_measured("again.tar.gz", 2)
    rows = {"platform": Platform.objects.get().slug, "workload": Workload.objects.get().slug}
    return [reverse("profiles"), *(reverse(name, args=[slug]) for name, slug in rows.items())]


def test_a_pair_that_was_measured_twice_names_both_deliveries(client, pages):
    days = {f"{source.created_at:%Y-%m-%d}" for source in Source.objects.all()}
    for address in pages:
        words = text_of(client.get(address))
        assert "first.tar.gz" in words, address
        assert "again.tar.gz" in words, address
        assert all(day in words for day in days), address


def test_the_delivery_is_read_with_its_row_and_without_its_long_texts(client, pages, django_assert_max_num_queries):
    store_measured("third.tar.gz", 3)
    read_snapshot()  # so that no page makes it
    for address in pages:
        with django_assert_max_num_queries(20) as captured:
            client.get(address)
        rows = [query["sql"] for query in captured.captured_queries if FROM_PROFILES.search(query["sql"])]
        assert rows, address
        assert not any('"profiles_source"."log"' in sql for sql in rows), address


LARGE, SMALL = "4096x4096", "256x256"


@pytest.fixture
def two_inputs():
    """Deliveries of a workload of one name with two inputs."""
    return [deliver(measured(workloads=[sample_workload(input=size)])) for size in (LARGE, SMALL)]


def test_workloads_of_one_name_say_their_input(client, two_inputs):
    platform = two_inputs[0].profiles[0].platform
    lists = ("workloads", "profiles", "predict", "compare-workloads")
    for address in (*map(reverse, lists), reverse("platform", args=[platform.slug])):
        words = client.get(address, follow=True).content.decode()
        assert LARGE in words and SMALL in words, address
    for result, size in zip(two_inputs, (LARGE, SMALL), strict=True):
        page = client.get(reverse("profile", args=[result.profiles[0].uid])).content.decode()
        assert f"<small>{size}</small>" in page.partition("<h1>")[2].partition("</h1>")[0]
    told = {disambiguated_name(row) for row in disambiguate(Workload.objects.all(), None)}
    assert told == {f"app0/section0 ({size}, version 1)" for size in (LARGE, SMALL)}


def new_workloads(result) -> list[str]:
    return [warning for warning in result.warnings if "separate workload" in warning]


def test_the_report_says_once_which_input_is_new_if_the_deliverer_sees_the_other(two_inputs, alice):
    assert new_workloads(two_inputs[0]) == []
    (said,) = new_workloads(two_inputs[1])
    assert said.startswith("workload 'app0/section0' exists with another input") and SMALL in said
    assert Workload.objects.filter(name="app0/section0").count() == 2
    assert new_workloads(deliver(measured(workloads=[sample_workload(input=SMALL)]))) == []
    deliver(measured(workloads=[sample_workload(6, input=LARGE)]), owner=alice, private=True)
    assert new_workloads(deliver(measured(workloads=[sample_workload(6, input=SMALL)]))) == []


OTHER_CPU = "Another CPU @ 3.0GHz"


@pytest.fixture
def twins():
    """Two machines of one name, and one workload of one name and input in two runtimes, from two deliveries."""
    for label, seed, runtime, cpu in (
        ("first.tar.gz", 1, "mpal", "Example CPU"),
        ("second.tar.gz", 2, "libgomp", OTHER_CPU),
    ):
        measurements = sample_measurements(3, 4, seed=seed)
        measurements.platforms[0] = sample_platform(0, name="twin", cpu_model=cpu)
        for index, record in enumerate(measurements.workloads):
            measurements.workloads[index] = replace(record, **({"runtime": runtime} if index == 0 else {}))
        store_measured(label, seed, measurements)
    slugs = list(Platform.objects.filter(name="twin").values_list("slug", flat=True))
    workloads = list(Workload.objects.filter(name="app0/section0").values_list("slug", flat=True))
    assert (len(slugs), len(workloads)) == (2, 2)
    return slugs, workloads


def option_texts(page, slugs) -> set[str]:
    """What a list to choose from says of each of these."""
    content = page.content.decode()
    found = [re.search(rf'<option value="{slug}"[^>]*>(.*?)</option>', content, re.DOTALL) for slug in slugs]
    return {" ".join(match.group(1).split()) for match in found}


def test_lists_to_choose_from_say_which_delivery_a_twin_came_from(client, twins):
    pair = {"workload": twins[1][0], "target": "machine-1"}
    for name, chosen, fields in (("what-if", twins, pair), ("ranking", twins[1:], pair), ("profiles", twins, {})):
        page = client.get(reverse(name), fields)
        assert page.status_code == 200
        for slugs in chosen:
            texts = option_texts(page, slugs)
            assert all(any(f"{delivery}.tar.gz" in text for text in texts) for delivery in ("first", "second")), texts
        if name != "ranking":
            assert not any(".tar.gz" in text for text in option_texts(page, ["machine-1"]))


def box_labels(page, box: str) -> list[str]:
    """What a box of the front page offers."""
    listed = page.content.decode().split(f'<datalist id="{box}">')[1].split("</datalist>")[0]
    return re.findall(r'<option value="([^"]*)"', listed)


def test_the_form_of_a_prediction_offers_names_with_their_delivery_and_takes_them(client, twins):
    page = client.get(reverse("predict"))
    for box, count in (("workloads", 2), ("platforms", 2)):
        assert sum(".tar.gz" in label for label in box_labels(page, box)) == count
    platforms, workloads = twins
    filled = client.get(reverse("predict"), {"workload": workloads[0], "target": platforms[0]})
    shown = [filled.context["form"][field].value() for field in ("workload", "target")]
    assert all(".tar.gz" in text for text in shown)
    asked = client.get(reverse("predict-possible"), {"workload": shown[0], "target": shown[1]})
    assert "There is no" not in asked.content.decode()


def test_the_boxes_of_the_front_page_say_it_and_lead_to_the_twin_that_was_chosen(client, twins):
    page = client.get(reverse("home"))
    boxes = {"workload": box_labels(page, "ask-workloads"), "target": box_labels(page, "ask-machines")}
    assert "app0/section1" in boxes["workload"], "what is one of its name has no delivery"
    assert {"machine-1", "machine-2"} <= {*boxes["target"]}
    for delivery in ("first.tar.gz", "second.tar.gz"):
        chosen = {name: [label for label in labels if delivery in label] for name, labels in boxes.items()}
        assert [len(labels) for labels in chosen.values()] == [1, 1], chosen
        answer = client.get(reverse("home"), {name: labels[0] for name, labels in chosen.items()})
        of_delivery = Profile.objects.filter(source__label=delivery)
        profile = of_delivery.get(workload__name="app0/section0", platform__name="twin")
        pair = f"?workload={profile.workload.slug}&target={profile.platform.slug}"
        assert (answer.status_code, answer.url) == (302, reverse("unstored-answer") + pair)


def test_rankings_candidates_and_comparisons_say_it_too(client, twins, django_assert_num_queries):
    shared = Workload.objects.get(name="app0/section1").slug
    ranking = text_of(client.get(reverse("ranking"), {"workload": shared}))
    answer = text_of(client.get(reverse("unstored-answer"), {"workload": shared, "target": "machine-1"}))
    for words in (ranking, answer):
        assert "first.tar.gz" in words
        assert "second.tar.gz" in words
    assert " Relative to the first Measured Core time " in ranking
    content = client.get(reverse("compare-platforms"), follow=True).content.decode()
    offered = re.findall(r'<option value="(twin[^"]*)"', content)
    assert len(offered) == len(set(offered)) == 2
    assert all(any(f"{delivery}.tar.gz" in text for text in offered) for delivery in ("first", "second"))
    with django_assert_num_queries(3):  # the rows, those of the same names, their deliveries
        disambiguate(Platform.objects.all(), None)
    for delivery in ("first", "second"):  # its place, time, threads, time relative to the first, time measured there
        row = rf" \d twin {delivery}\.tar\.gz, \S+ [\d.]+ ms \d+ [\d.]+× [\d.]+ ms "
        assert len(re.findall(row, ranking)) == ranking.count(f" twin {delivery}.tar.gz") == 1


def test_a_private_namesake_is_none_for_others(client, ada):
    store_measured("public.tar.gz", 1)
    measurements = sample_measurements(1, 1, seed=2)
    measurements.platforms[0] = sample_platform(0, cpu_model=OTHER_CPU)
    store_measured("mine.tar.gz", 2, measurements, ada)
    assert Platform.objects.filter(name="machine-0").count() == 2
    for viewer, told in ((None, [""]), (ada, ["mine.tar.gz", "public.tar.gz"])):
        rows = disambiguate(Platform.objects.visible_to(viewer).order_by("pk"), viewer)
        assert sorted(row.delivered_by.split(", ")[0] for row in rows) == told
