import re
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from benchmarks.formats import FORMATS
from benchmarks.forms import FORM_TITLES
from benchmarks.models import Upload
from profiles.ingest.service import ingest
from profiles.models import Platform, Profile
from profiles.moderation import set_hidden
from tests.benchmarks.formats.test_formats import CSV_COLUMNS, FILES
from tests.benchmarks.tarballs import packed
from tests.benchmarks.uploads import specimens
from tests.pages import text_of, twin_of, user
from tests.paths import ROOT
from tests.samples import sample_measurements, sample_platform

pytestmark = pytest.mark.django_db


def tarball(platform=None, **fields) -> SimpleUploadedFile:
    measurements = replace(sample_measurements(1, 3, **fields), platforms=[platform or sample_platform()])
    return SimpleUploadedFile("results.tar.gz", packed(measurements), "application/gzip")


@pytest.fixture
def ada(client):
    ada = user("ada")
    client.force_login(ada)
    return ada


def send(client, files, **fields):
    return client.post(reverse("upload"), {"file": files, "visibility": "public", **fields}, follow=True)


@pytest.mark.parametrize("name", ["upload", "uploads"])
def test_uploading_needs_an_account_and_leads_back(client, name):
    page = client.get(reverse(name))
    assert page.status_code == 302
    assert page.url == f"{reverse('login')}?next={reverse(name)}"


def test_an_accepted_tarball_leads_to_its_report_with_every_profile(client, ada):
    page = send(client, tarball())
    upload = Upload.objects.get()
    assert page.redirect_chain == [(reverse("upload-report", args=[upload.uid]), 302)]
    assert "accepted" in text_of(page)
    for profile in Profile.objects.all():
        assert reverse("profile", args=[profile.uid]) in page.content.decode()
    assert Profile.objects.count() == 3


def test_a_refused_file_says_why_by_member_and_line_and_stores_nothing(client, ada):
    page = send(client, SimpleUploadedFile("results.tar.gz", b"nothing of the kind"))
    assert "Why nothing was stored" in text_of(page)
    assert "not a gzip file" in text_of(page)
    assert not Profile.objects.exists()
    errors = [{"member": "runs.csv", "line": 17, "reason": "time_ns <= 0"}]
    Upload.objects.update(report={"errors": errors, "warnings": []})
    assert "runs.csv 17 time_ns &lt;= 0" in text_of(client.get(page.redirect_chain[-1][0]))


def test_a_file_over_the_limit_is_refused_at_its_field(client, ada, settings):
    settings.UPLOAD_MAX_PACKED_BYTES = 100
    page = send(client, tarball())
    assert page.status_code == 422
    assert "at most" in page.context["form"].errors["file"][0]
    assert not Upload.objects.exists()


LAPTOP = {"machine": "laptop", "processor": "ACME 1000", "threads": "8"}


def test_the_page_leads_a_stranger_to_files_of_other_tools(client, ada):
    page = client.get(reverse("upload"))
    assert "Files of another tool: machine and columns" in text_of(page)
    for form in FORMATS:
        assert f'<option value="{form}">{FORM_TITLES[form]}</option>' in page.content.decode()


@pytest.mark.parametrize("form", ["csv", "talp"])
def test_files_of_another_tool_are_recognised_and_previewed_before_they_are_stored(client, ada, form):
    fields = LAPTOP | ({"columns": ", ".join("=".join(pair) for pair in CSV_COLUMNS.items())} if form == "csv" else {})
    page = send(client, specimens(*FILES[form]), preview="true", **fields)
    assert page.status_code == 200, page.context["form"].errors
    assert f"Format: {FORM_TITLES[form]}." in text_of(page)
    assert "nothing is stored yet" in text_of(page) and "ACME 1000" in text_of(page)
    assert not Upload.objects.exists()
    stored = send(client, specimens(*FILES[form]), **fields)
    assert "accepted" in text_of(stored)
    assert Upload.objects.get().form == form
    assert Profile.objects.filter(platform__cpu_model="ACME 1000").exists()


