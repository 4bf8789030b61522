import csv
import io

import pytest

from predictor.models import Evaluation
from predictor.models.evaluations import PAPER_TABLES
from tests.mpet_site.api_samples import API, client_of, make_user, read, store, strict_json
from tests.mpet_site.web.test_problems import problem_in
from tests.predictor.conftest import module_rows
from tests.predictor.stored_evaluations import evaluate_and_store, store_report
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
PATH = API + "evaluations/"
STATISTICS = {"mean", "median", "p70", "p80", "p95", "max", "bias", "count", "refused"}
METHOD_STATISTICS = {
    *("full", "t1", "scaling", "coverage", "interval_width", "interval_score", "constant_interval_score"),
    *("refused_n", "seconds"),
}


evaluation_rows = module_rows(lambda: (store(sample_measurements(4, 4)), evaluate_and_store()))


@pytest.fixture
def evaluation(evaluation_rows, db):
    return Evaluation.objects.get()


def rows_of(response):
    assert response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(read(response).decode())))


def test_one_has_the_command_s_statistics(evaluation):
    document = strict_json(client_of().get(f"{PATH}{evaluation.uid}/").content)
    assert document["id"] == str(evaluation.uid)
    assert document["url"].endswith(f"{PATH}{evaluation.uid}/")
    protocol = {"origin": "measured", "holdout": "pair", "probes": None, "sample": 6}
    assert {name: document[name] for name in protocol} == protocol
    methods = document["methods"]
    assert [(method["name"], method["baseline"]) for method in methods] == [("mpet2020", False), ("ridge", True)]
    assert methods[0]["settings"]["scaling_k"] == 3
    for method in methods:
        assert set(method["statistics"]) == METHOD_STATISTICS
        assert set(method["statistics"]["full"]) == STATISTICS
    assert set(document["noise_floor"]["t1"]) == STATISTICS
    assert "pairs" not in document


def test_the_list_is_newest_first_and_filtered(evaluation, django_assert_num_queries):
    (row,) = rows_of(client_of().get(PATH + "?format=csv"))
    assert (row["id"], row["methods"], row["probes"]) == (str(evaluation.uid), "mpet2020; ridge", "")
    other = evaluate_and_store(holdout="cpu_model")
    client = client_of()
    # the newest, how many (for the ETag and for the page), the rows, their methods
    with django_assert_num_queries(5):
        listed = client.get(PATH).json()["results"]
    assert [row["id"] for row in listed] == [str(other.uid), str(evaluation.uid)]
    assert [row["id"] for row in client.get(PATH + "?holdout=pair").json()["results"]] == [str(evaluation.uid)]
    counts = {"origin=simulated": 0, f"revision={evaluation.revision}": 2, "search=ridge&ordering=created_at": 2}
    assert {query: client.get(f"{PATH}?{query}").json()["count"] for query in counts} == counts
    for wrong in ("holdout=moon", "colour=red"):
        problem_in(client.get(f"{PATH}?{wrong}"), 400)


def test_every_error_can_be_read_in_pages_or_as_csv(evaluation):
    client, address = client_of(), f"{PATH}{evaluation.uid}/errors/"
    page = client.get(address + "?page_size=5").json()
    assert (page["count"], len(page["results"])) == (12, 5)
    whole, rows = client.get(address).json()["results"], rows_of(client.get(address + "?format=csv"))
    named = ("platform", "workload", "method")
    assert [[row[name] for name in named] for row in rows] == [[row[name] for name in named] for row in whole]
    errors = [row["full_error_percent"] for row in whole]
    assert [float(row["full_error_percent"]) for row in rows] == pytest.approx(errors)
    ridge = [row["full_error_percent"] for row in whole if row["method"] == "ridge"]
    mean = evaluation.methods.get(name="ridge").statistics["full"]["mean"]
    assert sum(ridge) / len(ridge) == pytest.approx(mean)


def test_the_papers_tables(evaluation):
    client = client_of()
    problem_in(client.get(PATH + "paper/"), 404)
    report = store_report()
    document = strict_json(client.get(PATH + "paper/").content)
    assert document["id"] == str(report.uid)
    assert tuple(document["results"]) == PAPER_TABLES
    problem_in(client.get(PATH + "paper/?origin=simulated"), 404)
    problem_in(client.get(PATH + "paper/?origin=moon"), 400)


def test_nobody_makes_one_through_the_api_and_an_unknown_one_is_404(evaluation):
    client, unknown = client_of(make_user("ada", is_staff=True)), "00000000-0000-0000-0000-000000000000"
    for address in (PATH, f"{PATH}{evaluation.uid}/", PATH + "paper/"):
        problem_in(client.post(address, {}, format="json"), 405)
    assert Evaluation.objects.count() == 1
    for address in (f"{PATH}{unknown}/", f"{PATH}{unknown}/errors/"):
        problem_in(client.get(address), 404)


def test_clients_can_keep_answers_until_there_is_a_new_one(evaluation):
    client = client_of()
    for address in (PATH, f"{PATH}{evaluation.uid}/", f"{PATH}{evaluation.uid}/errors/"):
        etag = client.get(address)["ETag"]
        assert client.get(address, HTTP_IF_NONE_MATCH=etag).status_code == 304
    etag = client.get(PATH)["ETag"]
    evaluate_and_store()
    assert client.get(PATH, HTTP_IF_NONE_MATCH=etag).status_code == 200


def test_one_kept_before_intervals_were_scored_is_still_read(evaluation):
    method = evaluation.methods.first()
    for name in ("interval_score", "constant_interval_score", "refused_n"):
        del method.statistics[name]
    method.save()
    document = strict_json(client_of().get(f"{PATH}{evaluation.uid}/").content)
    assert document["methods"][0]["statistics"]["refused_n"] is None
    assert document["methods"][1]["statistics"]["refused_n"] == 0
