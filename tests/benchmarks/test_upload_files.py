"""What was sent can be had, with environment and log: by everybody where it is public, else by its owner alone."""

from dataclasses import replace

import pytest
from django.urls import reverse

from benchmarks.models import Upload
from benchmarks.notes import MOST_SHOWN
from profiles.models import Profile
from profiles.moderation import set_hidden
from tests.benchmarks.formats.test_formats import SPECIMENS
from tests.benchmarks.uploads import receive, specimens, tarball
from tests.mpet_site.api_samples import API, client_of, make_user
from tests.pages import text_of
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
PLANTED = "planted-<script>alert(1)</script>"
ESCAPED = "planted-&lt;script&gt;alert(1)&lt;/script&gt;"


def sent(owner, visibility, log=PLANTED, environment=None):
    noted = {"environment": environment or {"governor": PLANTED}, "log": log}
    content = tarball(replace(sample_measurements(1, 2), **noted))
    upload = receive(content, owner=owner, visibility=visibility)
    assert upload.status == "accepted", upload.report
    return upload, content


def addresses(upload):
    profile = Profile.objects.filter(source=upload.source).first()
    return {
        "file": f"{API}uploads/{upload.uid}/file/",
        "document": f"{API}uploads/{upload.uid}/",
        "report": reverse("upload-report", args=[upload.uid]),
        "runs": f"{API}profiles/{profile.uid}/runs/",
        "profile": reverse("profile", args=[profile.uid]),
    }


def body(response):
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_everybody_has_the_file_of_a_public_upload_as_it_was_sent():
    upload, content = sent(make_user("ada"), "public")
    found = addresses(upload)
    for client in (client_of(), client_of(make_user("bob"))):
        answer = client.get(found["file"])
        assert body(answer) == content
        assert answer["Content-Disposition"] == f'attachment; filename="mpet-{upload.uid}.tar.gz"'
        document = client.get(found["document"]).json()
        assert document["file"] == f"http://testserver{found['file']}"
        assert (document["log"], document["licence"]) == (PLANTED, upload.licence)
        assert PLANTED in document["environment"]
        assert upload.filename not in str(document)
        assert client.get(found["runs"]).status_code == 200


def test_the_report_shows_environment_and_log_escaped_and_says_the_licence(client):
    upload, _ = sent(make_user("ada"), "public")
    page = client.get(reverse("upload-report", args=[upload.uid]))
    html = page.content.decode()
    assert html.count(ESCAPED) == 2
    assert PLANTED not in html
    assert f'href="{reverse("api-upload-file", args=[upload.uid])}"' in html
    assert "Download the file" in text_of(page) and "Licence: as the source says." in text_of(page)
    profile = client.get(addresses(upload)["profile"])
    assert reverse("upload-report", args=[upload.uid]) in profile.content.decode()


def test_long_notes_are_cut_and_say_so(client):
    upload, _ = sent(make_user("ada"), "public", log="x" * (MOST_SHOWN + 5), environment={"all": "y" * MOST_SHOWN})
    page = client.get(reverse("upload-report", args=[upload.uid]))
    assert page.content.decode().count("x" * MOST_SHOWN) == 1
    assert "x" * (MOST_SHOWN + 1) not in page.content.decode()
    assert "Only the first 65,536 characters of environment and log are shown" in text_of(page)
    document = client.get(f"{API}uploads/{upload.uid}/").json()
    assert (len(document["environment"]), len(document["log"])) == (MOST_SHOWN, MOST_SHOWN)


@pytest.mark.parametrize("how", ["private", "hidden"])
def test_what_is_not_public_is_nowhere_for_others(how, client):
    ada = make_user("ada")
    upload, content = sent(ada, "private" if how == "private" else "public")
    found = addresses(upload)
    if how == "hidden":
        set_hidden(upload.source, True)
    for stranger in (client_of(), client_of(make_user("bob"))):
        for address in found.values():
            answer = stranger.get(address)
            assert answer.status_code == 404, address
            assert b"planted" not in body(answer)
    owned = client_of(ada).get(found["file"])
    assert body(owned) == content
    shown = client_of(ada).get(found["document"]).json()["log"]
    assert shown == (PLANTED if how == "private" else None)


def test_a_file_once_public_has_the_etag_of_nobody_when_it_is_hidden():
    upload, _ = sent(make_user("ada"), "public")
    address = addresses(upload)["file"]
    etag = client_of().get(address)["ETag"]
    assert client_of().get(address, HTTP_IF_NONE_MATCH=etag).status_code == 304
    set_hidden(upload.source, True)
    assert client_of().get(address, HTTP_IF_NONE_MATCH=etag).status_code == 404


@pytest.mark.parametrize("how", ["rejected", "gone"])
def test_without_a_file_there_is_none_to_have(how, client):
    ada = make_user("ada")
    if how == "rejected":
        upload = receive(b"no tarball", ada, "public", "x.tar.gz")
    else:
        upload, _ = sent(ada, "public")
        upload.file.storage.delete(upload.file.name)
    client.force_login(ada)
    assert client_of(ada).get(f"{API}uploads/{upload.uid}/file/").status_code == 404
    assert client_of(ada).get(f"{API}uploads/{upload.uid}/").json()["file"] is None
    assert "Download the file" not in text_of(client.get(reverse("upload-report", args=[upload.uid])))


@pytest.mark.parametrize(
    ("names", "suffix"), [(("hyperfine-1.15.0.json",), ".json"), (("talp-1.json", "talp-2.json"), ".tar")]
)
def test_files_of_other_tools_keep_their_kind(names, suffix):
    ada = make_user("ada")
    machine = '{"name": "laptop", "cpu_model": "ACME 1000", "threads": 8}'
    fields = {"file": specimens(*names), "form": "auto", "platform_json": machine, "visibility": "public"}
    upload = client_of(ada).post(f"{API}uploads/", fields).json()
    uid = upload["id"]
    assert (upload["status"], Upload.objects.get().form) == ("accepted", names[0].split("-")[0])
    assert {profile.n_measured for profile in Profile.objects.all()} == {2}
    answer = client_of().get(f"{API}uploads/{uid}/file/")
    assert answer["Content-Disposition"] == f'attachment; filename="mpet-{uid}{suffix}"'
    assert answer["Content-Type"] == "application/octet-stream"
    if suffix == ".json":
        assert body(answer) == (SPECIMENS / names[0]).read_bytes()


def test_a_suffix_that_somebody_made_up_is_none():
    upload = Upload(filename="page.html", form="csv", reading={})
    assert upload.file_suffix == ".txt"