def test_several_files_of_one_machine_are_one_upload(client, ada):
    names = ("talp-1.json", "talp-2.json", "talp-2-again.json")
    preview = text_of(send(client, specimens(*names), preview="true", **LAPTOP))
    assert "2 workloads" in preview and "Global – 3 1: 6.36 s; 2: 5.26 s" in preview
    send(client, specimens(*names), **LAPTOP)
    upload = Upload.objects.get()
    assert (upload.filename, upload.status) == ("talp-1.json and 2 more", "accepted")
    assert {profile.n_measured for profile in Profile.objects.all()} == {2}
    again = send(client, specimens(*names), **LAPTOP)
    assert again.redirect_chain[-1][0] == reverse("upload-report", args=[upload.uid])


def test_a_preview_names_each_line_that_would_be_refused(client, ada):
    file = SimpleUploadedFile("scan.csv", b"workload,n,time_s\nfft,1,2\nfft,99,1\nfft,two,1\n")
    page = send(client, file, preview="true", **LAPTOP)
    words = text_of(page)
    assert "The files would be refused" in words
    assert "scan.csv 4 n is &#x27;two&#x27;, not a thread count from 1 to 65536" in words
    assert not Upload.objects.exists()


def test_a_tarball_of_the_kit_is_previewed_too(client, ada):
    words = text_of(send(client, tarball(), preview="true"))
    assert "Format: Results of the benchmark kit." in words and "3 workloads" in words
    assert not Upload.objects.exists()


def test_a_known_platform_is_said_by_its_address(client, ada):
    send(client, tarball())
    platform = Platform.objects.get()
    address = f"http://testserver{reverse('platform', args=[platform.slug])}"
    send(client, specimens("hyperfine-1.15.0.json"), platform=address)
    assert Profile.objects.filter(platform=platform, source__kind="files").count() == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"platform": "nowhere"}, "platform"),
        ({"machine": "laptop"}, "machine"),
        ({"processor": "ACME"}, "machine"),
        ({"threads": "0"}, "threads"),
        (LAPTOP | {"platform_json": SimpleUploadedFile("platform.json", b'{"name": "a"}')}, "machine"),
        ({"platform_json": SimpleUploadedFile("platform.json", b"{")}, "platform_json"),
        ({"columns": "n"}, "columns"),
        ({"columns": "n=a, n=b"}, "columns"),
        ({"form": "nonsense"}, "form"),
    ],
)
def test_what_is_said_wrongly_of_a_file_is_told_at_its_field(client, ada, fields, field):
    page = send(client, specimens("table.csv"), **fields)
    assert page.status_code == 422
    assert set(page.context["form"].errors) == {field}
    assert '<details id="of-other-tools" open>' in page.content.decode()
    assert not Upload.objects.exists()


@pytest.mark.parametrize(
    ("files", "fields", "reason"),
    [
        (["table.csv", "talp-1.json"], {}, "one tool and one machine"),
        ([SimpleUploadedFile("photo.jpg", b"\xff\xd8")], {}, "photo.jpg: unknown file type"),
        ([SimpleUploadedFile(f"{n}.csv", b"n,time_s\n1,1\n") for n in range(65)], {}, "at most 64"),
        (["table.csv"], {"tarball": True} | LAPTOP, "describes its machine itself"),
    ],
)
def test_files_that_are_no_upload_are_refused_at_their_field(client, ada, files, fields, reason):
    files = (
        [tarball()]
        if fields.pop("tarball", False)
        else [one for file in files for one in (specimens(file) if isinstance(file, str) else [file])]
    )
    page = send(client, files, **fields)
    assert page.status_code == 422
    assert reason in page.context["form"].errors["file"][0]
    assert not Upload.objects.exists()


def test_a_private_platform_of_somebody_else_cannot_be_named(client, ada):
    send(client, tarball(), visibility="private")
    client.force_login(user("eve"))
    page = send(client, specimens("hyperfine-1.15.0.json"), platform=Platform.objects.get().slug)
    assert page.context["form"].errors["platform"] == ["There is no such machine."]


@pytest.mark.parametrize("given", [["public", "private"], ["public", "public"], [""], ["Public"], []])
def test_trust_12_the_form_takes_visibility_said_once(client, ada, given):
    page = client.post(reverse("upload"), {"file": tarball(), "visibility": given})
    assert page.status_code == 422
    assert set(page.context["form"].errors) == {"visibility"}
    assert not Upload.objects.exists()


