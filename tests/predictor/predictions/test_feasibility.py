import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse

from benchmarks.public_data.sparecores import stress_ng_workload
from predictor.predictions.advice import kit_counts
from predictor.predictions.feasibility import described_ranking, feasibility, feasible_targets
from predictor.predictions.question import InvalidField, NoPrediction, PredictionRequest
from predictor.predictions.rankings import RankingQuestion, rank_platforms
from predictor.predictions.service import predict
from profiles.models import Profile, Revision
from tests.pages import store_private, store_public, text_of, user
from tests.plans import captured_queries, plan_of, whole_reads
from tests.predictor.conftest import store
from tests.profiles.deliveries import measured
from tests.samples import sample_measurements, sample_platform, sample_workload

pytestmark = pytest.mark.django_db
ADDRESS = "/predict/possible/"
ONCE = "once (a minute or two):"


PAIR = PredictionRequest("app0-section0", "machine-1")


def words(client, workload: str, target: str) -> str:
    return text_of(client.get(ADDRESS, {"workload": workload, "target": target}))


def refusal_of(request):
    return feasibility(request, None).refusal


def test_counts_what_there_is_to_predict_from(client):
    store_public()
    text = words(client, "app0-section0", "machine-1")
    for part in (
        "Possible: 2 reference machines have the workload",
        "the target has 3 other workloads",
        "6 profiles connect the two",
        "This pair was measured",
    ):
        assert part in text
    assert words(client, "app0/section0", "machine-1") == text  # names stand for slugs
    assert words(client, "app0-section0", " ") == ""
    page = client.get(reverse("predict"), {"workload": "app0-section0", "target": "machine-1"})
    assert text in text_of(page)


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ({"platform__slug": "machine-1"}, "was measured on no other machine"),
        ({"workload__slug": "app0-section0"}, "No other workload was measured on machine-1"),
        ("apart", "shares no workload"),
    ],
)
def test_says_why_there_can_be_no_prediction(client, kept, reason):
    profiles = {(profile.workload.slug, profile.platform.slug): profile.pk for profile in store_public()}
    if kept == "apart":
        other = next(workload for workload, _ in profiles if workload != "app0-section0")
        pair = [profiles["app0-section0", "machine-0"], profiles[other, "machine-1"]]
        Profile.objects.exclude(pk__in=pair).delete()
    else:
        Profile.objects.exclude(**kept).delete()
    Revision.raise_for(None)
    assert reason in words(client, "app0-section0", "machine-1")
    assert refusal_of(PAIR) is not None


@pytest.mark.parametrize(
    ("left_out", "lacks"),
    [
        ({"workload__slug": "app0-section0", "platform__slug__in": ["machine-0", "machine-2"]}, "reference"),
        ({"platform__slug": "machine-1"}, "benchmark"),
        ({"platform__slug__in": ["machine-0", "machine-2"]}, "reference"),
    ],
)
def test_the_reason_names_the_outliers_that_would_have_answered(client, left_out, lacks):
    store_public()
    Profile.objects.filter(**left_out).update(outlier_reason="9 times slower than all other profiles say")
    Revision.raise_for(None)
    refusal = refusal_of(PAIR)
    assert refusal.lacks == lacks
    assert "; excluded outliers: " in refusal.reason
    assert "(9 times slower than all other profiles say)" in refusal.reason
    with pytest.raises(NoPrediction, match="9 times slower"):
        predict(PAIR)
    assert "excluded outliers" in words(client, "app0-section0", "machine-1")
    ranking = rank_platforms("app0-section0").document()
    refused = described_ranking(RankingQuestion.of("app0-section0"), ranking, None)["refused"]
    (reason,) = (row["reason"] for row in refused if row["platform"] == "machine-1")
    assert ("9 times slower" in reason) == (lacks == "reference")


def test_outliers_that_would_not_help_are_not_named():
    store_public()
    Profile.objects.filter(workload__slug="app0-section0").exclude(platform__slug="machine-1").delete()
    Profile.objects.filter(workload__slug="app0-section1").update(outlier_reason="wrong")
    Revision.raise_for(None)
    refusal = refusal_of(PAIR)
    assert (refusal.left_out, refusal.lacks) == ("", "reference")


