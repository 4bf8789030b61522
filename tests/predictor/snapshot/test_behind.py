"""A request does not wait for a large snapshot: the last one answers, where it may, and is marked as what it is."""

import subprocess
import sys
import threading

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from mpet_site.web import background
from mpet_site.web.background import NotReadyYet, answer_is_outdated, can_wait, waiting
from predictor.core.assembly import MEASURED
from predictor.models import Computation
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict, preview_answer
from predictor.snapshot import cache
from predictor.snapshot.cache import SnapshotCache, build_behind, build_lock, read_snapshot
from profiles.dump.export import export_dump
from profiles.dump.restore import restore_dump
from profiles.ingest.publication import publish_source
from profiles.ingest.withdrawal import withdraw
from profiles.judgement.outliers import keep_verdicts
from profiles.models import Profile, Revision, Source, Workload
from profiles.moderation import set_hidden
from tests.benchmarks.public_data.servers import server, write_servers
from tests.predictor.conftest import store
from tests.predictor.stored import store_profiles, store_source, store_workloads
from tests.samples import sample_measurements

API = "/api/v1/"
LARGEST_OF_TESTS = 1


@pytest.fixture(autouse=True)
def large(settings, tmp_path, monkeypatch):
    settings.SNAPSHOT_FILE_PROFILES = LARGEST_OF_TESTS
    settings.STATE_DIR = tmp_path
    settings.PAGE_CACHE_SECONDS = 60
    monkeypatch.setattr("predictor.snapshot.cache._cache", SnapshotCache(8))


@pytest.fixture
def waiting_builds(monkeypatch):
    """What would be built behind the request, in the order in which it was asked for."""
    builds = []
    monkeypatch.setattr("predictor.snapshot.cache.build_behind", lambda folder, build: builds.append(build))
    return builds


@pytest.fixture
def in_request(monkeypatch):
    token, mark = background._in_request.set(True), background._is_outdated.set(False)
    yield
    background._in_request.reset(token)
    background._is_outdated.reset(mark)


@pytest.fixture
def first(grid):
    """The snapshot that is there when the request comes."""
    with waiting():
        return read_snapshot()


def deliver(platforms, name="w3"):
    """A delivery that only adds something."""
    source = store_source()
    store_profiles(source, [(platforms[0], store_workloads([name])[0])])
    Revision.objects.filter(key=Revision.PUBLIC).update(oldest_answering=0)
    return source


def judge_slow():
    doubtful = Profile.objects.first()
    assert keep_verdicts([doubtful], {doubtful.pk: "slow"}, 1) == 1


