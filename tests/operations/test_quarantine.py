"""Uploads without an account: seen by nobody else, used for nothing, claimed by who has the secret, or deleted."""

import io
import json
import logging
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from accounts.user_data import close_account
from benchmarks import quarantine
from benchmarks.models import Quarantine, Upload
from benchmarks.quarantine import ClaimError, claim_upload, find_quarantine, store_in_quarantine
from benchmarks.services import delete_uploads
from mpet_site.web.periodic_tasks import registered_periodic_tasks
from mpet_site.web.request_logs import SECRET_HEADERS
from operations.retention import apply_retention
from predictor.models import Computation
from predictor.models.computations import pack_document
from predictor.snapshot.cache import read_database
from profiles.models import Platform, Profile, Source, Workload
from tests.benchmarks.tarballs import files_of, pack, packed, with_manifest
from tests.benchmarks.uploads import receive
from tests.logs import written_log
from tests.mpet_site.api_samples import API, client_of, make_user, secret_measurements, tarball
from tests.operations.test_metrics import TOKEN, samples
from tests.pages import PASSWORD, store_public, text_of, user
from tests.predictor.absurd import multiplied
from tests.programs import program_measurements
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db


def send(client, measurements=None):
    return client.post(reverse("quarantine"), {"file": tarball(measurements)})


def planted():
    """Programs that everybody knows, absurdly slow on a machine that everybody knows."""
    measurements = sample_measurements(1, 4)
    slow = [replace(one, runs=multiplied(one.runs, 10**6 * one.runs.n)) for one in measurements.profiles]
    return replace(measurements, profiles=slow)


def secret_of(answer) -> str:
    return answer["Location"].rstrip("/").rsplit("/", 1)[1]


def test_the_page_answers_with_a_secret_link_and_predictions(client):
    store_public()
    answer = send(client, sample_measurements(1, 2, seed=3))
    assert answer.status_code == 302
    page = client.get(answer["Location"])
    for response in (answer, page):
        assert SECRET_HEADERS.items() <= dict(response.items()).items()
    text = text_of(page)
    assert "accepted" in text
    assert "app0/section0 on 3 machines" in text
    workload = page.context["workloads"][1]
    assert f"{workload.name} on 3 machines" in text_of(client.get(answer["Location"] + f"?workload={workload.slug}"))
    assert "sessionid" not in client.cookies


def test_the_first_workload_of_the_file_is_shown_first(client):
    measurements = sample_measurements(1, 3)
    workloads = measurements.workloads[::-1]
    assert workloads[0].name > workloads[1].name
    page = client.get(
        send(client, replace(measurements, workloads=workloads, profiles=measurements.profiles[::-1]))["Location"]
    )
    assert [one.name for one in page.context["workloads"]] == [one.name for one in workloads]


def test_the_page_shows_what_the_upload_measured(client):
    measurements = sample_measurements(1, 2)
    page = client.get(send(client, measurements)["Location"])
    (part,) = page.context["program"].parts
    assert (part.workload.name, part.source) == ("app0/section0", Quarantine.objects.get().upload.source)
    runs = measurements.profiles[0].runs
    medians = {n: np.median(runs.time_s[(runs.n == n) & ~runs.is_profile_pass]) for n in (1, 16)}
    measured = page.context["measured"]
    assert (measured.best_n, measured.best_s) == (16, pytest.approx(medians[16]))
    assert (measured.first_n, measured.first_s) == (1, pytest.approx(medians[1]))
    assert "What limits it" in text_of(page)


def test_the_page_answers_before_the_first_rows_of_its_ranking(client, settings):
    """Among hundreds of machines the order is estimated first, and the answer so far is stored without any row."""
    settings.REQUEST_SECONDS = 0
    store_public()
    address = send(client, sample_measurements(1, 2, seed=3))["Location"]
    assert client.get(address).context["shown"].document is None
    Computation.objects.update(attempts=1, packed=pack_document({}))
    page = client.get(address)
    assert (page.status_code, page.context["shown"].document, page.context["rows"]) == (200, None, [])


