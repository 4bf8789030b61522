import json
import subprocess
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from benchmarks import fetching
from benchmarks.models import FetchedFolder
from benchmarks.public_data.sparecores import SpareCores
from benchmarks.public_data.sparecores_slim import STRESSORS, SlimSpareCores
from profiles.models import OwnPrice, Platform, Price, Profile, Run, Source, WithdrawnSource, Workload
from profiles.prices.tables import replace_own_prices
from tests.benchmarks.public_data.servers import META, lscpu, pack_servers, server, write_servers
from tests.benchmarks.public_data.test_download import handler, url  # noqa: F401  fixtures

pytestmark = pytest.mark.django_db
PROFILES = 2 + 3 + 1 + 3 + 2  # geekbench, stress-ng, div16, compression, llama
SLIM_WORKLOADS = {"geekbench/clang", "geekbench/ray_tracer", "stress-ng/memcpy", "stress-ng/cpu-div16"}
NAMES = [f"aws/c{i}.2xlarge" for i in range(1, 6)]


def five(**changed):
    return {name: server(1 + i / 4, **changed) for i, name in enumerate(NAMES)}


def fetched(origin, *arguments):
    call_command("fetch_data", "sparecores", "--from", str(origin), *arguments)


def stored():
    return sorted(Platform.objects.values_list("name", flat=True))


@contextmanager
def killed_at_the_fourth():
    """Interrupt the command when it reads the fourth server."""
    read = SpareCores.read

    def killed(source, folder, files):
        if folder == NAMES[3]:
            raise KeyboardInterrupt
        return read(source, folder, files)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SpareCores, "read", killed)
        yield


def test_every_server_is_a_platform(tmp_path, capsys):
    fetched(write_servers(tmp_path, five()))
    out, err = capsys.readouterr()
    assert f"5 machines stored with {5 * PROFILES} profiles" in out
    assert "fetch" in err  # the progress bar
    assert stored() == NAMES
    profile = Profile.objects.get(platform__name=NAMES[0], workload__name="stress-ng/cpu")
    assert list(profile.runs.order_by("n").values_list("n", "time_s")) == [(1, 1e4), (8, 2e3)]
    assert Workload.objects.get(name="geekbench/clang").time_kind == "relative"
    assert Workload.objects.get(name="stress-ng/cpu").time_kind == "absolute"


def test_warnings_of_one_kind_are_one_line_with_their_number(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fetching, "FOLDERS_AT_ONCE", 1)
    names = [f"alicloud/ecs.c7{suffix}.2xlarge" for suffix in ("", "a", "nex", "t")]
    fetched(write_servers(tmp_path, {name: server() for name in names}))
    warnings = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert warnings == [
        "warning: 3 platforms that are new but look like existing ones, the first: platform "
        "'alicloud/ecs.c7a.2xlarge' is new, but looks like the existing 'alicloud/ecs.c7.2xlarge'"
    ]


def test_what_is_refused_is_told_by_reason(tmp_path, capsys):
    servers = five() | {"aws/t2.small": server(), "aws/d1.large": server(lscpu__stdout=None), "aws/t3.small": server()}
    fetched(write_servers(tmp_path, servers))
    out = capsys.readouterr().out
    assert "3 machines refused:\n       2  a burstable or shared type" in out
    assert "       1  no lscpu/stdout" in out
    assert "10 single results left out:\n       5  stress-ng: a rate or a time that is missing" in out
    assert "licence: CC BY-SA 4.0\nsource: Spare Cores team" in out


def test_twice_is_once(tmp_path, capsys):
    origin = write_servers(tmp_path, five())
    fetched(origin)
    before = list(Run.objects.order_by("pk").values())
    for arguments in ((), ("--update",)):
        capsys.readouterr()
        fetched(origin, *arguments)
        assert "0 machines stored with 0 profiles\n5 were stored before, 0 had changed" in capsys.readouterr().out
    assert list(Run.objects.order_by("pk").values()) == before
    assert Source.objects.count() == 1


def test_a_limit_is_gone_on_from(tmp_path, capsys):
    origin = write_servers(tmp_path, five())
    for count in (2, 4, 5):
        fetched(origin, "--limit", "2")
        assert stored() == NAMES[:count]
    assert "1 machines stored" in capsys.readouterr().out