def test_unknown_names_lead_to_those_that_look_alike(client):
    store_public()
    page = client.get(ADDRESS, {"workload": "app0-secton0", "target": "machine-1"})
    assert "There is no workload “app0-secton0”. Did you mean app0/section0" in text_of(page)
    assert 'href="/predict/?workload=app0-section0&amp;target=machine-1"' in page.content.decode()
    assert "There is no target machine “zzz”." in words(client, "app0-section0", "zzz")


def test_private_rows_are_known_to_their_owner_alone(client):
    ada = user("ada")
    private = store_private(ada)[0]
    assert "There is no workload" in words(client, private.workload.slug, private.platform.slug)
    client.force_login(ada)
    assert "was measured on no other machine" in words(client, private.workload.slug, private.platform.slug)


def test_scenarios_that_counts_decide_nothing_about_are_tried(client):
    store_public()
    Profile.objects.filter(workload__slug="app0-section0").exclude(platform__slug="machine-0").delete()
    Revision.raise_for(None)
    parameters = {"workload": "app0-section0", "target": "machine-1", "scenario": "parallelisation"}
    assert text_of(client.get(ADDRESS, parameters)) == ""  # no strategy is chosen yet
    possible = text_of(client.get(ADDRESS, parameters | {"strategy": "dynamic_loop"}))
    assert possible.startswith("Possible: the target has 3 other workloads")
    refused = text_of(client.get(ADDRESS, parameters | {"strategy": "pipeline"}))
    assert not refused.startswith("Possible")
    assert "pipeline" in refused
    assert "Possible" in text_of(client.get(ADDRESS, parameters | {"scenario": "sequential"}))


def deliver(platform, workloads, *, scale="full", generator="mpet-kit 1.1", origin="measured", openmp=(), **how):
    """These sample workloads on one machine, as the kit delivers them."""
    measurements = replace(
        sample_measurements(1, len(workloads), seed=platform, counters=False),
        platforms=[sample_platform(platform)],
        workloads=[sample_workload(index, **{"runtime": "openmp"} if index in openmp else {}) for index in workloads],
        generator=generator,
        environment={"scale": scale},
        origin=origin,
    )
    return store(measurements, label=f"{platform} {workloads} {generator}", **how)


@pytest.fixture
def program():
    """A program of its own (app5/section0) on machine-0; machine-1 ran four workloads of the kit, machine-2 three quick
    ones and one more, machine-3 nothing that is the kit's."""
    deliver(0, [10], generator="mpet-profile 1.1")
    deliver(1, [0, 1, 2, 3])
    deliver(2, [4, 5, 6], scale="quick")
    deliver(2, [0])
    deliver(3, [8], generator="mine 1")
    return "app5-section0"


def test_advice_names_who_would_run_what_and_how_much_is_then_shared(program):
    answers = [feasibility(PredictionRequest(program, f"machine-{n}"), None) for n in (1, 2, 3)]
    assert [answer.refusal.advice for answer in answers] == [
        f"run `make quick` on machine-0 {ONCE} machine-0 and machine-1 then share 4 workloads",
        f"run `make quick` on machine-0 {ONCE} machine-0 and machine-2 then share 4 workloads",
        "run `make quick` of the benchmark kit on machine-0 and on machine-3: they then share its workloads",
    ]
    assert answers[1].document()["remedy"] == {
        "kind": "kit",
        "platform": "machine-0",
        "command": "make quick",
        "shares_with": "machine-2",
        "shared_workloads": 4,
    }


def test_advice_for_one_target_counts_only_its_workloads_and_those_of_the_machines_with_the_program(program):
    assert kit_counts(None, program) == {"machine-1": 4, "machine-2": 4}
    assert kit_counts(None, program, ["machine-0", "machine-2"]) == {"machine-2": 4}
    assert kit_counts(None, "app2-section0", ["machine-2"]) == {"machine-2": 3}
    with captured_queries() as queries:
        advice = refusal_of(PredictionRequest(program, "machine-1")).advice
    assert advice == f"run `make quick` on machine-0 {ONCE} machine-0 and machine-1 then share 4 workloads"
    counting = [(sql, params) for sql, params in queries.items() if "COUNT(DISTINCT" in sql]
    assert len(counting) == 1
    if connection.vendor == "sqlite":
        assert whole_reads(counting[0][0], plan_of(*counting[0])) == []