def test_the_whole_program_comes_before_its_regions(client):
    page = client.get(send(client, program_measurements())["Location"])
    assert [one.name for one in page.context["programs"]] == ["sort"]
    assert [part.workload.section for part in page.context["program"].parts] == ["merge:12", "split:40", "serial rest"]
    measured = page.context["measured"]
    assert (measured.best_n, measured.best_s) == (2, pytest.approx(3.0))
    assert page.context["limits"][0].startswith("The serial rest takes")
    region = page.context["workloads"][0]
    page = client.get(page.request["PATH_INFO"], {"workload": region.slug})
    assert [part.workload for part in page.context["program"].parts] == [region]


def test_programs_of_very_many_parts_are_not_ranked_as_a_whole(client, monkeypatch):
    monkeypatch.setattr("operations.quarantine_pages.MOST_WORKLOADS_OFFERED", 3)
    page = client.get(send(client, program_measurements())["Location"])
    assert page.context["programs"] == []
    assert len(page.context["program"].parts) == 1


def test_only_the_digest_of_the_secret_is_stored(client):
    secret = secret_of(send(client))
    quarantine = Quarantine.objects.get()
    assert secret not in json.dumps([*Quarantine.objects.values(), *User.objects.values()], default=str)
    assert find_quarantine(secret) == quarantine
    assert find_quarantine(quarantine.digest) is None
    assert client.get(reverse("quarantined", args=[quarantine.digest])).status_code == 404


def test_nobody_signs_in_as_the_one_whom_it_belongs_to(client):
    send(client)
    holder = Quarantine.objects.get().holder
    assert not holder.is_active
    assert not holder.has_usable_password()
    assert not client.login(username=holder.username, password="")


def everything(viewer, settings, client) -> dict[str, object]:
    """What somebody else gets of every page, list, count and answer, and the operator of metrics and the dump."""
    client.force_login(viewer) if viewer else client.logout()
    pages = ["/", "/platforms/", "/workloads/", "/profiles/", "/accuracy/", "/settled/", "/platforms/machine-0/"]
    pages += ["/workloads/app0-section0/", "/ranking/?workload=app0-section0", "/platforms/?search=secret"]
    pages += ["/workloads/secret-kernel/", "/platforms/secret-machine/"]
    pages += ["/predictions/answer/?workload=app0-section0&target=machine-1"]
    api = ["platforms/", "workloads/", "profiles/", "rankings/?workload=app0-section0", "profiles/?format=csv"]
    api += ["predictions/preview/?workload=app0-section0&target=machine-1", "distances/platforms/matrix/"]
    api += ["predictions/possible/?workload=app0-section0", "compare/platforms/?slugs=machine-0,machine-1"]
    answers = {address: text_of(client.get(address)) for address in pages}
    answers |= {path: json_of(client.get(API + path)) for path in api}
    answers["etags"] = [client.get(API + path).get("ETag") for path in ("platforms/", "profiles/")]
    answers["database"] = [array.tobytes() for array in (read_database(viewer).t1_s, read_database(viewer).features)]
    settings.METRICS_TOKEN = TOKEN
    metrics = samples(client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}))
    answers["metrics"] = {
        name: value for name, value in metrics.items() if name[0] in {"mpet_uploads", "mpet_revision"}
    }
    return answers


def json_of(response) -> object:
    content = response.content if not response.streaming else b"".join(response.streaming_content)
    document = json.loads(content) if "json" in response["Content-Type"] else content
    return {**document, "request_id": ""} if isinstance(document, dict) else document