def test_a_fetch_that_was_interrupted_says_what_it_did_and_goes_on(tmp_path, monkeypatch, capsys):
    origin = write_servers(tmp_path, five() | {"aws/b1.large": server(lscpu__stdout=None)})
    monkeypatch.setattr(fetching, "FOLDERS_AT_ONCE", 2)
    with killed_at_the_fourth(), pytest.raises(CommandError, match="interrupted; the next call continues") as stopped:
        fetched(origin)
    assert stopped.value.returncode == 130  # as of what a shell ends by Ctrl-C
    out = capsys.readouterr().out
    assert f"2 machines stored with {2 * PROFILES} profiles" in out
    assert "1 machines refused:\n       1  no lscpu/stdout" in out
    assert stored() == NAMES[:2]
    fetched(origin)
    assert stored() == NAMES
    assert Profile.objects.count() == 5 * PROFILES
    assert FetchedFolder.objects.count() == 5


def test_update_takes_what_changed_and_nothing_else(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(fetching, "FOLDERS_AT_ONCE", 2)
    origin = write_servers(tmp_path, five())
    fetched(origin)
    kept = Source.objects.get(profiles__platform__name=NAMES[4], profiles__workload__name="stress-ng/cpu")
    write_servers(tmp_path, {NAMES[0]: server(9.0), "aws/c9.2xlarge": server(5.0)})
    fetched(origin)
    assert Profile.objects.get(platform__name=NAMES[0], workload__name="stress-ng/cpu").t1_s == 1e4
    assert stored() == sorted([*NAMES, "aws/c9.2xlarge"])
    capsys.readouterr()
    fetched(origin, "--update")
    assert "2 machines stored" in (out := capsys.readouterr().out)  # it came with another
    assert "4 were stored before, 1 had changed" in out
    assert Profile.objects.get(platform__name=NAMES[0], workload__name="stress-ng/cpu").t1_s == pytest.approx(1e4 / 9)
    assert Profile.objects.count() == 6 * PROFILES
    assert Source.objects.filter(pk=kept.pk).exists()
    assert WithdrawnSource.objects.count() == 1


def priced():
    """The newest price of each platform that has one."""
    return {price.platform.name: str(price.amount.normalize()) for price in Price.objects.order_by("date")}


@pytest.fixture
def prices(tmp_path):
    table = tmp_path / "prices.csv"
    rows = [f"{name},0.{i}5,USD,hour,eu,on-demand,the provider,2026-11-01" for i, name in enumerate(NAMES, start=1)]
    table.write_text("\n".join(["platform,amount,currency,per,region,kind,source,date", *rows]))
    return lambda: call_command("import_prices", str(table))


PRICED = {name: f"0.{i}5" for i, name in enumerate(NAMES, start=1)}


@pytest.fixture
def origin(tmp_path, prices):
    """What was fetched already, one delivery with prices."""
    fetched(write_servers(tmp_path / "clone", five()))
    prices()
    return tmp_path / "clone"


def rows(model):
    return list(model.objects.order_by("pk").values("pk", "name", "slug"))


def measured_once():
    """The speeds of the machines, where each has one profile of the workload."""
    found = Profile.objects.filter(workload__name="stress-ng/cpu").values_list("platform__name", "t1_s")
    assert sorted(name for name, _ in found) == NAMES
    return {name: round(1e4 / t1_s, 3) for name, t1_s in found}


def test_update_keeps_platforms_workloads_and_prices(origin):
    before = rows(Platform), rows(Workload), list(Price.objects.order_by("pk").values())
    write_servers(origin, {name: server(9.0) for name in NAMES[:3]})
    fetched(origin, "--update")
    assert (rows(Platform), rows(Workload), list(Price.objects.order_by("pk").values())) == before
    assert measured_once() == dict.fromkeys(NAMES[:3], 9.0) | {NAMES[3]: 1.75, NAMES[4]: 2.0}


def test_update_replaces_a_delivery_in_one_transaction(origin, monkeypatch):
    write_servers(origin, {NAMES[0]: server(9.0)})
    before = Profile.objects.order_by("pk").values_list("pk", "source", "t1_s")
    stored_before = list(before.all())
    for broken in ("restate", "sweep_withdrawn"):
        seen = []

        def killed(*_, seen=seen):
            seen.append(measured_once())
            raise KeyboardInterrupt

        module = "profiles.ingest.withdrawal" if broken == "restate" else "benchmarks.fetching"
        with monkeypatch.context() as patched:
            patched.setattr(f"{module}.{broken}", killed)
            with pytest.raises(CommandError, match="interrupted"):
                fetched(origin, "--update")
        assert seen == [measured_once() | {NAMES[0]: 9.0}]
        if broken == "restate":  # within the transaction
            assert list(before.all()) == stored_before
    assert measured_once()[NAMES[0]] == 9.0
    assert priced() == PRICED


def test_an_update_that_was_interrupted_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fetching, "FOLDERS_AT_ONCE", 2)
    origin = write_servers(tmp_path, five())
    fetched(origin)
    write_servers(tmp_path, {name: server(9.0) for name in NAMES})
    with killed_at_the_fourth(), pytest.raises(CommandError, match="interrupted"):
        fetched(origin, "--update")
    assert measured_once() == dict.fromkeys(NAMES[:2], 9.0) | {NAMES[2]: 1.5, NAMES[3]: 1.75, NAMES[4]: 2.0}
    fetched(origin, "--update", "--limit", "1")
    assert list(measured_once().values()).count(9.0) == 4  # a delivery is replaced as a whole
    capsys.readouterr()
    fetched(origin, "--update")
    assert "1 machines stored" in (out := capsys.readouterr().out)
    assert "4 were stored before, 1 had changed" in out
    assert measured_once() == dict.fromkeys(NAMES, 9.0)