def test_what_the_advice_promises_comes_true(program):
    deliver(0, [4, 5, 6], scale="quick")
    answer = feasibility(PredictionRequest(program, "machine-2"), None)
    assert answer.refusal is None
    assert answer.evidence.shared == 3
    assert predict(PredictionRequest(program, "machine-2")).answer["t1_s"] > 0


def test_where_the_workload_s_machine_ran_the_kit_the_target_is_to_run_it(program):
    deliver(0, [12, 13])
    refusal = refusal_of(PredictionRequest(program, "machine-3"))
    assert refusal.advice == f"run `make quick` on machine-3 {ONCE} machine-3 and machine-0 then share 2 workloads"


def test_what_nobody_else_ran_is_to_be_measured_where_most_is_shared(program):
    refusal = refusal_of(replace(PAIR, workload="app0-section1"))
    assert refusal.lacks == "reference"
    assert refusal.advice == (
        "measure app0-section1 on another machine, such as machine-2, which shares 1 workload with machine-1"
    )


def test_all_targets_at_once(program):
    everywhere = feasible_targets(program, None)
    assert everywhere["targets"] == {"platforms": 3, "feasible": 0, "measured": 1, "lacks": {"shared": 3}}
    shares = "it then shares 4 workloads with 2 more machines"
    assert everywhere["advice"] == f"run `make quick` on machine-0 {ONCE} {shares}"
    deliver(0, [0, 1, 2, 3])
    connected = feasible_targets(program, None)
    assert connected["targets"] == {"platforms": 3, "feasible": 2, "measured": 1, "lacks": {"shared": 1}}
    assert connected["advice"] == "run `make quick` of the benchmark kit on machine-3"
    with pytest.raises(InvalidField, match="one target"):
        feasible_targets(program, None, method="mpet2020")


def test_private_profiles_move_nobody_else_s_advice(program):
    ada, before = user("ada"), feasible_targets(program, None)
    deliver(3, [14, 15], scale="quick", owner=ada, private=True)
    ran_stress_ng("0.20.01", 1, 2, 3, owner=ada, private=True)
    assert feasible_targets(program, None) == before
    request = PredictionRequest(program, "machine-3")
    assert "on machine-0 and on machine-3" in feasibility(request, None).refusal.advice
    assert "then share 2 workloads" in feasibility(request, ada).refusal.advice


def test_another_request_is_the_first_thing_to_try():
    deliver(0, [0, 1])
    deliver(1, [0, 1])
    deliver(2, [0, 5])
    few = replace(PAIR, references=["machine-2"])
    assert refusal_of(few).advice == "omit the references: other machines can be used"
    deliver(3, [1])
    unmeasured = replace(PAIR, target="machine-3", references=["machine-3"], workload_changes={"work": 2.0})
    assert refusal_of(unmeasured).advice.startswith("omit measured, or the references")
    Profile.objects.all().delete()
    deliver(0, [0, 1], openmp=[1], generator="mixed")
    deliver(1, [3])
    deliver(1, [1], openmp=[1], generator="openmp")
    refusal = refusal_of(replace(PAIR, method="mpet2020", settings={"mix_runtimes": "never"}))
    assert refusal.remedy.kind == "settings"
    assert refusal.advice.startswith("set mix_runtimes to auto")


def test_a_target_that_is_known_by_simulated_profiles_alone():
    deliver(0, [0, 1])
    deliver(1, [1, 2], origin="simulated", generator="mpet-simulator 1")
    assert refusal_of(PAIR).advice == "include simulated profiles: machine-1 has no others"
    assert refusal_of(replace(PAIR, include_simulated=True)) is None


def test_scaling_is_not_offered_of_what_ran_on_one_thread_alone(client, program):
    profile = Profile.objects.get(workload__slug="app4-section0")
    profile.n_largest = 1
    profile.save()
    offered = client.get(reverse("what-if"), {"workload": program, "target": "machine-1"}).context["workloads"]
    assert "app4-section0" not in dict(offered)
    assert program in dict(offered)