@pytest.mark.parametrize("who", ["anybody", "another"])
def test_planted_values_move_nothing_of_others(client, settings, tmp_path, who):
    """Trust: a quarantined upload is as if it were not there."""
    settings.PAGE_CACHE_SECONDS = 0
    settings.STATE_DIR = tmp_path
    store_public()
    viewer = make_user("bob") if who == "another" else None
    before = everything(viewer, settings, client)
    call_command("export", str(tmp_path / "before"), "--format", "csv", stdout=io.StringIO())
    client.logout()
    for measurements in (planted(), secret_measurements()):
        answer = send(client, measurements)
        assert Quarantine.objects.latest("pk").upload.status == "accepted"
        assert client.get(answer["Location"]).status_code == 200
    after = everything(viewer, settings, client)
    for name, value in before.items():
        assert after[name] == value, name
    call_command("export", str(tmp_path / "after"), "--format", "csv", stdout=io.StringIO())
    tables = sorted(path.name for path in (tmp_path / "before").iterdir() if path.suffix == ".csv")
    assert tables
    for name in tables:
        assert (tmp_path / "after" / name).read_bytes() == (tmp_path / "before" / name).read_bytes(), name


def test_they_would_have_moved_them(client, settings, tmp_path):
    settings.PAGE_CACHE_SECONDS = 0
    store_public()
    before = everything(None, settings, client)
    sender = client_of(make_user("ada"))
    for measurements in (planted(), secret_measurements()):  # the latter measure what nobody else did
        sender.post(API + "uploads/", {"file": tarball(measurements), "visibility": "public"})
    after = everything(None, settings, client)
    moved = {name for name in before if before[name] != after[name]}
    assert moved >= {"/", "/profiles/", "/platforms/machine-0/", "profiles/", "distances/platforms/matrix/"}
    assert moved >= {"rankings/?workload=app0-section0", "database", "etags", "metrics"}


def test_no_list_of_anybody_has_it(client, settings):
    send(client, secret_measurements())
    upload = Upload.objects.get()
    admin = User.objects.create_superuser("moderator", password=PASSWORD)
    for viewer in (None, make_user("bob"), admin):
        if viewer:
            client.force_login(viewer)
        assert client.get(reverse("upload-report", args=[upload.uid])).status_code in {302, 404}
        assert client_of(viewer).get(f"{API}uploads/{upload.uid}/").status_code == 404
    for address in (
        *(reverse(f"admin:{name}_changelist") for name in ("benchmarks_upload", "profiles_platform")),
        *(f"{reverse('moderation')}?part={part}" for part in ("platforms", "uploads", "outliers", "refused")),
    ):
        assert "secret" not in text_of(client.get(address)), address


def test_it_is_claimed_by_signing_up(client):
    store_public()
    sent = send(client, secret_measurements())
    begun = client.get(reverse("begin-claim", args=[secret_of(sent)]))
    assert begun.url == reverse("claim")
    sign_in = client.get(begun.url, follow=True)
    assert secret_of(sent) not in sign_in.content.decode()
    fields = {"email": "ada@example.org", "password1": PASSWORD, "password2": PASSWORD, "next": reverse("claim")}
    page = client.post(reverse("signup"), fields, follow=True)
    assert "Claim results.tar.gz?" in text_of(page)
    done = client.post(reverse("claim"), follow=True)
    assert "is now your private upload" in text_of(done)
    ada = User.objects.get(email="ada@example.org")
    upload = Upload.objects.get()
    assert (upload.owner, upload.visibility, upload.status) == (ada, "private", "accepted")
    assert set(Profile.objects.exclude(private_to=None).values_list("private_to", flat=True)) == {ada.pk}
    assert not Quarantine.objects.exists()
    assert set(User.objects.all()) == {ada}
    assert client.get(sent["Location"]).status_code == 404
    published = client.post(reverse("publish-upload", args=[upload.uid]), follow=True)
    assert "is public" in text_of(published)


