"""mpet-profile --upload against a live server: from the served kit to the link, in one command."""

import io
import json
import subprocess
import tarfile
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.contrib.auth import get_user_model

from accounts.models import ApiToken
from benchmarks.models import Quarantine, Upload
from profiles.models import Profile
from tests.benchmarks.kit.kit_build import need
from tests.benchmarks.kit.profiled import build_profiler, compile_program
from tests.benchmarks.kit.uploading import Said, run, stand_in, upload_document
from tests.benchmarks.uploads import receive
from tests.pages import text_of

pytestmark = [pytest.mark.kit, pytest.mark.django_db(transaction=True)]

RUNS = (
    "workload,n,repeat,pass,time_ns,use_ns,lock_ns,imbalance_ns,creation_ns,distribution_ns,switching_ns,join_ns,"
    "output_checksum\n" + "".join(f"shared_histogram,1,{repeat},clean,{10**9 + repeat},,,,,,,,\n" for repeat in (1, 2))
)
WORKLOADS = [{"name": "shared_histogram", "application": "shared_histogram", "section": None, "strategy": "locks"}]
HAS_NOT_RUN = "has no kit results of this machine"


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return compile_program("fixed.c", "gcc", tmp_path_factory.mktemp("program"), "-Dnum_threads(n)=")


@pytest.fixture
def token(media) -> str:
    user = get_user_model().objects.create_user("alice")
    return ApiToken.issue(user, ApiToken.Scope.UPLOAD)[1]


@pytest.fixture
def kit(live_server, tmp_path) -> Path:
    """As this server serves it; the profiler was built before. `make quick` gives in no time what takes it a minute."""
    need("curl", "awk")
    served = urlopen(f"{live_server.url}/api/v1/kit/")
    with served as answer, tarfile.open(fileobj=io.BytesIO(answer.read())) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "mpet-kit"
    (folder / "build").symlink_to(build_profiler())
    (folder / "Makefile").write_text("quick:\n\tmkdir -p results\n\tsh stand-in.sh '$(NAME)'\n")
    measured = folder / "measured"
    measured.mkdir()
    (measured / "workloads.json").write_text(json.dumps(WORKLOADS))
    (measured / "runs.csv").write_text(RUNS)
    (measured / "environment.json").write_text('{"scale": "quick"}\n')
    (folder / "stand-in.sh").write_text(
        'build/mpet-profile --machine ${1:+"$1"} > measured/platform.json &&\n'
        'build/mpet-pack measured "results/mpet-$(echo "$1" | tr " " -)-1.tar.gz"\n'
    )
    return folder


def profile(kit: Path, program: Path, *options: str, **environment: str) -> Said:
    once = ("--n", "1", "--repeats", "1", "--min-share", "0")
    return run(kit / "mpet-profile", *options, *once, program, "an argument", **environment)


def sweep(kit: Path, name: str) -> bytes:
    path = kit / "results" / f"mpet-{name}-1.tar.gz"
    subprocess.run(["make", "-C", kit, "quick", f"NAME={name}"], check=True, capture_output=True)
    content = path.read_bytes()
    path.unlink()
    return content


def page_of(line: str, name: str, site: str) -> str:
    """The path of the page that a line names."""
    before, _, path = line.partition(site)
    assert before == f"{name}: "
    return path


PROGRAM = "fixed_gcc on all machines, the fastest first"


@pytest.mark.lab
def test_one_command_measures_sends_waits_and_names_the_page(kit, program, token, live_server, client):
    said = profile(kit, program, "--upload", "--name", "host", MPET_TOKEN=token)
    assert said.status == 0, said.err
    upload = Upload.objects.get()
    assert (upload.status, upload.visibility, upload.owner.username) == ("accepted", "private", "alice")
    assert Profile.objects.filter(source=upload.source, workload__name__endswith="/serial rest").count() == 1
    path = page_of(said.out.splitlines()[-1], PROGRAM, live_server.url)
    assert client.get(path).status_code == 404
    client.force_login(upload.owner)
    assert "fixed_gcc" in text_of(client.get(path))
    assert [path.name for path in (kit / "results").iterdir()] == [upload.filename]
    before, after = said.err.split("clean pass, n = 1, repeat 1")
    assert f"sent to {live_server.url}, private: readable by you only" in before
    assert f"the server {HAS_NOT_RUN}, host" in before and "make quick once, a minute or two" in before
    assert "accepted: 2 profiles" in after