@pytest.mark.parametrize("scenario", ["migration", "sequential", "scaling"])
@pytest.mark.parametrize("method", ["mpet", "mpet2020", "additive-log"])
def test_feasible_is_what_the_prediction_then_answers(program, method, scenario):
    deliver(0, [0])
    said = {}
    for workload in (program, "app0-section0", "app4-section0"):
        for target in ("machine-0", "machine-1", "machine-2", "machine-3"):
            request = PredictionRequest(workload, target, method=method, scenario=scenario)
            refusal = feasibility(request, None).refusal
            try:
                predict(request)
            except NoPrediction as error:
                assert (str(error), error.lacks, error.advice) == (str(refusal), refusal.lacks, refusal.advice)
            else:
                assert refusal is None
            said[refusal is None] = True
    assert said[False]
    assert said.get(True) or (method, scenario) == ("mpet2020", "sequential")  # which needs counters


def test_the_api_says_the_same_as_the_form_the_problem_and_the_command(client, program):
    address = "/api/v1/predictions/possible/"
    document = client.get(address, {"workload": program, "target": "machine-2"}).json()
    assert (document["possible"], document["lacks"], document["evidence"]["references"]) == (False, "shared", 1)
    assert f"{document['advice']}." in words(client, program, "machine-2")
    problem = client.get("/api/v1/predictions/preview/", {"workload": program, "target": "machine-2"})
    assert problem.status_code == 422
    members = {name: problem.json()[name] for name in ("lacks", "advice", "remedy")}
    assert members == {name: document[name] for name in members}
    assert problem.json()["detail"] == document["reason"]
    with pytest.raises(CommandError) as caught:
        call_command("predict", "--workload", program, "--target", "machine-2")
    assert str(caught.value) == f"{document['reason']}\nWhat would help: {document['advice']}."
    page = client.get(reverse("what-if"), {"workload": program, "target": "machine-2"})
    assert f"{document['advice']}." in text_of(page)


def test_the_api_without_a_target_counts_all(client, program):
    address = "/api/v1/predictions/possible/"
    document = client.get(address, {"workload": program}).json()
    assert document["target"] is None
    assert document["targets"]["feasible"] == 0
    assert document["advice"].startswith("run `make quick` on machine-0 once")
    for wrong in ({"scenario": "scaling"}, {"method": "mpet2020"}, {"mix_runtimes": "auto"}):
        assert client.get(address, {"workload": program} | wrong).status_code == 400
    assert client.get(address, {"workload": program, "target": "nothing"}).status_code == 400
    wrong = client.get(address, {"workload": program, "target": "machine-1", "mix_runtimes": "auto"}).json()
    assert wrong["errors"][0]["name"] == "mix_runtimes"


def test_a_ranking_says_why_platforms_have_no_place_and_what_would_help(client, program):
    deliver(0, [0])
    ranking = client.get("/api/v1/rankings/", {"workload": program}).json()
    assert [row["platform"] for row in ranking["results"]] == ["machine-1", "machine-2"]
    assert {row["platform"]: row["lacks"] for row in ranking["refused"]} == {
        "machine-0": "reference",
        "machine-3": "shared",
    }
    assert [(row["lacks"], row["count"]) for row in ranking["refused_summary"]] == [("shared", 1), ("reference", 1)]
    assert ranking["advice"] == "run `make quick` of the benchmark kit on machine-3"
    page = text_of(client.get(reverse("ranking"), {"workload": program}))
    reason = ranking["refused_summary"][0]["reason"]
    assert f"2 machines have no prediction, most of them because {reason}. Run" in page
    assert f"{ranking['advice'].removeprefix('run ')}." in page


def test_a_ranking_mixes_runtimes_as_it_is_asked(client, program):
    deliver(0, [0])
    question = RankingQuestion.of(program, method="mpet2020", mix_runtimes="never")
    assert question.canonical()["settings"]["mix_runtimes"] == "never"
    page = client.get(reverse("ranking"), {"workload": program, "method": "mpet2020", "mix_runtimes": "never"})
    assert dict(page.context["mixing"]) == {"auto": False, "never": True, "always": False}
    assert "mix_runtimes=never" in page.context["twin"]
    assert client.get(page.context["twin"]).json()["settings"]["mix_runtimes"] == "never"
    assert client.get(reverse("ranking"), {"workload": program, "mix_runtimes": "never"}).status_code == 200
    with pytest.raises(InvalidField, match="mix_runtimes"):
        RankingQuestion.of(program, mix_runtimes="never")


