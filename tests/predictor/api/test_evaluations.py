import csv
import io

import pytest

from predictor.models import Evaluation
from predictor.models.evaluations import PAPER_TABLES
from tests.mpet_site.api_samples import API, client_of, make_user, read, store, strict_json
from tests.mpet_site.web.test_problems import problem_in
from tests.predictor.stored_evaluations import evaluate_and_store, store_report
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
PATH = API + "evaluations/"
STATISTICS = {"mean", "median", "p70", "p80", "p95", "max", "bias", "count", "refused"}
METHOD_STATISTICS = {
    *("full", "t1", "scaling", "coverage", "interval_width", "interval_score", "constant_interval_score"),
    *("refused_n", "seconds"),
}


@pytest.fixture
def evaluation():
    store(sample_measurements(4, 4))
    return evaluate_and_store()


def rows_of(response):
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(read(response).decode())))


def test_one_has_the_command_s_statistics(evaluation):
    document = strict_json(client_of().get(f"{PATH}{evaluation.uid}/").content)
    assert document["id"] == str(evaluation.uid)
    assert document["url"].endswith(f"{PATH}{evaluation.uid}/")
    assert (document["origin"], document["holdout"], document["probes"], document["sample"]) == (
        "measured",
        "pair",
        None,
        6,
    )
    assert [method["name"] for method in document["methods"]] == ["mpet2020", "ridge"]
    assert [method["baseline"] for method in document["methods"]] == [False, True]
    assert document["methods"][0]["settings"]["scaling_k"] == 3
    for method in document["methods"]:
        assert set(method["statistics"]) == METHOD_STATISTICS
        assert set(method["statistics"]["full"]) == STATISTICS
    assert set(document["noise_floor"]["t1"]) == STATISTICS
    assert "pairs" not in document


def test_the_list_is_newest_first_and_filtered(evaluation):
    other = evaluate_and_store(holdout="cpu_model")
    client = client_of()
    assert [row["id"] for row in client.get(PATH).json()["results"]] == [str(other.uid), str(evaluation.uid)]
    assert [row["id"] for row in client.get(PATH + "?holdout=pair").json()["results"]] == [str(evaluation.uid)]
    assert client.get(PATH + "?origin=simulated").json()["count"] == 0
    assert client.get(f"{PATH}?revision={evaluation.revision}").json()["count"] == 2
    assert client.get(PATH + "?search=ridge&ordering=created_at").json()["count"] == 2
    problem_in(client.get(PATH + "?holdout=moon"), 400)
    problem_in(client.get(PATH + "?colour=red"), 400)


def test_the_list_as_csv_names_the_methods(evaluation):
    (row,) = rows_of(client_of().get(PATH + "?format=csv"))
    assert (row["id"], row["methods"], row["probes"]) == (str(evaluation.uid), "mpet2020; ridge", "")


def test_every_error_can_be_read_in_pages_or_as_csv(evaluation):
    client = client_of()
    address = f"{PATH}{evaluation.uid}/errors/"
    page = client.get(address + "?page_size=5").json()
    assert (page["count"], len(page["results"])) == (12, 5)
    whole = client.get(address).json()["results"]
    rows = rows_of(client.get(address + "?format=csv"))
    assert len(rows) == len(whole) == 12
    for row, same in zip(rows, whole, strict=True):
        assert (row["platform"], row["workload"], row["method"]) == (same["platform"], same["workload"], same["method"])
        assert float(row["full_error_percent"]) == pytest.approx(same["full_error_percent"])
    mean = evaluation.methods.get(name="ridge").statistics["full"]["mean"]
    errors = [row["full_error_percent"] for row in whole if row["method"] == "ridge"]
    assert sum(errors) / len(errors) == pytest.approx(mean)


def test_the_papers_tables(evaluation):
    client = client_of()
    problem_in(client.get(PATH + "paper/"), 404)
    report = store_report()
    document = strict_json(client.get(PATH + "paper/").content)
    assert document["id"] == str(report.uid)
    assert tuple(document["results"]) == PAPER_TABLES
    problem_in(client.get(PATH + "paper/?origin=simulated"), 404)
    problem_in(client.get(PATH + "paper/?origin=moon"), 400)


def test_nobody_makes_one_through_the_api(evaluation):
    client = client_of(make_user("ada", is_staff=True))
    for address in (PATH, f"{PATH}{evaluation.uid}/", PATH + "paper/"):
        problem_in(client.post(address, {}, format="json"), 405)
    assert Evaluation.objects.count() == 1


def test_what_is_not_there_is_404(evaluation):
    unknown = "00000000-0000-0000-0000-000000000000"
    problem_in(client_of().get(f"{PATH}{unknown}/"), 404)
    problem_in(client_of().get(f"{PATH}{unknown}/errors/"), 404)


def test_clients_can_keep_answers_until_there_is_a_new_one(evaluation):
    client = client_of()
    for address in (PATH, f"{PATH}{evaluation.uid}/", f"{PATH}{evaluation.uid}/errors/"):
        etag = client.get(address)["ETag"]
        assert client.get(address, HTTP_IF_NONE_MATCH=etag).status_code == 304
    etag = client.get(PATH)["ETag"]
    evaluate_and_store()
    assert client.get(PATH, HTTP_IF_NONE_MATCH=etag).status_code == 200


def test_queries_of_the_list(evaluation, django_assert_num_queries):
    """1 the newest, 2 how many (for the ETag), 3 how many (for the page), 4 the rows, 5 their methods."""
    evaluate_and_store()
    with django_assert_num_queries(5):
        client_of().get(PATH)


def test_one_kept_before_intervals_were_scored_is_still_read(evaluation):
    method = evaluation.methods.first()
    for name in ("interval_score", "constant_interval_score", "refused_n"):
        del method.statistics[name]
    method.save()
    document = strict_json(client_of().get(f"{PATH}{evaluation.uid}/").content)
    assert document["methods"][0]["statistics"]["refused_n"] is None
    assert document["methods"][1]["statistics"]["refused_n"] == 0
