"""What counts as a change between two uploads of one program, and what is noise."""

from dataclasses import replace

import numpy as np
import pytest
from mpet import Client, Refused
from mpet.changes import MeasuredRegion, compare_regions, compare_repeats, quantile_of_student, read_region
from mpet.errors import NothingToCompare, UsageError
from mpet.results import UploadReport
from mpet.summary import changes_markdown
from scipy import stats

from accounts.models import ApiToken
from profiles.models import RegionLabel
from tests.benchmarks.uploads import tarball
from tests.programs import program_measurements
from tests.samples import sample_measurements, sample_platform

NO_PARTS = {part: {} for part in ("use", "lock", "imbalance", "creation", "distribution", "switching", "join")}


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 12, 40])
@pytest.mark.parametrize("p", [0.2, 0.05, 0.001, 1e-5])
def test_the_quantile_is_students(df, p):
    assert quantile_of_student(p, df) == pytest.approx(stats.t.isf(p / 2, df), rel=1e-6)


def sampled(generator, factor=1.0, spread=0.01, repeats=3):
    """Times of three thread counts, and one part, as a measurement of them would repeat."""
    times = {n: list(factor / n * np.exp(spread * generator.standard_normal(repeats))) for n in (1, 2, 4)}
    parts = NO_PARTS | {"use": {n: [0.9 * time for time in values] for n, values in times.items()}}
    return MeasuredRegion("prog/main:3", times, parts)


def test_the_same_program_is_called_changed_once_in_twenty_reports_at_most():
    generator = np.random.default_rng(3)
    reports = [compare_regions([sampled(generator)], [sampled(generator)], least=0.0)[0] for _ in range(400)]
    alarms = sum(region.is_slower or region.is_faster for (region,) in reports)
    assert alarms <= 0.05 * 400


def test_a_tenth_is_found_in_noise_of_one_percent():
    generator = np.random.default_rng(4)
    found = [
        compare_regions([sampled(generator)], [sampled(generator, factor=1.1)])[0][0].is_slower for _ in range(100)
    ]
    assert sum(found) >= 98


def test_what_is_small_does_not_count_however_exact():
    exact = {n: [1.0 / n, 1.00001 / n, 0.99999 / n] for n in (1, 2)}
    more = {n: [1.01 * value for value in values] for n, values in exact.items()}
    scales = {1: 1.0, 2: 0.5}
    assert not any(change.is_beyond_noise for change in compare_repeats(exact, more, scales, 2))
    assert all(change.is_slower for change in compare_repeats(exact, more, scales, 2, least=0.005))


def test_one_repeat_says_nothing_about_noise():
    (change,) = compare_repeats({1: [1.0]}, {1: [9.0]}, {1: 1.0}, 1)
    assert change.noise_s is None and not change.is_beyond_noise


def test_regions_that_moved_are_the_same_and_others_are_named():
    def named(*names):
        return [MeasuredRegion(name, {1: [1.0, 1.01]}, NO_PARTS) for name in names]

    base = named("p/f:9", "p/f:20", "p/g:5", "p/h:1", "p/h:2", "p/serial rest")
    head = named("p/f:20", "p/f:31", "p/h:2", "p/i:7", "p/serial rest")
    regions, gone, new = compare_regions(base, head)
    pairs = {(region.base_name, region.head_name) for region in regions}
    assert pairs == {("p/f:9", "p/f:20"), ("p/f:20", "p/f:31"), ("p/h:2", "p/h:2"), ("p/serial rest", "p/serial rest")}
    assert (gone, new) == (["p/g:5", "p/h:1"], ["p/i:7"])


RUNS = """workload,n,repeat,pass,time_s,time_ns,use_ns,lock_ns,size,clock_mhz
p/f:1,1,1,clean,1.0,1000000000,,,,
p/f:1,1,1,profile,1.5,1500000000,1400000000,100000000,,
p/f:1,2,1,profile,0.5,500000000,900000000,100000000,,
p/f:1,1,1,clean,7.0,7000000000,,,64,
p/f:1,1,1,clean,7.0,7000000000,,,,800
"""