def test_nothing_is_public_without_a_word(kit, program, token):
    said = profile(kit, program, "--upload", MPET_TOKEN=token)
    assert "private: readable by you only (--public: everybody)" in said.err.split("clean pass")[0]
    assert Upload.objects.get().visibility == "private"


def test_what_is_to_be_public_is_said_before(kit, program, token):
    said = profile(kit, program, "--upload", "--public", MPET_TOKEN=token)
    assert "public: readable by everyone (without --public: you alone)" in said.err.split("clean pass")[0]
    assert Upload.objects.get().visibility == "public"


def test_with_kit_sweeps_first_and_sends_both(kit, program, token, live_server, client):
    said = profile(kit, program, "--upload", "--public", "--with-kit", "--name", "my host", MPET_TOKEN=token)
    assert said.status == 0, said.err
    assert HAS_NOT_RUN not in said.err
    assert "make quick first" in said.err.split("clean pass")[0]
    uploads = Upload.objects.order_by("pk")
    assert [upload.status for upload in uploads] == ["accepted", "accepted"]
    of_sweep, of_program = said.out.splitlines()[-2:]
    assert page_of(of_sweep, "Report", live_server.url) == f"/uploads/{uploads[0].uid}/"
    assert client.get(page_of(of_program, PROGRAM, live_server.url)).status_code == 200
    assert Profile.objects.filter(platform__name="my host").values("platform").distinct().count() == 1

    again = profile(kit, program, "--upload", "--public", "--with-kit", "--name", "my host", MPET_TOKEN=token)
    assert HAS_NOT_RUN not in again.err and "make quick" not in again.err
    assert Upload.objects.count() == 3


def test_without_a_token_try_sends_both_in_one_and_names_a_secret_link(kit, program, live_server, media, client):
    said = profile(kit, program, "--try", "--name", "my host")
    assert said.status == 0, said.err
    before, after = said.err.split("clean pass, n = 1, repeat 1")
    assert f"sent to {live_server.url}, without an account: readable by anyone with the link" in before
    assert "make quick first" in before
    assert "accepted" in after
    upload = Upload.objects.get()
    assert upload.owner.username.startswith("quarantine-") and upload.visibility == "private"
    names = {profile.workload.name for profile in Profile.objects.filter(source=upload.source)}
    assert names >= {"shared_histogram", "fixed_gcc/serial rest"}
    assert {profile.platform.name for profile in Profile.objects.all()} == {"my host"}
    link, claim = said.out.splitlines()[-2:]
    page = client.get(page_of(link, "The program on all machines", live_server.url))
    assert page.status_code == 200 and "fixed_gcc" in text_of(page)
    expires = Quarantine.objects.get().expires_at
    assert claim == (
        f"Anyone with this link can see the results. They are deleted on {expires:%Y-%m-%d} "
        "unless you claim them there with an account."
    )
    # The sweep that is here now goes along with the next program.
    again = profile(kit, program, "--try", "--application", "second")
    assert again.status == 0, again.err
    assert "make quick first" not in again.err and "(make quick) is sent too" in again.err
    assert Upload.objects.count() == 2


def test_a_server_that_takes_nothing_without_an_account_says_so(kit, program):
    with stand_in((404, {"title": "Not found", "status": 404}, {})) as server:
        said = profile(kit, program, "--try", "--url", server.url)
    assert said.status == 1
    assert f"{server.url} requires an account: --token TOKEN, MPET_TOKEN" in said.err
    assert f"to send it later: {server.url}/upload/" in said.err
    (request,) = server.received
    assert request[:3] == ("POST", "/api/v1/quarantine/", None)


