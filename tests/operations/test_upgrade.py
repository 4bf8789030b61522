"""The database of the former version, migrated: no row and no value is lost, and it answers as it did."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.operations.former_version import SECRET_KEY, former_answers, make_database
from tests.pages import PASSWORD
from tests.paths import ROOT
from tests.processes import environment_of, output_of
from tests.test_docs import read

NEWEST = {"benchmarks": "0006", "profiles": "0021"}  # each one step back
# Written anew: by Django after each `migrate`, and by signing in.
NOT_KEPT = {"django_migrations", "sqlite_sequence", "auth_permission", "django_content_type"}
# In one process: each start takes as long as a step.
MIGRATE = """
import json, sqlite3, sys
from contextlib import closing
from django.core.management import call_command
from django.db import connection
for file, step in json.load(sys.stdin):
    call_command("migrate", *step, verbosity=0)
    with closing(sqlite3.connect(file)) as copy:
        connection.ensure_connection()
        connection.connection.backup(copy)
"""


class Upgraded:
    """The former version's database with this version's code."""

    def __init__(self, folder: Path, static: Path) -> None:
        self.folder, self.path = folder, folder / "mpet.sqlite3"
        make_database(self.path)
        folder.chmod(0o700)
        self.environment = environment_of(folder, MPET_STATIC_ROOT=str(static), MPET_SECRET_KEY=SECRET_KEY)

    def run(self, *arguments: str, text: str = "") -> str:
        return output_of(*arguments, environment=self.environment, text=text)

    def migrate(self, *steps: list[str]) -> list[Path]:
        """Run `manage.py migrate` with these arguments, one after the other; the database after each."""
        files = [self.folder / f"after-{number}.sqlite3" for number in range(len(steps))]
        text = json.dumps([[str(file), step] for file, step in zip(files, steps, strict=True)])
        self.run("manage.py", "shell", "--no-imports", "--command", MIGRATE, text=text)
        return files

    def rows(self, path: Path | None = None) -> dict[str, dict[tuple, dict]]:
        """{table: {primary key: {column: value}}}"""
        with closing(sqlite3.connect(path or self.path)) as connection:
            connection.row_factory = sqlite3.Row
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: rows_of(connection, name) for name in names if name not in NOT_KEPT}


def rows_of(connection: sqlite3.Connection, table: str) -> dict[tuple, dict]:
    columns = connection.execute(f"PRAGMA table_info({table})")
    key = [column["name"] for column in columns if column["pk"]]
    rows = connection.execute(f"SELECT * FROM {table}")
    return {tuple(row[name] for name in key): dict(row) for row in rows}


@pytest.fixture(scope="module")
def static(tmp_path_factory) -> Path:
    """What `collectstatic` makes of the files that pages need, which asks no database."""
    folder = tmp_path_factory.mktemp("static")
    command = ("collectstatic", "--noinput", "--verbosity", "0", "--ignore", "admin", "--ignore", "drf*")
    Upgraded(tmp_path_factory.mktemp("asks-nothing"), folder).run("manage.py", *command)
    return folder


@pytest.fixture
def former(tmp_path, static) -> Upgraded:
    """Not migrated yet."""
    return Upgraded(tmp_path, static)


STEPS = {"forwards": [], **{app: [app, name] for app, name in NEWEST.items()}, "forwards again": []}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory, static) -> tuple[Upgraded, list[Path]]:
    """Migrated by STEPS, and the database after each."""
    made = Upgraded(tmp_path_factory.mktemp("migrated"), static)
    return made, made.migrate(*STEPS.values())


def lost(before, after) -> list[str]:
    """What of the former rows is not there any more, or says something else."""
    return [
        f"{table} {key}: {name} was {value!r}, is {after.get(table, {}).get(key, {}).get(name, 'gone')!r}"
        for table, rows in before.items()
        for key, row in rows.items()
        for name, value in row.items()
        if (name, value) not in after.get(table, {}).get(key, {}).items()
    ]


@pytest.mark.lab
def test_no_row_and_no_value_is_lost_forwards_or_one_step_back(former, migrated):
    before = former.rows()
    assert sum(map(len, before.values())) == 2_093
    assert len([table for table, rows in before.items() if rows]) > 15
    upgraded, files = migrated
    for step, file in zip(STEPS, files, strict=True):
        assert lost(before, upgraded.rows(file)) == [], step
    upgraded.run("manage.py", "migrate", "--check")


SEND = """
import gzip, io, json
from django.test import Client
tarball = gzip.compress(b"a tarball")
client = Client(SERVER_NAME="localhost", raise_request_exception=False)
answers = [
    client.get("/healthz"),
    client.post("/api/v1/quarantine/", {"file": io.BytesIO(tarball)}),
    client.post("/upload/without-account/", {"file": io.BytesIO(tarball)}),
]
print(json.dumps([[one.status_code, one.headers.get("Retry-After"), one.content.decode()] for one in answers]))
"""


def test_what_needs_a_migration_says_before_it_that_it_is_not_there_yet(former):
    """Trust, third audit, 12: the new code answered 500. Here it serves before `migrate`."""
    health, api, page = json.loads(former.run("manage.py", "shell", "--no-imports", "--command", SEND))
    assert [answer[0] for answer in (health, api, page)] == [503] * 3
    assert (api[1], page[1]) == ("5", "5")
    assert "The database is being upgraded. Nothing was stored; try again soon." in api[2]
    assert "is being upgraded" in page[2]


ASK = """
import json, sys
from django.test import Client
asked = json.load(sys.stdin)
headers = {"anybody": {}, "owner": {"Authorization": "Bearer " + asked["token"]}}
found = {}
for address, before in asked["answers"].items():
    response = Client(SERVER_NAME="localhost").get(address, headers=headers[before["as"]])
    found[address] = response.json() if response.status_code == 200 else response.status_code
