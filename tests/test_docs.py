"""Docs that can fail: what the code offers is named where users look for it."""

import re
import subprocess
from pathlib import Path

from django.core.management import get_commands, load_command_class

from tests.paths import ROOT

OWN_APPS = {"profiles", "predictor", "benchmarks", "accounts", "operations", "research"}
TOP = "accounts|benchmarks|docs|lab|mpet_site|operations|predictor|profiles|research|tests"


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


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("research/**/*.md")])


def unknown_options(line: str, entry: str, name: str) -> list[str]:
    """The options of a quoted command line that the command lacks, or its name where the entry point lacks it."""
    if name == "help":
        return []
    app = get_commands().get(name)
    if app is None or (app == "research" and entry == "manage.py"):
        return [name]
    command = load_command_class(app, name) if isinstance(app, str) else app
    known = {option for action in command.create_parser("", name)._actions for option in action.option_strings}
    return [option for option in re.findall(r"(?<=\s)--[a-z][\w-]*", line) if option not in known]


def test_commands_in_documents_exist_with_their_options():
    wrong = []
    for page in [*pages(), ROOT / "benchmarks/kit/README.md"]:
        if page.name != "CHANGELOG.md":
            text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
            for entry, name, line in re.findall(r"(manage\.py|python -m research) ([a-z]\w+)([^`\n|;&)(]*)", text):
                wrong += [f"{page.relative_to(ROOT)}: {name} {word}" for word in unknown_options(line, entry, name)]
    assert wrong == []


def prose_of(page: Path) -> str:
    """Its text without blocks of code, in which a `#` is no headline."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"^    .*$", "", text, flags=re.M)


def anchors(page: Path) -> set[str]:
    """The `#names` of its headlines, as GitHub makes them."""
    found: list[str] = []
    for headline in re.findall(r"^#+ +(.+?) *$", prose_of(page), flags=re.M):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", headline)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.append(name if name not in found else f"{name}-{found.count(name)}")
    return set(found)


def links(page: Path) -> list[tuple[Path, str]]:
    """The files of the checkout that a page links to, with the anchor or an empty text."""
    found = re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    return [(page.parent / target if target else page, anchor) for target, anchor in found]


def test_relative_links_in_documents_lead_somewhere():
    broken = []
    for page in pages():
        for target, anchor in links(page):
            there = target.exists() and (not anchor or target.suffix != ".md" or anchor in anchors(target))
            if not there:
                broken.append(f"{page.relative_to(ROOT)} -> {target}#{anchor}")
    assert not broken


def test_code_and_templates_name_pages_that_exist():
    """A comment or a docstring that names a page of docs/ is a link too."""
    sources = [path for app in (*OWN_APPS, "lab", "mpet_site", "tests") for path in (ROOT / app).rglob("*.py")]
    sources += [path for app in (*OWN_APPS, "mpet_site") for path in (ROOT / app).rglob("*.html")]
    broken = []
    for source in sources:
        for target, anchor in re.findall(r"(docs/[\w/-]+\.md)(?:#([\w-]+))?", source.read_text(encoding="utf-8")):
            if not (ROOT / target).exists() or (anchor and anchor not in anchors(ROOT / target)):
                broken.append(f"{source.relative_to(ROOT)} -> {target}#{anchor}")
    assert not broken


def test_the_lists_of_pages_name_every_page():
    for folder in ("docs/decisions", "research/history"):
        listed = {target.name for target, _ in links(ROOT / folder / "README.md")}
        assert {page.name for page in (ROOT / folder).glob("*.md")} - {"README.md"} <= listed, folder
    overviews = {
        "docs/README.md": ("docs/*.md", "docs/tutorial/*.md", "docs/audiences/*.md", "*.md"),
        "docs/accuracy.md": ("docs/accuracy/*.md",),
    }
    # The README leads to the list of pages, which does not lead to itself.
    leads = {ROOT / "README.md", ROOT / "docs/README.md"}
    for overview, patterns in overviews.items():
        named = {target.resolve() for target, _ in links(ROOT / overview)}
        for pattern in patterns:
            assert {page.resolve() for page in ROOT.glob(pattern)} - leads <= named, (overview, pattern)


def test_the_readme_has_five_links_and_one_picture():
    text = read("README.md")
    targets = [target for target, _ in links(ROOT / "README.md")]
    assert ROOT / "docs/README.md" in targets
    assert len(targets) - text.count("](docs/images/") == 5
    assert text.count("![") == 1


def test_pages_that_are_read_from_top_to_bottom_have_at_most_1500_words():
    """Pages of reference, to look things up in, may be longer, and the traced tables of files."""
    reference = re.findall(r"\((\S+\.md)\)", read("docs/README.md").partition("## Reference")[2].partition("\n## ")[0])
    assert "api.md" in reference
    longer = {*(ROOT / "docs" / page for page in reference), ROOT / "docs/settings.md", ROOT / "docs/architecture.md"}
    read_whole = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/tutorial/*.md"), *ROOT.glob("docs/audiences/*.md")]
    read_whole += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in set(read_whole) - longer}
    assert not {name: count for name, count in words.items() if count > 1500}


def test_files_and_modules_named_in_documents_are_there():
    """`profiles/prices/tables.py`, `predictor/core/`, `research.paper`: in the tree, or at the end of a path in it."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    known = "\n".join(f"/{path}" for path in tracked)
    missing = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
        text = page.read_text(encoding="utf-8")
        paths = set(re.findall(rf"`((?:\w+/)*\w+\.(?:py|js|css|toml|html|hpp|cpp)|(?:{TOP})/(?:\w+/)*)`", text))
        missing += [f"{page.name}: {path}" for path in paths if f"/{path}" not in known]
        for module in set(re.findall(rf"`((?:{TOP})(?:\.\w+)+)`", text)):
            found = (
                f"/{module.replace('.', '/')}" in known or f"/{module.rpartition('.')[0].replace('.', '/')}" in known
            )
            missing += [f"{page.name}: {module}"] * (not found)
    assert not missing


LONGEST_LINE = 120


def test_lines_of_documents_are_wrapped():
    """Tables, code and what has no blank to break at may be longer."""
    long = []
    for page in pages():
        for line in prose_of(page).splitlines():
            breakable = " " in line.strip()[:LONGEST_LINE]
            if len(line) > LONGEST_LINE and breakable and not line.startswith("|"):
                long.append(f"{page.relative_to(ROOT)}: {line[:60]}")
    assert not long