@pytest.mark.parametrize("how", ["private", "rejected"])
def test_a_private_or_rejected_upload_is_for_its_owner_alone(client, ada, how):
    file = tarball() if how == "private" else SimpleUploadedFile("results.tar.gz", b"no")
    page = send(client, file, visibility="private" if how == "private" else "public")
    address = page.redirect_chain[-1][0]
    assert how in text_of(page)
    client.force_login(user("eve"))
    assert client.get(address).status_code == 404
    assert "results.tar.gz" not in text_of(client.get(reverse("uploads")))
    client.logout()
    assert client.get(address).status_code == 404


def test_others_see_what_came_of_a_public_upload_but_not_its_file(client, ada):
    address = send(client, tarball()).redirect_chain[-1][0]
    client.logout()
    page = client.get(address)
    assert page.status_code == 200
    assert "results.tar.gz" not in page.content.decode()
    assert Upload.objects.get().sha256 not in page.content.decode()


def test_an_upload_that_waits_says_so(client, ada):
    upload = Upload.objects.create(owner=ada, filename="x.tar.gz", sha256="0" * 64, size_bytes=1)
    assert "being checked" in text_of(client.get(reverse("upload-report", args=[upload.uid])))


def test_queries_do_not_grow_with_the_rows_of_my_uploads(client, ada, django_assert_num_queries):
    assert "nothing yet" in text_of(client.get(reverse("uploads")))
    address = send(client, tarball()).redirect_chain[-1][0]
    # session, user, count, page, programs
    with django_assert_num_queries(5):
        page = client.get(reverse("uploads"))
    assert "results.tar.gz accepted public 3" in text_of(page)
    # session, user, the upload with its source, compilers, what it says otherwise of platforms and workloads, programs,
    # count, page with platforms and workloads
    with django_assert_num_queries(9):
        client.get(address)


def vandalised(client):
    """Ada's platform of unknown vendor, and what another account uploads of it."""
    unknown = {"vendor": None, "max_mhz": None}
    send(client, tarball(sample_platform(**unknown)))
    client.force_login(user("bob"))
    return send(client, tarball(sample_platform(vendor="VANDAL <b>", compiler="<i>cc"), seed=9))


def test_what_an_upload_says_otherwise_is_shown_as_a_difference(client, ada):
    """trust 11"""
    report = vandalised(client)
    words = text_of(report)
    assert "vendor is unknown here and &#x27;VANDAL &lt;b&gt;&#x27; in the upload" in words
    assert "Vendor machine-0 – VANDAL &lt;b&gt;" in words
    assert "Measured with" in words and "&lt;i&gt;cc -O2 Linux 6.1" in words
    platform = Platform.objects.get()
    address = reverse("platform", args=[platform.slug])
    client.logout()
    page = client.get(address)
    assert "Vendor – VANDAL &lt;b&gt; 20" in text_of(page)
    assert report.redirect_chain[-1][0] in page.content.decode()
    assert "g++ 12.2 -O2 Linux 6.1" in text_of(page)
    twin = client.get(twin_of(page)).json()
    assert [(found["field"], found["here"], found["value"], found["count"]) for found in twin["differences"]] == [
        ("vendor", None, "VANDAL <b>", 1),
        ("max_mhz", None, 3000.0, 1),
    ]
    upload = client.get(twin_of(report)).json()
    assert upload["id"] == twin["differences"][0]["deliveries"][0]["upload"]
    assert upload["differences"][0] == {
        "of": "platform",
        "slug": platform.slug,
        "field": "vendor",
        "here": None,
        "value": "VANDAL <b>",
    }


def test_what_a_hidden_upload_says_otherwise_is_shown_nowhere(client, ada):
    """trust 11"""
    report = vandalised(client)
    set_hidden(Upload.objects.get(owner__username="bob").source, True)
    pages = [report.redirect_chain[-1][0], reverse("platform", args=[Platform.objects.get().slug])]
    for address in pages:
        page = client.get(address)
        twin = client.get(twin_of(page))
        assert twin.json()["differences"] == []
        assert "<h2>Differences" not in text_of(page) and "Measured with" not in text_of(page)
    assert "VANDAL" not in client.get(pages[1]).content.decode()