session = Client(SERVER_NAME="localhost")
session.cookies["sessionid"] = asked["session"]
signed_in = Client(SERVER_NAME="localhost")
signed_in.post("/accounts/login/", {"login": "ada", "password": asked["password"]})
pages = {name: client.get("/uploads/").status_code for name, client in (("session", session), ("password", signed_in))}
json.dump({"answers": found, "pages": pages}, sys.stdout)
"""


def changed(before, after, path="") -> list[str]:
    """What a former document said that the present one does not; what was added since is not looked at."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            line
            for name, value in before.items()
            for line in (changed(value, after[name], f"{path}.{name}") if name in after else [f"{path}.{name}: gone"])
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [line for i, (one, other) in enumerate(pairs) for line in changed(one, other, f"{path}[{i}]")]
    if isinstance(before, str) and isinstance(after, str) and ("sentences[" in path or "reasons[" in path):
        before = before.replace("are 1 times as fast as one", "are as fast as one")
        before, after = (re.findall(r"\d[\d.]*", text) for text in (before, after))  # the words may become better
    return [] if before == after else [f"{path}: was {before!r}, is {after!r}"]


@pytest.mark.lab
def test_tokens_sessions_passwords_and_every_stored_answer_are_as_they_were(migrated):
    former = former_answers()
    text = json.dumps(former | {"password": PASSWORD})
    present = json.loads(migrated[0].run("manage.py", "shell", "--no-imports", "--command", ASK, text=text))
    assert present["pages"] == {"session": 200, "password": 200}
    documents = {address: answer["document"] for address, answer in former["answers"].items()}
    assert len(documents) == 39
    for document in documents.values():
        document.pop("why", None)  # asked for by itself: /api/v1/predictions/{id}/why/
    assert changed(documents, present["answers"]) == []


def test_the_upgrade_page_names_what_doctor_asks_for_afterwards():
    doctor = (ROOT / "operations/doctor.py").read_text()
    asked = set(re.findall(r"run manage\.py ([a-z_]+(?: --[a-z]+)?)", doctor)) - {"createsuperuser"}
    assert asked == {"migrate", "collectstatic", "refit --stale", "encrypt_second_factors"}
    page = read("docs/install.md").partition("## Upgrade without downtime")[2]
    steps = page.partition("\nWhile both serve")[0]
    assert {command for command in asked if command not in steps} == set()