def test_what_a_server_refuses_without_an_account_is_explained(kit, program):
    report = {"errors": [{"reason": "no"}], "warnings": []}
    rejected = {"status": "rejected", "url": "unused", "page": "https://mpet.example/quarantine/s/", "report": report}
    with stand_in((201, rejected, {})) as server:
        said = profile(kit, program, "--try", "--url", server.url)
    assert said.status == 1
    assert "the server rejected it:\n  no" in said.err
    assert said.out.splitlines()[-1] == "Report: https://mpet.example/quarantine/s/"


def test_a_machine_that_has_another_name_now_is_known_by_its_hardware(kit, program, token):
    profile(kit, program, "--try", "--name", "J3 laptop", MPET_TOKEN=token)
    said = profile(kit, program, "--try", "--name", "host", MPET_TOKEN=token)
    assert said.status == 0, said.err
    assert HAS_NOT_RUN not in said.err and "make quick" not in said.err
    assert "The same machine as J3 laptop, measured" in said.err
    assert Profile.objects.values("platform").distinct().count() == 1


def test_a_sweep_that_the_server_has_not_seen_goes_along(kit, program, token):
    (kit / "results").mkdir()
    (kit / "results" / "mpet-laptop-1.tar.gz").write_bytes(sweep(kit, "laptop"))
    here = json.loads((kit / "measured" / "platform.json").read_text())
    elsewhere = here | {"name": "host", "fingerprint": "0" * 64}
    (kit / "results" / "mpet-host-1.tar.gz").write_bytes(repacked(kit, elsewhere))
    said = profile(kit, program, "--upload", "--name", "host", MPET_TOKEN=token)
    # The hardware identifies the machine: the sweep of this name is newer, and of other hardware.
    assert "mpet-laptop-1.tar.gz (make quick) is not on the server: it is sent too" in said.err
    assert HAS_NOT_RUN not in said.err
    assert Upload.objects.order_by("pk").first().filename == "mpet-laptop-1.tar.gz"
    assert Upload.objects.count() == 2


def test_a_sweep_of_few_workloads_that_the_server_has_is_not_sent_again(kit, program, token):
    """make quick WORKLOADS="hog fft": without the workload that every other sweep runs."""
    few = [{**WORKLOADS[0], "name": name, "application": name} for name in ("hog", "fft")]
    (kit / "measured" / "workloads.json").write_text(json.dumps(few))
    rows = RUNS.splitlines()
    runs = [row.replace("shared_histogram", name) for name in ("hog", "fft") for row in rows[1:]]
    (kit / "measured" / "runs.csv").write_text("\n".join([rows[0], *runs, ""]))
    here = kit / "results" / "mpet-host-1.tar.gz"
    content = sweep(kit, "host")
    here.write_bytes(content)
    receive(content, get_user_model().objects.get())  # whose fingerprint the machine has
    said = profile(kit, program, "--upload", "--name", "host", MPET_TOKEN=token)
    assert said.status == 0, said.err
    assert "is not on the server" not in said.err and HAS_NOT_RUN not in said.err
    assert Upload.objects.count() == 2
    # One of two workloads is there: the sweep tells more than the server knows.
    rows = [row for row in (kit / "measured" / "runs.csv").read_text().splitlines() if not row.startswith("fft")]
    more = "\n".join([*rows, *(row.replace("hog", "lu") for row in rows[1:]), ""])
    (kit / "measured" / "runs.csv").write_text(more)
    (kit / "measured" / "workloads.json").write_text(json.dumps([few[0], {**few[1], "name": "lu"}]))
    here.write_bytes(sweep(kit, "host"))
    said = profile(kit, program, "--upload", "--name", "host", MPET_TOKEN=token)
    assert "mpet-host-1.tar.gz (make quick) is not on the server: it is sent too" in said.err


