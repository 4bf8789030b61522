"""Docs that can fail: what the code offers is named where users look for it."""

import re

from django.core.management import get_commands
from django.urls import URLPattern, URLResolver, get_resolver

from tests.paths import ROOT

OWN_APPS = {"profiles", "predictor", "benchmarks", "accounts"}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_environment_variable_is_documented():
    settings = read("mpet_site/settings.py")
    variables = set(re.findall(r'env\.\w+\(\s*"(\w+)"', settings)) | set(re.findall(r'"(MPET_\w+)"', settings))
    assert variables >= {"MPET_STATE_DIR", "DATABASE_URL"}
    documented = read("docs/settings.md")
    assert not {name for name in variables if f"`{name}`" not in documented}


def test_every_command_is_documented():
    own = {name for name, app in get_commands().items() if app in OWN_APPS}
    assert own >= {"import_results", "import_dataset", "refit", "predict", "evaluate", "api_token"}
    documented = read("docs/commands.md")
    assert not {name for name in own if f"## {name}" not in documented}


def api_paths(patterns, prefix: str = "") -> set[str]:
    paths = set()
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            paths |= api_paths(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            paths.add(route)
    return {path for path in paths if path.startswith("api/v1/")}


def test_every_api_path_is_documented():
    paths = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path) for path in api_paths(get_resolver().url_patterns)}
    paths = {re.sub(r"\{\w+\}", "{}", path.removeprefix("api/v1/")) for path in paths if "(?P" not in path}
    assert {"platforms/", "predictions/{}/", "uploads/", "kit/"} <= paths
    documented = re.sub(r"\{\w+\}", "{}", read("docs/api.md"))
    assert not {path for path in paths if path and f"{path}" not in documented}


def test_relative_links_in_documents_lead_somewhere():
    broken = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)} -> {target}")
    assert not broken