def test_it_is_claimed_by_the_api(client):
    ada = make_user("ada")
    document = client_of().post(API + "quarantine/", {"file": tarball()}).json()
    assert client_of().post(document["claim_url"]).status_code == 401
    assert client_of(ada, scope="predict").post(document["claim_url"]).status_code == 403
    claimed = client_of(ada).post(document["claim_url"])
    assert (claimed.status_code, claimed.json()["visibility"]) == (200, "private")
    assert client_of(ada).post(document["claim_url"]).status_code == 404
    assert Upload.objects.get().owner == ada


def test_who_sent_it_before_claims_the_same(client):
    ada = make_user("ada")
    first = client_of(ada).post(API + "uploads/", {"file": tarball()}).json()
    document = client_of().post(API + "quarantine/", {"file": tarball()}).json()
    assert client_of(ada).post(document["claim_url"]).json()["id"] == first["id"]
    assert Upload.objects.count() == 1


def quarantined_once() -> tuple[Quarantine, str]:
    return store_in_quarantine(io.BytesIO(packed(sample_measurements(1, 2))), "results.tar.gz")


def run_chore_after_the_lease() -> None:
    Quarantine.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    next(chore for chore in registered_periodic_tasks() if chore.name == "quarantine").function()


def during_the_claim(monkeypatch, act) -> list:
    """Call `act` when the claimant has a copy and the original is not gone. Return the list of its results."""
    results = []

    def act_and_close(*closed, **choices):
        monkeypatch.undo()
        results.append(act())
        return close_account(*closed, **choices)

    monkeypatch.setattr(quarantine, "close_account", act_and_close)
    return results


