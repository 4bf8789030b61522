"""A database of the version before accounts used django-allauth, and the responses of that version.

`database.sql.gz` is an SQLite dump, and `answers.json.gz` has the API responses, a token and a session. `filling.py`
made both in a checkout of that version (dca64b4), with the MPET_SECRET_KEY below and without throttles:

    MPET_STATE_DIR=FOLDER MPET_SECRET_KEY="the key of the former version" python filling.py FOLDER
"""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SECRET_KEY = "the key of the former version"


def make_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(gzip.decompress((FOLDER / "database.sql.gz").read_bytes()).decode())


def former_answers() -> dict[str, Any]:
    """Return `token`, `session` and `answers`: {address: {"as": requesting user, "document": JSON}}."""
    return json.loads(gzip.decompress((FOLDER / "answers.json.gz").read_bytes()))