TABLE = b"Threads,Milliseconds,time_s,Benchmark,Host\n1,2000,1,fft,a\n2,1100,1,fft,a\n"
CHOSEN = {
    "column_title": ["Threads", "Milliseconds", "time_s", "Benchmark", "Host"],
    "column_role": ["n", "time_ms", "", "workload", ""],
}


def test_a_table_shows_its_columns_and_first_lines_with_drop_downs(client, ada):
    def table():
        return SimpleUploadedFile("scan.csv", TABLE)

    page = send(client, table(), preview="true", **LAPTOP)
    content = page.content.decode()
    assert "The files would be refused" in content  # nothing says which column is n
    shown = page.context["preview"]["columns"]
    assert [column["title"] for column in shown["columns"]] == CHOSEN["column_title"]
    assert [column["role"] for column in shown["columns"]] == ["", "", "time_s", "", ""]
    assert shown["rows"] == [["1", "2000", "1", "fft", "a"], ["2", "1100", "1", "fft", "a"]]
    assert content.count('form="upload" name="column_role"') == 5
    assert content.index('id="understood"') < content.index('id="upload"')  # the report is above the form
    assert "autofocus" in content[content.index('id="understood"') :][:200]
    page = send(client, table(), preview="true", **LAPTOP, **CHOSEN)
    assert "nothing is stored yet" in text_of(page) and "fft" in text_of(page)
    assert [column["role"] for column in page.context["preview"]["columns"]["columns"]] == CHOSEN["column_role"]
    assert "accepted" in text_of(send(client, table(), **LAPTOP, **CHOSEN))
    assert Profile.objects.get().t1_s == pytest.approx(2.0)  # by Milliseconds, not by time_s
    twice = send(client, table(), preview="true", **LAPTOP, **CHOSEN | {"column_role": ["n", "n", "", "", ""]})
    assert "A field is mapped twice." in text_of(twice)


def test_warnings_that_differ_in_names_and_numbers_alone_are_one(client, ada):
    page = send(client, tarball(seed=1))
    lines = [f"work/{index}: t(n) grows by {index}.5 % to n = {index}" for index in range(40)]
    Upload.objects.update(report={"errors": [], "warnings": [*lines, "a virtual machine"]})
    report = client.get(page.redirect_chain[-1][0])
    words = text_of(report)
    assert "41 warnings:" in words and "and 39 similar" in words
    assert report.content.decode().count("<summary>and ") == 1
    assert "work/39: t(n)" in words  # all of them are there, folded


def test_required_fields_are_marked_and_private_is_the_default(client, ada):
    content = client.get(reverse("upload")).content.decode()
    label = content[content.index('<label for="id_file">') :]
    assert "required</span>" in label[: label.index("</label>")]
    label = content[content.index('<label for="id_machine">') :]
    assert "required" not in label[: label.index("</label>")]
    radios = re.findall(r'<input[^>]*name="visibility"[^>]*>', content)
    assert [("checked" in radio) for radio in radios if 'value="private"' in radio] == [True]
    assert "visibility=public" not in content[content.index('id="command"') :]
    makefile = (ROOT / "benchmarks" / "kit" / "Makefile").read_text()
    assert "VISIBILITY ?= private" in makefile


def test_a_measurement_never_lands_on_a_simulated_machine(client, ada):
    simulated = replace(sample_measurements(1, 1), origin="simulated")
    simulated.platforms[0] = replace(simulated.platforms[0], name="model (simulated)")
    row = ingest(simulated, kind="simulator", label="model", sha256="5" * 64, owner=None, private=False).profiles[0]
    file = SimpleUploadedFile("scan.csv", b"workload,n,time_s\nfft,1,2\nfft,2,1\n")
    assert "is a simulated machine, which cannot be measured" in text_of(send(client, file, platform=row.platform.slug))
    report = send(client, tarball(simulated.platforms[0], seed=2))
    assert "is a simulated machine" in text_of(report)
    assert set(row.platform.profiles.values_list("origin", flat=True)) == {"simulated"}