@contextmanager
def killed_at(monkeypatch, name: str, act=lambda *_: None):
    """The process is killed when it calls this function of `benchmarks.quarantine`, after `act`."""

    def kill(*arguments, **_):
        act(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(quarantine, name, kill)
        yield


def test_of_two_who_claim_it_at_once_one_gets_it(monkeypatch):
    """Trust, third audit, 12: both had a copy. Bob claims it after Ada has her copy and before the original is gone."""
    _, secret = quarantined_once()
    ada, bob = make_user("ada"), make_user("bob")
    first, second = find_quarantine(secret), find_quarantine(secret)

    def claim_again() -> str:
        with pytest.raises(ClaimError) as caught:
            claim_upload(second, bob)
        return str(caught.value)

    refused = during_the_claim(monkeypatch, claim_again)
    claimed = claim_upload(first, ada)
    assert refused == ["It has just been claimed or deleted."]
    assert [(upload, upload.owner) for upload in Upload.objects.all()] == [(claimed, ada)]
    assert not bob.uploads.exists()
    assert set(User.objects.all()) == {ada, bob}


def test_what_is_being_claimed_is_not_deleted(monkeypatch):
    _, secret = quarantined_once()
    ada = make_user("ada")
    deleted = during_the_claim(monkeypatch, lambda: client_of().delete(f"{API}quarantine/{secret}/").status_code)
    claim_upload(find_quarantine(secret), ada)
    assert deleted == [404]
    assert ada.uploads.get().status == "accepted"


def test_a_deletion_whose_process_was_killed_is_finished(client, monkeypatch):
    """Trust, third audit, 12: the link said for a month that the upload was received."""
    secret = secret_of(send(client))

    with killed_at(monkeypatch, "close_account", lambda holder: delete_uploads(Upload.objects.filter(owner=holder))):
        client_of().delete(f"{API}quarantine/{secret}/")
    assert client_of().get(f"{API}quarantine/{secret}/").status_code == 404
    assert Quarantine.objects.exists()
    run_chore_after_the_lease()
    assert not (Quarantine.objects.exists() or User.objects.exists())


@pytest.mark.parametrize("function", ["keep_tarball", "close_account", "begin_processing"])
def test_a_claim_whose_process_was_killed_is_finished(function, monkeypatch):
    ada = make_user("ada")
    _, secret = quarantined_once()
    with killed_at(monkeypatch, function):
        claim_upload(find_quarantine(secret), ada)
    assert client_of(ada).post(f"{API}quarantine/{secret}/claim/").status_code == 404
    run_chore_after_the_lease()
    Upload.objects.update(created_at=timezone.now() - timedelta(hours=1))
    next(chore for chore in registered_periodic_tasks() if chore.name == "uploads").function()
    assert [(upload.owner, upload.status) for upload in Upload.objects.all()] == [(ada, "accepted")]
    assert set(User.objects.all()) == {ada}
    assert not Quarantine.objects.exists()


def test_a_quarantine_whose_upload_never_came_is_deleted(monkeypatch):
    with killed_at(monkeypatch, "keep_tarball"):
        quarantined_once()
    quarantine.end_abandoned()
    assert Quarantine.objects.exists()
    Quarantine.objects.update(created_at=timezone.now() - timedelta(minutes=6))
    quarantine.end_abandoned()
    assert not (Quarantine.objects.exists() or User.objects.exists())


def test_what_was_refused_is_not_claimed(client):
    broken = client_of().post(API + "quarantine/", {"file": io.BytesIO(b"no tarball")})
    assert (broken.status_code, broken.json()["status"]) == (201, "rejected")
    assert broken.json()["report"]["errors"]
    assert client_of(make_user("ada")).post(broken.json()["claim_url"]).status_code == 409
    page = client.get(broken.json()["page"])
    assert "Why nothing was stored" in text_of(page)
    assert "Claim it" not in text_of(page)


def test_the_api_says_how_far_it_is_and_deletes_it(settings):
    answer = client_of().post(API + "quarantine/", {"file": tarball()})
    assert answer.status_code == 201
    document = answer.json()
    assert document["url"] == answer["Location"]
    read = client_of().get(document["url"])
    assert read.json() == document
    assert SECRET_HEADERS.items() <= dict(read.items()).items()
    assert client_of().delete(document["url"]).status_code == 204
    assert client_of().get(document["url"]).status_code == 404
    assert not (User.objects.exists() or Upload.objects.exists() or Profile.objects.exists())


def test_the_way_with_an_account_still_needs_one(client):
    assert client_of().post(API + "uploads/", {"file": tarball(), "visibility": "public"}).status_code == 401
    assert client.post(reverse("upload"), {"file": tarball()}).url.startswith(reverse("login"))
    assert not Upload.objects.exists()


def test_what_is_not_claimed_is_deleted_in_time(client, django_capture_on_commit_callbacks, capsys):
    store_public()
    old = secret_of(send(client, secret_measurements()))
    Quarantine.objects.update(created_at=timezone.now() - timedelta(days=30.1))
    new = secret_of(send(client))
    assert client.get(reverse("quarantined", args=[old])).status_code == 404
    files = {str(upload.file.name) for upload in Upload.objects.all()}
    with django_capture_on_commit_callbacks(execute=True):
        call_command("apply_retention")
    assert "1 quarantined uploads deleted" in capsys.readouterr().out
    assert client.get(reverse("quarantined", args=[new])).status_code == 200
    left = Upload.objects.get()
    assert left.owner.quarantine
    assert [left.file.storage.exists(name) for name in sorted(files)].count(True) == 1
    assert not Platform.objects.filter(name="secret-machine").exists()
    assert not Workload.objects.filter(application="secret").exists()
    assert Source.objects.count() == 2
    assert User.objects.count() == 1


def test_other_retention_leaves_it_to_its_own_time(settings, client):
    settings.KEEP_TARBALLS_DAYS = settings.KEEP_REPORTS_DAYS = 1.0
    send(client)
    client_of().post(API + "quarantine/", {"file": io.BytesIO(b"no tarball")})
    Upload.objects.create(status="rejected", finished_at=timezone.now(), filename="a", sha256="a", size_bytes=1)
    Upload.objects.update(finished_at=timezone.now() - timedelta(days=2))
    assert (apply_retention()["tarballs"], apply_retention()["reports"]) == (0, 0)
    assert Upload.objects.exclude(owner=None).count() == 2


def test_an_operator_takes_none(settings, client):
    settings.QUARANTINE_DAYS = 0.0
    assert send(client).status_code == 404
    assert client_of().post(API + "quarantine/", {"file": tarball()}).status_code == 404
    assert "without an account" not in text_of(client.get(reverse("login")))
    assert not Quarantine.objects.exists()


def test_one_address_sends_few(limit_rates, client):
    limit_rates(quarantine="1/hour")
    assert [send(client).status_code for _ in range(2)] == [302, 429]
    assert client_of().post(API + "quarantine/", {"file": tarball()}).status_code == 429
    assert Quarantine.objects.count() == 1


def test_all_together_send_so_many(settings, client):
    settings.QUARANTINE_MOST = 1
    assert [send(client).status_code for _ in range(2)] == [302, 429]
    answer = client_of().post(API + "quarantine/", {"file": tarball()})
    assert (answer.status_code, answer["Retry-After"]) == (429, "3600")
    assert Quarantine.objects.count() == User.objects.count() == 1


def test_it_is_smaller_than_with_an_account(settings, client):
    settings.QUARANTINE_MAX_PACKED_BYTES = 100
    assert send(client).status_code == 422
    answer = client_of().post(API + "quarantine/", {"file": tarball()})
    assert (answer.status_code, answer.json()["limit_bytes"]) == (413, 100)
    settings.QUARANTINE_MAX_PACKED_BYTES, settings.QUARANTINE_MAX_ROWS = 1 << 20, 20
    report = client_of().post(API + "quarantine/", {"file": tarball()}).json()["report"]
    assert "more than" in report["errors"][0]["reason"]
    ada = client_of(make_user("ada")).post(API + "uploads/", {"file": tarball()})
    assert ada.json()["status"] == "accepted"


def test_metrics_count_it_apart(client, settings):
    settings.METRICS_TOKEN = TOKEN
    send(client)
    metrics = samples(client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}))
    assert metrics["mpet_quarantined_uploads",] == 1
    assert metrics["mpet_uploads", "accepted"] == 0


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_log_does_not_have_the_secret(client, settings, form, monkeypatch):
    settings.LOG_REQUESTS = True
    client.raise_request_exception = False
    with written_log(settings, form) as log:
        secret = secret_of(send(client))
        page = reverse("quarantined", args=[secret])
        for address in (page, reverse("begin-claim", args=[secret]), f"{page}nothing/"):
            client.get(address)
        client_of().get(f"{API}quarantine/{secret}/")
        logging.getLogger("django.server").info('"%s" %s', f"GET /login/?next=%2Fquarantine%2F{secret}%2F", 200)

        def fail(*_):
            raise ValueError(f"Nothing is at {page}.")

        monkeypatch.setattr("operations.quarantine_pages.workloads_of", fail)
        assert client.get(page).status_code == 500
        written = log.getvalue()
    assert written.count("/quarantine/...") >= 6
    assert "%2Fquarantine%2F..." in written
    assert "Nothing is at /quarantine/.../." in written
    assert secret not in written