@pytest.mark.usefixtures("in_request")
class TestInARequest:
    @pytest.mark.parametrize(("change", "profiles"), [("delivery", 5), ("judged", 3)])
    def test_the_last_one_answers_until_the_next_is_built(self, grid, first, waiting_builds, change, profiles):
        deliver(grid[0]) if change == "delivery" else judge_slow()
        assert not answer_is_outdated()
        assert read_snapshot() is first
        assert answer_is_outdated()
        waiting_builds[0]()
        assert len(read_snapshot().database) == profiles

    def test_another_process_finds_it_in_its_files(self, grid, first, waiting_builds, monkeypatch):
        deliver(grid[0])
        monkeypatch.setattr("predictor.snapshot.cache._cache", SnapshotCache(8))
        assert len(read_snapshot().database) == 4

    @pytest.mark.parametrize("change", ["hidden", "withdrawn"])
    def test_nothing_answers_from_before_something_was_taken_away(self, grid, waiting_builds, change):
        later = deliver(grid[0])
        with waiting():
            read_snapshot()
        set_hidden(later, True) if change == "hidden" else withdraw(Source.objects.filter(pk=later.pk))
        with pytest.raises(NotReadyYet):
            read_snapshot()
        waiting_builds[0]()
        assert len(read_snapshot().database) == 4

    def test_nothing_answers_where_nothing_was_built(self, grid, waiting_builds):
        with pytest.raises(NotReadyYet):
            read_snapshot()

    def test_the_state_of_another_database_answers_nobody(self, grid, first, waiting_builds):
        newest = Profile.objects.order_by("-pk").first()
        deliver(grid[0])
        newest.delete()
        with pytest.raises(NotReadyYet):
            read_snapshot()

    def test_an_owner_is_answered_by_what_is_public_until_the_own_one_is_there(
        self, grid, first, waiting_builds, admin_user
    ):
        mine = store_workloads(["mine"], private_to=admin_user)[0]
        store_profiles(store_source(admin_user, private=True), [(grid[0][0], mine)])
        meanwhile = read_snapshot(admin_user)
        assert (len(meanwhile.database), answer_is_outdated()) == (4, True)
        assert (meanwhile.holds_private, meanwhile.private_revision) == (True, 0)  # what is stored of it is private
        waiting_builds[0]()
        assert len(read_snapshot(admin_user).database) == 5
        assert not read_snapshot(AnonymousUser()).holds_private

    @pytest.mark.parametrize("change", ["refit", "dump", "publication"])
    def test_the_last_one_answers_when_nothing_was_taken_away(self, grid, waiting_builds, tmp_path, admin_user, change):
        private = store_source(admin_user, private=True)
        store_profiles(private, [(grid[0][0], store_workloads(["mine"], private_to=admin_user)[0])])
        if change == "dump":
            export_dump({"csv": tmp_path / "dump"})
        with waiting():
            first = read_snapshot()
        if change == "refit":
            Revision.raise_for(None, takes_away=False)
        elif change == "dump":
            restore_dump(tmp_path / "dump")
        else:
            publish_source(private)
        assert read_snapshot() is first
        assert answer_is_outdated()

    def test_the_last_one_answers_when_a_public_source_was_updated(self, db, waiting_builds, tmp_path):
        names = [f"aws/c{i}.2xlarge" for i in range(1, 4)]
        origin = write_servers(tmp_path, {name: server(i) for i, name in enumerate(names, start=1)})
        call_command("fetch_data", "sparecores", "--from", str(origin))
        with waiting():
            first = read_snapshot()
        asked = PredictionRequest(Workload.objects.get(name="stress-ng/cpu").slug, first.database.platforms[0])
        credit = preview_answer(asked)["sources"]
        computed = Computation.objects.create(kind="k", question={}, question_key="k", revision=1)
        for update in (2, 3):
            write_servers(tmp_path, {names[-1]: server(9.0 * update)})
            call_command("fetch_data", "sparecores", "--from", str(origin), "--update")
            assert read_snapshot() is first
            assert answer_is_outdated()
            answer = preview_answer(asked)
            assert answer["sources"] == credit != []
        assert predict(asked).source_uids == [str(Source.objects.get().uid)]
        assert Computation.objects.filter(pk=computed.pk).exists()
        waiting_builds[-1]()
        assert len(read_snapshot().database) == len(first.database)
        assert read_snapshot() is not first

    def test_a_small_one_is_built_at_once(self, grid, waiting_builds, settings):
        settings.SNAPSHOT_FILE_PROFILES = 1000
        assert len(read_snapshot().database) == 4
        assert not waiting_builds


def test_a_command_waits(grid, waiting_builds):
    assert can_wait()
    assert len(read_snapshot().database) == 4
    assert not waiting_builds


def test_a_delivery_alone_leaves_the_state_before_answering(db):
    store(sample_measurements(2, 3))
    store(sample_measurements(2, 4), label="more")
    assert Revision.oldest() == (0, 0)
    assert Revision.raise_for(None) == Revision.oldest()[0]


class TestAnswers:
    """Of a site whose newest delivery is not in its snapshot yet."""

    @pytest.fixture
    def site(self, db, waiting_builds):
        store(sample_measurements(4, 6))
        read_snapshot()
        store(sample_measurements(4, 7), label="more")
        return waiting_builds

    def test_are_given_but_kept_by_nobody(self, site):
        for _ in range(2):
            page = Client().get("/ranking/?workload=app1-section1")
            assert (page.status_code, "no-store" in page["Cache-Control"]) == (200, True)
        assert len(site) == 2
        answer = APIClient().get(f"{API}distances/platforms/matrix/")
        assert (answer.status_code, "ETag" in answer, "no-store" in answer["Cache-Control"]) == (200, False, True)

    def test_are_whole_again_soon(self, site):
        Client().get("/ranking/?workload=app1-section1")
        site[0]()
        answer = APIClient().get(f"{API}distances/platforms/matrix/")
        assert (answer.status_code, "ETag" in answer) == (200, True)

    def test_wait_where_what_is_asked_about_is_newer(self, site):
        newest = Workload.objects.order_by("-pk").first().slug
        answer = APIClient().get(f"{API}rankings/?workload={newest}")
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "being processed" in answer.json()["detail"]
        unknown = APIClient().get(f"{API}rankings/?workload=unheard")
        assert unknown.status_code == 400

    def test_of_pages_load_themselves_again(self, site):
        set_hidden(Workload.objects.first().profiles.first().source, True)
        page = Client().get("/ranking/?workload=app1-section1")
        assert (page.status_code, page["Retry-After"]) == (503, "5")
        assert '<meta http-equiv="refresh" content="5">' in page.content.decode()


