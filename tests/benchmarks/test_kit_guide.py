import re

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse

from benchmarks import kit_archive
from benchmarks.kit_archive import KIT, kit_version
from benchmarks.kit_guide import kit_steps, kit_workloads, stress_ng_versions
from benchmarks.public_data.sparecores import stress_ng_workload
from tests.mpet_site.api_samples import API
from tests.pages import text_of, twin_of
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform

pytestmark = pytest.mark.django_db
NOBODY = AnonymousUser()


def test_every_workload_of_the_kit_says_what_it_computes_stresses_and_is_here_for():
    workloads = kit_workloads()
    assert {row.name for row in workloads} == {path.stem for path in (KIT / "workloads").glob("*.cpp")}
    assert len(workloads) > 20
    assert all(row.computes and row.stresses and row.here_because for row in workloads)


def test_every_command_names_what_the_kit_has():
    """Targets of the Makefile, its variables, and programs in its folder."""
    makefile = (KIT / "Makefile").read_text()
    for step in kit_steps("https://mpet.example/"):
        for target in re.findall(r"^make ([a-z-]+)", step.command, re.M):
            assert re.search(rf"^{target}:", makefile, re.M)
        for variable in re.findall(r"\b([A-Z]{3,})=", step.command):
            assert re.search(rf"^{variable} \?=", makefile, re.M)
        for program in re.findall(r"^\./([a-z-]+)", step.command, re.M):
            assert program == "my_program" or (KIT / program).is_file()


def test_the_page_and_its_twin_show_the_same_commands_for_this_server(client):
    page = client.get(reverse("measure"))
    guide = client.get(twin_of(page)).json()
    words = text_of(page)
    assert guide["version"] == kit_version()
    assert "curl -o mpet-kit.tar.gz http://testserver/api/v1/kit/" in words
    for step in guide["steps"]:
        assert step["title"] in words
    assert client.get(guide["url"]).status_code == 200
    assert f'href="{reverse("api-kit")}"' in page.content.decode()


def test_without_the_kit_the_page_says_so(client, monkeypatch, tmp_path):
    monkeypatch.setattr(kit_archive, "KIT", tmp_path)
    page = client.get(reverse("measure"))
    assert page.status_code == 404
    assert "has no benchmark kit" in text_of(page)
    assert client.get(API + "kit/guide/").status_code == 404


def of_version(version, *names, **options):
    deliver(measured([sample_platform(name=name) for name in names], [stress_ng_workload("cpu", version)]), **options)


def test_versions_are_counted_by_platforms_on_the_page_and_its_twin(client):
    of_version("0.15.06", "a")
    of_version("0.20.01", "b", "c")
    expected = [{"version": "0.20.01", "platforms": 2}, {"version": "0.15.06", "platforms": 1}]
    assert stress_ng_versions(NOBODY) == expected
    page = client.get(reverse("measure"))
    assert "Results here: version 0.20.01 on 2 machines, version 0.15.06 on 1 machine " in text_of(page)
    assert client.get(twin_of(page)).json()["stress_ng_versions"] == expected


def test_private_results_count_for_their_owner_alone():
    alice = get_user_model().objects.create_user("alice")
    of_version("0.99.99", "secret", owner=alice, private=True)
    assert stress_ng_versions(NOBODY) == []
    assert stress_ng_versions(alice) == [{"version": "0.99.99", "platforms": 1}]