@pytest.mark.parametrize("address", ["{}", "{}nothing/", "{}claim/", "{}claim/x"])
def test_no_error_passes_the_secret_on(client, address):
    secret = secret_of(send(client))
    Quarantine.objects.all().delete()
    for prefix in ("/", API):
        answer = client.get(prefix + address.format(f"quarantine/{secret}/"))
        assert answer.status_code in {404, 405}
        assert SECRET_HEADERS.items() <= dict(answer.items()).items()
    assert secret not in client.get("/" + address.format(f"quarantine/{secret}/")).content.decode()


def test_no_other_page_of_a_visitor_has_the_secret(client):
    secret = secret_of(send(client))
    client.get(reverse("quarantined", args=[secret]))
    client.get(reverse("begin-claim", args=[secret]))
    for address in ("/", reverse("quarantine"), reverse("login"), reverse("claim"), reverse("measure")):
        answer = client.get(address, follow=True)
        assert secret not in answer.content.decode() + str(answer.redirect_chain) + str(dict(answer.items())), address
    assert secret not in str(dict(client.session))


def test_nothing_can_be_claimed_without_the_secret(client):
    quarantined_once()
    client.force_login(make_user("ada"))
    assert client.get(reverse("quarantine")).url == reverse("upload"), "a signed-in user uploads with the account"
    assert client.get(reverse("claim")).status_code == 404
    assert client.post(reverse("claim")).status_code == 404
    assert client.get(reverse("begin-claim", args=["A" * 43])).status_code == 404