def test_another_machine_of_the_same_name_is_not_this_one(kit, program, token):
    with tarfile.open(fileobj=io.BytesIO(sweep(kit, "host"))) as archive:
        platform = json.load(archive.extractfile("platform.json"))
    other = platform | {"name": "host", "cpu_model": "Another CPU"}
    receive(repacked(kit, other))
    said = profile(kit, program, "--upload", "--name", "host", MPET_TOKEN=token)
    assert HAS_NOT_RUN in said.err


def repacked(kit: Path, platform: dict) -> bytes:
    (kit / "measured" / "platform.json").write_text(json.dumps(platform))
    path = kit / "other.tar.gz"
    subprocess.run([kit / "build" / "mpet-pack", kit / "measured", path], check=True)
    return path.read_bytes()


def test_a_token_that_is_refused_is_told_before_anything_is_measured(kit, program, media):
    said = profile(kit, program, "--upload", "--token", "mpet_nobody")
    assert said.status == 1
    assert "rejects this token" in said.err
    assert "clean pass" not in said.err and not (kit / "results").exists()


def test_what_could_not_be_sent_is_kept(kit, program, token):
    with stand_in((200, {}, {})) as server:
        gone = server.url
    said = profile(kit, program, "--upload", "--url", gone, "--output", str(kit / "here.tar.gz"), MPET_TOKEN=token)
    assert said.status == 1
    assert "sent if the server answers by then" in said.err.split("clean pass")[0]
    assert f"{kit}/here.tar.gz is kept" in said.err
    assert (kit / "here.tar.gz").exists()


def test_the_links_of_the_program_are_printed(kit, program):
    accepted = upload_document("accepted", programs=[{"name": "fixed_gcc", "url": "https://mpet.example/programs/7/"}])
    with stand_in((200, {"results": []}, {}), (201, accepted, {})) as server:
        said = profile(kit, program, "--upload", "--url", server.url, MPET_TOKEN="abc")
    assert said.out.splitlines()[-1] == f"{PROGRAM}: https://mpet.example/programs/7/"


def test_the_program_does_not_get_the_token(kit, tmp_path):
    source = tmp_path / "looks.c"
    source.write_text(
        "#include <stdlib.h>\nint main(void) {\n#pragma omp parallel\n    {\n    }\n"
        '    return getenv("MPET_TOKEN") != 0;\n}\n'
    )
    subprocess.run(["gcc", "-fopenmp", source, "-o", tmp_path / "looks"], check=True)
    accepted = upload_document("accepted")
    with stand_in((200, {"results": []}, {}), (201, accepted, {})) as server:
        said = profile(kit, tmp_path / "looks", "--upload", "--url", server.url, MPET_TOKEN="abc")
    assert said.status == 0, said.err
    assert {authorization for _, _, authorization, _ in server.received} == {"Bearer abc"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--with-kit"], "--with-kit needs --upload"),
        (["--private"], "--private needs --upload"),
        (["--upload", "--visibility", "everybody"], "'everybody' is neither public nor private"),
        (["--upload", "--url", "mpet.example"], "is not a server's URL"),
        (["--upload"], "no token is set: --token TOKEN, MPET_TOKEN"),
        (["--try", "--public"], "--public and --private need an account: --token TOKEN, MPET_TOKEN"),
    ],
)
def test_options_that_make_no_sense(kit, program, options, reason):
    said = profile(kit, program, *options)
    assert said.status == 2
    assert reason in said.err
    assert "clean pass" not in said.err


def test_options_of_the_program_are_its_own(kit, program):
    said = run(kit / "mpet-profile", "--n", "1", "--repeats", "1", "--min-share", "0", program, "--upload", "a b", "")
    assert said.status == 0, said.err
    (tarball,) = (kit / "results").iterdir()
    with tarfile.open(tarball) as archive:
        (workload, _) = json.load(archive.extractfile("workloads.json"))
    assert workload["input"] == "--upload a b "


def test_help_is_there(kit):
    said = run(kit / "mpet-profile", "--help")
    assert said.status == 0
    for option in ("--upload", "--url", "--token", "--private", "--visibility", "--with-kit", "--try", "--min-share"):
        assert f"  {option}" in said.out or f", {option}" in said.out