def test_a_machine_that_is_described_otherwise_keeps_its_address_and_prices(origin):
    slugs = dict(Platform.objects.values_list("name", "slug"))
    write_servers(
        origin, {NAMES[0]: server(9.0, lscpu__stdout=lscpu(**{"Model name": "Intel(R) Xeon(R) CPU @ 2.90GHz"}))}
    )
    before = Platform.objects.get(name=NAMES[0])
    own = f"platform,amount,currency,per,region,kind,source,date\n{NAMES[0]},7,EUR,hour,,spot,contract,2026-11-02\n"
    replace_own_prices(get_user_model().objects.create_user("ada"), own.splitlines(keepends=True), Decimal(1))
    fetched(origin, "--update")
    after = Platform.objects.get(name=NAMES[0])
    assert [row.cpu_model[-7:] for row in (before, after)] == ["2.80GHz", "2.90GHz"]
    assert dict(Platform.objects.values_list("name", "slug")) == slugs
    assert priced() == PRICED
    assert [(price.platform, price.amount) for price in OwnPrice.objects.all()] == [(after, 7)]


def test_what_moderators_hid_is_not_updated(origin, capsys):
    Source.objects.update(hidden=True)
    write_servers(origin, {NAMES[0]: server(9.0)})
    fetched(origin, "--update")
    assert "5 were stored before, 0 had changed" in capsys.readouterr().out
    assert measured_once()[NAMES[0]] == 1.0


def test_update_drops_a_machine_that_is_refused_now_with_its_prices(origin, capsys):
    write_servers(origin, {NAMES[0]: server(lscpu__stdout=lscpu(**{"Model name": ""}))})
    fetched(origin, "--update")
    assert (stored(), FetchedFolder.objects.count()) == (NAMES[1:], 4)
    assert priced() == {name: PRICED[name] for name in NAMES[1:]}
    assert "1 prices dropped: their machines are no longer stored" in capsys.readouterr().out


def test_update_withdraws_what_cannot_be_read_any_more(tmp_path):
    origin = write_servers(tmp_path, {NAMES[0]: server()})
    fetched(origin)
    write_servers(tmp_path, {NAMES[0]: server(lscpu__stdout=lscpu(**{"Model name": ""}))})
    fetched(origin, "--update")
    assert (stored(), FetchedFolder.objects.count(), Source.objects.count()) == ([], 0, 0)


def test_licence_and_citation_are_where_the_numbers_are(tmp_path, client, capsys):
    fetched(write_servers(tmp_path, five()))
    platform = Platform.objects.get(name=NAMES[0])
    workload = Workload.objects.get(name="stress-ng/cpu")
    profile = Profile.objects.get(platform=platform, workload=workload)
    pages = (f"/platforms/{platform.slug}/", f"/workloads/{workload.slug}/", f"/profiles/{profile.uid}/")
    for page in (*pages, f"/predictions/answer/?workload={workload.slug}&target={platform.slug}"):
        text = client.get(page).content.decode()
        assert "Licence: CC BY-SA 4.0" in text, page
        assert "https://github.com/SpareCores/sc-inspector-data" in text, page
    assert "CC BY-SA 4.0" in client.get("/api/v1/profiles/?format=csv").getvalue().decode()
    capsys.readouterr()
    call_command("predict", "--workload", workload.slug, "--target", platform.slug, "--json")
    credit = {"label": SpareCores.title, "licence": SpareCores.licence, "citation": SpareCores.citation}
    assert json.loads(capsys.readouterr().out)["sources"] == [credit]


@pytest.fixture
def archives(settings, tmp_path):
    settings.FETCHED_DIR = tmp_path / "fetched"
    return settings.FETCHED_DIR