def test_runs_are_read_without_their_variations():
    region = read_region(RUNS)
    assert region.times == {1: [1.0], 2: [0.5]}
    assert region.parts["lock"] == {1: [pytest.approx(0.1)], 2: [pytest.approx(0.05)]}
    assert read_region(RUNS.splitlines()[0] + "\n") is None


@pytest.fixture
def client(live_server, alice):
    with Client(live_server.url, ApiToken.issue(alice, ApiToken.Scope.UPLOAD)[1]) as client:
        yield client


def sent(client, tmp_path, seed, commit, branch, *, platform=0) -> UploadReport:
    path = tmp_path / f"{commit}.tar.gz"
    measured = replace(sample_measurements(1, 2, seed=seed), platforms=[sample_platform(platform)])
    path.write_bytes(tarball(measured))
    return client.upload(path, commit=commit, branch=branch)


@pytest.mark.django_db(transaction=True)
def test_the_newest_upload_of_the_branch_on_this_machine_is_the_base(client, tmp_path):
    first = sent(client, tmp_path, 1, "a1", "main")
    with pytest.raises(NothingToCompare, match="branch main was not measured on machine-0"):
        client.changes(first.id, base_branch="main")
    second = sent(client, tmp_path, 2, "a2", "main")
    sent(client, tmp_path, 3, "a3", "main", platform=1)
    sent(client, tmp_path, 4, "b1", "other")
    head = sent(client, tmp_path, 5, "c1", "feature")
    changes = client.changes(head.id, base_branch="main")
    assert changes.document["base"]["commit"] == "a2" and changes.base["id"] == second.id
    assert len(changes.regions) == 2 and (changes.gone, changes.new) == ([], [])
    assert changes.frame["region"].nunique() == 2 and changes._repr_html_().count("<tr>") == 1 + len(changes.frame)
    text = changes_markdown(changes)
    assert text.startswith("## MPET: feature (c1) compared with main (a2)\n") and head.document["url"] in text
    assert client.changes(head.id, first.id).base["commit"] == "a1"
    with pytest.raises(NothingToCompare, match=r"not measured on machine-2-\w+ before, only on machine-0-\w+"):
        client.changes(sent(client, tmp_path, 6, "d1", "main", platform=2).id, base_branch="feature")
    for wrong in ({}, {"base": first.id, "base_branch": "main"}):
        with pytest.raises(UsageError):
            client.changes(head.id, **wrong)


@pytest.mark.django_db(transaction=True)
def test_nobody_else_sees_commit_and_branch(client, tmp_path, live_server, bob):
    path = tmp_path / "public.tar.gz"
    path.write_bytes(tarball())
    report = client.upload(path, public=True, commit="secret1", branch="secret2")
    assert (report.document["commit"], report.document["branch"]) == ("secret1", "secret2")
    for token in (None, ApiToken.issue(bob, ApiToken.Scope.UPLOAD)[1]):
        other = Client(live_server.url, token)
        seen = other.upload_report(report.id).document
        assert (seen["status"], seen["commit"], seen["branch"]) == ("accepted", None, None)
        page = other.transport.http.get(f"{live_server.url}/uploads/{report.id}/").text
        assert "secret" not in page and "accepted" in page
    assert other.transport.json("GET", "uploads/", params={"branch": "secret2"})["results"] == []
    with pytest.raises(Refused, match="commit"):
        client.upload(path, commit="c" * 65)


@pytest.mark.django_db(transaction=True)
def test_renamed_regions_have_their_names_in_reports(client, tmp_path, alice):
    """Regions are matched as they were measured; what the owner calls them is shown."""
    uploads = []
    for name, speed in (("before", 1.0), ("after", 0.5)):
        path = tmp_path / f"{name}.tar.gz"
        path.write_bytes(tarball(program_measurements(sample_platform(0), speed=speed)))
        uploads.append(client.upload(path))
    RegionLabel.objects.create(owner=alice, application="sort", section="merge:12", label="the merge step")
    changes = client.changes(uploads[1].id, uploads[0].id)
    shown = {region.head_name: region.shown_name for region in changes.regions}
    assert shown["sort/merge:12"] == "the merge step"
    assert shown["sort/split:40"] == "sort/split:40"
    assert "### the merge step" in changes_markdown(changes)
    assert {"region": "sort/merge:12", "label": "the merge step"}.items() <= changes.document["regions"][0].items()
