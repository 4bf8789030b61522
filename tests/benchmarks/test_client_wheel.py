"""The wheel of the client that the server hands out."""

import io
import subprocess
import sys
import zipfile

import pytest
from django.urls import reverse

from benchmarks.client_wheel import NoClientError, client_wheel, wheel_name


def test_pip_installs_the_wheel_and_it_says_its_version(client, db, tmp_path):
    name = wheel_name()
    answer = client.get(reverse("api-client", args=[name]))
    assert answer.status_code == 200
    assert name in answer["Content-Disposition"]
    (tmp_path / name).write_bytes(answer.content)
    where = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(where)]
    subprocess.run([*pip, str(tmp_path / name)], check=True, capture_output=True)
    code = "import sys; sys.argv = ['mpet', '--version']; from mpet.cli import main; main()"
    said = subprocess.check_output([sys.executable, "-c", code], cwd=where, env={"PYTHONPATH": str(where)}, text=True)
    assert said.strip() == f"mpet {name.split('-')[1]}"


def test_the_same_sources_give_the_same_wheel_whose_record_names_every_member():
    first = client_wheel()
    assert client_wheel() == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        record = next(name for name in archive.namelist() if name.endswith("RECORD"))
        recorded = {line.split(",")[0] for line in archive.read(record).decode().splitlines()}
        assert recorded == set(archive.namelist())


def test_other_versions_are_unknown_and_an_installation_without_the_client_says_so(client, db, tmp_path):
    assert client.get(reverse("api-client", args=["mpet-9.9.9-py3-none-any.whl"])).status_code == 404
    with pytest.raises(NoClientError):
        client_wheel(tmp_path)


def test_the_page_measure_names_the_address(client, db):
    assert (
        f"pipx install http://testserver{reverse('api-client', args=[wheel_name()])}"
        in client.get(reverse("measure")).content.decode()
    )