def test_from_the_network(tmp_path, url, handler, archives, monkeypatch):  # noqa: F811
    archive = pack_servers(tmp_path / "made.tar.gz", five()).read_bytes()
    monkeypatch.setattr("tests.benchmarks.public_data.test_download.CONTENT", archive)
    monkeypatch.setattr(SpareCores, "archive_url", url)
    call_command("fetch_data", "sparecores", "--limit", "3")
    assert len(handler.asked) == 1
    call_command("fetch_data", "sparecores")
    assert len(handler.asked) == 1  # the archive was kept, as it was not read to the end
    assert stored() == NAMES
    assert list(archives.iterdir()) == []


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of five servers with history that its server filters, as the forge does."""
    root = write_servers(tmp_path / "published", five())
    (root / "data" / NAMES[0] / "openssl").mkdir()
    (root / "data" / NAMES[0] / "openssl" / "stdout").write_text("large, and not asked for")
    monkeypatch.setattr(SlimSpareCores, "clone_url", root.as_uri())
    git(root, "init", "--quiet")
    git(root, "config", "uploadpack.allowFilter", "true")
    git(root, "config", "uploadpack.allowAnySHA1InWant", "true")
    commit(root)
    return root


def git(folder, *arguments):
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def commit(root):
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "measured")


def test_slim_fetches_what_sixty_workloads_need_and_nothing_else(archives, repository, capsys):
    call_command("fetch_data", "sparecores", "--slim")
    assert stored() == NAMES
    assert set(Workload.objects.values_list("name", flat=True)) == SLIM_WORKLOADS
    clone = archives / "sparecores.clone"
    listed = git(clone, "ls-tree", "-r", "--format=%(objectname) %(path)", "HEAD").splitlines()
    missing = {
        line[1:] for line in git(clone, "rev-list", "--objects", "--missing=print", "HEAD").split() if line[0] == "?"
    }
    absent = {path for oid, path in map(str.split, listed) if oid in missing}
    assert {path.split("/", 3)[3] for path in absent if path.count("/") == 4} == {
        *("compression_text/stdout", "compression_text/meta.json", "llm/stdout", "llm/meta.json"),
        *("lstopo/stdout", "openssl/stdout", "passmark/stdout"),
    }
    assert git(clone, "rev-list", "--count", "HEAD").strip() == "1"


def test_slim_takes_new_machines_and_the_whole_source_adds_the_rest(archives, repository, capsys):
    call_command("fetch_data", "sparecores", "--slim")
    other_version = json.dumps(META | {"version": "0.20.01"})
    write_servers(repository, {"aws/c9.2xlarge": server(stressngfull_meta=other_version)})
    commit(repository)
    capsys.readouterr()
    call_command("fetch_data", "sparecores", "--slim")
    assert "1 machines stored" in capsys.readouterr().out
    # Bogo operations of two versions are not the same work: 61 workloads are stored of the 60.
    versions = Workload.objects.filter(name="stress-ng/cpu-div16").values_list("version", flat=True)
    assert sorted(versions) == ["0.17.08", "0.20.01"]
    assert stored() == [*NAMES, "aws/c9.2xlarge"]
    fetched(repository, "--update")
    assert stored() == [*NAMES, "aws/c9.2xlarge"]
    assert Workload.objects.filter(name__startswith="compression/", profiles__isnull=False).exists()
    assert Workload.objects.filter(name="geekbench/clang").count() == 1


def test_slim_has_sixty_workloads():
    geekbench = 16
    assert len(STRESSORS) + geekbench == 60
    kit = Path(settings.BASE_DIR, "benchmarks/kit/stress-ng/stressors").read_text()
    assert STRESSORS - {"cpu-div16"} <= set(kit.split()), "a stressor that the kit does not run"


def test_slim_without_git_or_a_repository_says_why(archives, monkeypatch):
    monkeypatch.setattr(SlimSpareCores, "clone_url", "file:///nowhere")
    with pytest.raises(CommandError, match=r"git fetch: .*nowhere"):
        call_command("fetch_data", "sparecores", "--slim")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CommandError, match="git is not installed"):
        call_command("fetch_data", "sparecores", "--slim")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nowhere",), "invalid choice"),
        (("gbm-perf", "--slim"), "--slim is for sparecores"),
        (("sparecores", "--limit", "0"), "--limit is 0, less than 1"),
        (("sparecores", "--from", "/nowhere"), "cannot be read"),
    ],
)
def test_what_cannot_be_fetched_says_why(arguments, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("fetch_data", *arguments)
    assert not Source.objects.exists()


def test_without_a_network_it_says_so(archives, monkeypatch):
    monkeypatch.setattr(SpareCores, "archive_url", "http://127.0.0.1:9/archive")
    with pytest.raises(CommandError, match=r"127\.0\.0\.1:9.*refused"):
        call_command("fetch_data", "sparecores")
