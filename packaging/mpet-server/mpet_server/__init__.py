"""The server of MPET as it is installed: the command `mpet-server`.

The applications lie in this folder and import each other by their own names, as in the repository.
"""

import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
USAGE = """mpet-server serve [GUNICORN OPTIONS]   migrate the database, then serve on http://127.0.0.1:8000
mpet-server COMMAND [OPTIONS]          a command of manage.py: load_demo, createsuperuser, backup, ...

Data are kept in MPET_STATE_DIR, by default {state}."""


def main() -> None:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    state = os.environ.setdefault("MPET_STATE_DIR", str(data / "mpet-server"))
    os.environ.setdefault("MPET_STATIC_ROOT", str(Path(state) / "static"))
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(USAGE.format(state=state))
    sys.path.insert(0, str(HERE))
    if arguments[0] != "serve":
        runpy.run_path(str(HERE / "manage.py"), run_name="__main__")
        return
    for command in ("migrate", "collectstatic"):
        sys.argv = ["mpet-server", command, "--noinput", "--verbosity", "0"]
        runpy.run_path(str(HERE / "manage.py"), run_name="__main__")
    os.chdir(HERE)  # gunicorn reads gunicorn.conf.py there
    os.execv(  # noqa: S606  this interpreter
        sys.executable, [sys.executable, "-m", "gunicorn", "mpet_site.wsgi", *arguments[1:]]
    )