def test_the_command_ranks_with_the_same_advice(program, capsys):
    deliver(0, [0])
    call_command("predict", "--workload", program, "--ranking")
    assert capsys.readouterr().out.splitlines()[-1] == (
        "What would help: run `make quick` of the benchmark kit on machine-3."
    )
    settings = ["--method", "mpet2020", "--method-settings", '{"mix_runtimes": "never"}']
    call_command("predict", "--workload", program, "--ranking", "--json", *settings)
    assert json.loads(capsys.readouterr().out)["settings"]["mix_runtimes"] == "never"


def ran_stress_ng(version, *platforms, **options):
    workload = stress_ng_workload("cpu", version)
    machines = [sample_platform(number) for number in platforms]
    delivery = measured(machines, [workload], generator="fetch_data sparecores 1")
    store(delivery, label=f"{version} {platforms}", **options)


def test_a_fleet_that_ran_stress_ng_is_reached_by_running_it(client, program):
    """More platforms ran 0.20.01 than the kit, and the machine that has the program ran no version that others did."""
    ran_stress_ng("0.15.06", 0)
    ran_stress_ng("0.20.01", 7, 8, 9)
    expected = "of the benchmark kit on machine-0, with stress-ng 0.20.01: it then shares workloads with"
    document = feasible_targets(program, None)
    assert document["advice"] == f"run `make stress-ng` {expected} 3 more machines"
    page = text_of(client.get(reverse("ranking"), {"workload": program}))
    assert f"{document['advice'].removeprefix('run ')}." in page
    alone = PredictionRequest(program, "machine-8")
    assert refusal_of(alone).advice == f"run `make stress-ng` {expected} 1 more machine"
    ran_stress_ng("0.20.01", 0)
    assert refusal_of(alone) is None


def test_a_fleet_that_is_reached_through_the_kit_needs_no_stress_ng(client, program):
    ran_stress_ng("0.20.01", 1, 7, 8, 9)
    shares = "it then shares 4 workloads with 2 more machines, through which 3 others are predicted"
    assert feasible_targets(program, None)["advice"] == f"run `make quick` on machine-0 {ONCE} {shares}"
    alone = PredictionRequest(program, "machine-8")
    through = "machine-8 is then predicted through machines that ran both"
    assert refusal_of(alone).advice == f"run `make quick` on machine-0 {ONCE} {through}"
    deliver(0, [0, 1, 2, 3])
    assert refusal_of(alone) is None
    assert feasible_targets(program, None)["targets"] == {
        "platforms": 6,
        "feasible": 5,
        "measured": 1,
        "lacks": {"shared": 1},
    }


def test_simulated_machines_are_left_out_of_a_ranking_in_one_sentence_and_no_place_to_measure(client):
    store_public()
    machines = [replace(machine, name=f"sim {n}") for n, machine in enumerate(sample_measurements(2, 2).platforms)]
    store(replace(sample_measurements(2, 2), platforms=machines, origin="simulated"), label="simulated")
    page = client.get(reverse("ranking"), {"workload": "app0-section0"})
    refusal = page.context["refusal_line"]
    sentence = "Simulated and measured machines are never mixed: 2 simulated machines are left out here."
    assert (refusal.sentence, refusal.action) == (sentence, "Show simulated profiles")
    assert refusal.address == "/profiles/?origin=simulated"
    assert text_of(page).count(refusal.sentence) == 1
    assert "make quick" not in text_of(page)
    ranking = client.get("/api/v1/rankings/", {"workload": "app0-section0"}).json()
    reason = "only simulated profiles exist there"
    refused = {row["platform"]: (row["reason"], row["lacks"]) for row in ranking["refused"]}
    assert refused["sim-0"] == refused["sim-1"] == (reason, "benchmark")
    assert {"lacks": "benchmark", "count": 2, "reason": reason} in ranking["refused_summary"]
    text = words(client, "app0-section0", "sim-0")
    assert "make quick" not in text
    assert "simulated" in text
