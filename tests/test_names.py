"""One word for one thing: no public name of one module is the name of something else in another."""

import ast
from collections import defaultdict

from tests.paths import ROOT

APPLICATIONS = ("accounts", "benchmarks", "mpet_site", "operations", "predictor", "profiles")
# The client (benchmarks/client) is a distribution of its own, which has the API's words.
# What Django and the settings ask for by name, wherever it stands.
CONVENTIONS = {"Command", "urlpatterns", "logger", "register"}
SETTINGS = {"settings.py", "settings_test.py"}


def public_names(tree: ast.Module) -> set[str]:
    """Functions, classes and constants of a module; what it imports belongs to others."""
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def test_no_public_name_stands_for_two_things():
    modules = defaultdict(list)
    for application in APPLICATIONS:
        for path in (ROOT / application).rglob("*.py"):
            if not {"migrations", "client"} & set(path.parts) and path.name not in SETTINGS:
                for name in public_names(ast.parse(path.read_text(encoding="utf-8"))) - CONVENTIONS:
                    modules[name].append(str(path.relative_to(ROOT)))
    assert len(modules) > 1000
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}
