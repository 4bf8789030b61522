"""The schema describes what is served, is valid, and is the one in docs/."""

import compileall
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.urls import reverse
from openapi_spec_validator import validate

from mpet_site.api_urls import ENDPOINTS
from mpet_site.urls import api
from mpet_site.web.api import ListView
from tests.mpet_site.api_samples import API, client_of
from tests.paths import ROOT

COMMITTED = ROOT / "docs" / "openapi.yaml"


@pytest.fixture(scope="module")
def text():
    out = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    return out.getvalue()


@pytest.fixture(scope="module")
def schema(text):
    return yaml.load(text, yaml.CSafeLoader)  # five times as fast as the loader in Python


def test_docs_name_every_path_filter_and_order():
    docs = COMMITTED.with_name("api.md").read_text()
    paths = {path.removeprefix(API) for path, _ in served_paths()} - {"", "{path}"}
    assert len(paths) > 10
    assert [path for path in sorted(paths) if not re.search(rf"(GET|POST) {re.escape(path)}[?`]", docs)] == []
    for view in ListView.__subclasses__():
        (row,) = [line for line in docs.splitlines() if line.startswith(f"| `{view.__name__[:-4].lower()}s/`")]
        named = [set(re.findall("`([a-z0-9_]+)`", cell)) for cell in row.split("|")]
        assert named[2] == set(view.filterset_class.base_filters)
        assert named[3] == set(view.ordering_fields)


def served_paths():
    for included in api:
        for pattern in included.url_patterns:
            yield re.sub(r"<\w+:(\w+)>", r"{\1}", f"{API}{pattern.pattern}"), pattern.name


def test_the_committed_schema_is_the_code_s(text):
    assert COMMITTED.read_text() == text, "run `make schema`"


def test_it_is_valid_openapi(schema):
    validate(schema)


@pytest.mark.lab
def test_a_generator_makes_a_client_of_it(text, schema, tmp_path):
    """A Python client with a call for every operation; the kit's tarball is the one answer it leaves untyped."""
    file = tmp_path / "openapi.yaml"
    file.write_text(text)
    client = tmp_path / "mpet_client"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["generate", "--path", file, "--meta", "none", "--output-path", client]
    made = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *command],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    assert made.stdout.count("WARNING") <= 1, made.stdout
    assert compileall.compile_dir(client, quiet=2)
    calls = {path.stem for path in client.glob("api/*/*.py")} - {"__init__"}
    operations = [o["operationId"] for path in schema["paths"].values() for o in path.values()]
    assert len(calls) == len(operations) >= 15


def test_it_has_every_path_but_itself(schema):
    served = {path for path, name in served_paths() if name not in {"api-schema", "api-docs", "api-unknown-path"}}
    assert set(schema["paths"]) == served


def test_every_operation_names_its_errors_and_its_answer(schema):
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            assert {"400", "401", "405", "406", "429", "500", "503"} < set(responses), (method, path)
            assert ("404" in responses) >= ("{" in path), (method, path)
            assert ({"413", "415"} <= set(responses)) == (method in {"post", "patch"}), (method, path)
            assert ("403" in responses) == (method != "get"), (method, path)
            good = [code for code in responses if code.startswith("2")]
            assert good, (method, path)
            for code in good if method != "delete" else ():
                assert all(content["schema"] for content in responses[code]["content"].values()), (method, path)


@pytest.mark.django_db
def test_the_root_lists_every_endpoint():
    root = client_of().get(API).json()
    assert set(root) == set(ENDPOINTS)
    without_arguments = {name for path, name in served_paths() if "{" not in path and "<" not in path}
    assert set(ENDPOINTS.values()) == without_arguments - {"api-root"}


@pytest.mark.django_db
def test_docs_page_obeys_the_content_policy():
    """No CDN, no inline script: the page works without network and under script-src 'self'."""
    page = client_of().get(reverse("api-docs")).content.decode()
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    script = re.findall(r'<script src="([^"]*script[^"]*)"', page)[-1]
    assert client_of().get(API + "docs/" + script if script.startswith("?") else script).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("format", ["yaml", "json"])
def test_the_served_schema_is_the_same(schema, format):
    served = client_of().get(f"{API}schema/?format={format}")
    read = {"yaml": lambda content: yaml.load(content, yaml.CSafeLoader), "json": json.loads}[format]
    assert read(served.content) == schema