class TestPagesThatNeedNoPrediction:
    """They are there before the first snapshot is, and after something was hidden: nothing may answer then."""

    @pytest.fixture(params=["first start", "hidden"])
    def addresses(self, request, db, waiting_builds):
        """Of all pages of a site whose snapshot is being built; of one stored prediction too."""
        store(sample_measurements(4, 6))
        more = store(sample_measurements(4, 7), label="more").source
        request.getfixturevalue("monkeypatch").setattr("predictor.snapshot.cache._cache", SnapshotCache(8))
        stored = predict(PredictionRequest("app1-section1", "machine-1"))
        cache.remove_others(cache.snapshot_folder(None, MEASURED, 0, 0, "x", "y"))  # all that is there
        request.getfixturevalue("monkeypatch").setattr("predictor.snapshot.cache._cache", SnapshotCache(8))
        if request.param == "hidden":
            read_snapshot()
            set_hidden(more, True)
        profile = Profile.objects.public().filter(hidden=False).first()
        return [
            "/",
            "/?workload=app1-section1&target=machine-1",
            "/platforms/",
            "/workloads/",
            "/profiles/",
            f"/platforms/{profile.platform.slug}/",
            f"/workloads/{profile.workload.slug}/",
            f"/profiles/{profile.uid}/",
            "/predict/",
            "/predict/?workload=app1-section1&target=machine-1",
            f"/predictions/{stored.uid}/",
            "/settled/",
            "/accuracy/",
            "/measure/",
        ]

    def test_do_not_wait(self, addresses, waiting_builds):
        client = Client()
        answers = {address: client.get(address) for address in addresses}
        assert {address: answer.status_code for address, answer in answers.items() if answer.status_code != 200} == {}
        assert waiting_builds
        front = answers["/"]
        assert "no-store" in front["Cache-Control"]
        assert not front.context["pairs"].workloads
        waiting_builds[0]()
        assert client.get("/").context["pairs"].workloads


class TestBuildBehind:
    def test_one_thread_builds(self, tmp_path):
        folder, begun, go, built = tmp_path / "s" / "public,1,0,x,y", threading.Event(), threading.Event(), []

        def build():
            begun.set()
            go.wait(10)
            built.append(1)

        build_behind(folder, build)
        assert begun.wait(10)
        build_behind(folder, build)
        go.set()
        (thread,) = (thread for thread in threading.enumerate() if thread.name == f"snapshot {folder.name}")
        thread.join(10)
        assert built == [1]
        assert not cache._building

    def test_what_fails_is_tried_again(self, tmp_path, caplog):
        folder, built = tmp_path / "s" / "public,1,0,x,y", threading.Event()
        build_behind(folder, lambda: 1 / 0)
        for thread in threading.enumerate():
            if thread.name.startswith("snapshot "):
                thread.join(10)
        assert "was not built" in caplog.text
        build_behind(folder, built.set)
        assert built.wait(10)

    def test_no_two_processes_of_a_machine(self, tmp_path):
        folder = tmp_path / "s" / "public,1,0,x,y"
        code = (
            "import sys; from pathlib import Path; import django; django.setup()\n"
            "from predictor.snapshot.cache import build_lock\n"
            "with build_lock(Path(sys.argv[1])) as is_alone: print(is_alone)"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "s" / "public,2,0,z,y")]
        with build_lock(folder) as is_alone:
            assert is_alone
            assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"