def test_several_files_of_another_tool_are_taken_without_an_account(client):
    """By page and API as one upload; claimed, it is read as it was."""
    machine = {"machine": "laptop", "processor": "ACME 1000", "threads": "8"}

    def files():
        return [
            SimpleUploadedFile(f"{name}.csv", f"workload,n,time_s\n{name},1,2\n{name},2,1.2\n".encode())
            for name in ("fft", "sort")
        ]

    answer = client.post(reverse("quarantine"), {"file": files(), **machine})
    assert answer.status_code == 302, answer.context["form"].errors
    text = text_of(client.get(answer["Location"]))
    assert "accepted" in text and "fft" in text and "sort" in text
    assert Upload.objects.get().filename == "fft.csv and 1 more"
    ada = user("ada")
    kept = claim_upload(find_quarantine(secret_of(answer)), ada)
    assert (kept.status, kept.owner, kept.form) == (Upload.Status.ACCEPTED, ada, "csv")
    assert set(Profile.objects.values_list("workload__name", flat=True)) == {"fft", "sort"}
    told = {"form": "auto", "platform_json": '{"name": "laptop", "cpu_model": "ACME 1000", "threads": 8, "n_max": 8}'}
    sent = client.post(reverse("api-quarantine"), {"file": files(), **told})
    assert sent.status_code in (201, 202), sent.content


def of_hardware(name: str, fingerprint: str) -> bytes:
    """A tarball of a machine with this name and fingerprint."""
    platforms = [sample_platform(1, name=name)]
    files = files_of(packed(replace(sample_measurements(1, 1), platforms=platforms)))
    named = b'{"fingerprint": "%s",' % fingerprint.encode()
    files["platform.json"] = files["platform.json"].replace(b"{", named, 1)
    return pack(with_manifest(files))


def test_hardware_that_is_known_is_said_to_who_claims_it_and_to_nobody_before(client):
    """docs/decisions/hardware-fingerprint.md: a fingerprint identifies a machine among those of one owner."""
    ada, hardware = make_user("ada"), "a" * 64
    receive(of_hardware("J3 laptop", hardware), ada)
    with io.BytesIO(of_hardware("host-17", hardware)) as file:
        anonymous, secret = store_in_quarantine(file, "mine.tar.gz")
    upload = anonymous.upload
    assert upload.status == "accepted"
    assert "The same machine" not in json.dumps(upload.report)
    assert "J3 laptop" not in text_of(client.get(reverse("quarantined", args=[secret])))
    assert upload.source.profiles.get().platform.name == "host-17"

    claimed = claim_upload(find_quarantine(secret), ada)
    assert "The same machine as J3 laptop, measured" in json.dumps(claimed.report)
    assert claimed.source.profiles.get().platform.name == "J3 laptop"


def test_without_an_account_the_name_of_a_public_machine_decides():
    known = receive(of_hardware("J3 laptop", "a" * 64), make_user("ada"))
    for fingerprint in ("a" * 64, "b" * 64):
        with io.BytesIO(of_hardware("J3 laptop", fingerprint)) as file:
            anonymous, _ = store_in_quarantine(file, "mine.tar.gz")
        platforms = [upload.source.profiles.get().platform for upload in (known, anonymous.upload)]
        assert platforms[0] == platforms[1]
