"""Processor time and full table scans of every page, API list, periodic task, dump and command on a given database.

Full scans are counted on tables of more than LARGE_ROWS rows. `python -m lab.performance.fleet --walk` runs the walk
(docs/scale-pages.md).
"""

from __future__ import annotations

import io
import json
import resource
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.paths import ROOT

LARGE_ROWS = 100_000
SECONDS = 600  # limit of a command's processor time
WALKS = ("pages", "chores", "commands")
NOT_WALKED = {  # command -> reason
    "accuracy_tables": "reads datasets, not the database",
    "api_token": "writes one row",
    "case_study": "reads a dataset",
    "choose_try_workloads": "as evaluate",
    "db_worker": "does not end",
    "encrypt_second_factors": "rows of users",
    "evaluate_ablation": "as evaluate",
    "evaluate_advice": "as evaluate",
    "evaluate_bridge": "as evaluate",
    "evaluate_parallelisation": "needs decomposed profiles",
    "evaluate_what_if": "as evaluate",
    "fetch_data": "measured by itself",
    "import_dataset": "measured by itself",
    "import_measurements": "an upload, which is measured by itself",
    "import_prices": "rows of prices",
    "import_results": "an upload, which is measured by itself",
    "load_demo": "an upload, which is measured by itself",
    "migrate": "changes tables, each once",
    "paper_figures": "reads a dataset",
    "publish_dump": "the chore `public dump`",
    "restore": "needs a backup, and replaces the database",
}


def walk(environment: dict[str, str], seconds: int = SECONDS, walks: tuple[str, ...] = WALKS) -> str:
    """Return the tables for the database of `environment` as Markdown.

    All pages share one process, all periodic tasks share another, and each command has its own.
    """
    rows: list[dict[str, Any]] = []
    if "pages" in walks:
        rows += _in_a_process("pages", [], environment, seconds=10 * seconds)
    if "chores" in walks:
        rows += _in_a_process("chores", [], environment, seconds=10 * seconds)
    if "commands" in walks:
        with tempfile.TemporaryDirectory(prefix="mpet-walk-") as folder:
            asked = _in_a_process("pair", [], environment, seconds)[0]
            for command in commands(Path(folder), asked["workload"], asked["target"]):
                rows += _in_a_process("command", command, environment, seconds)
    return "".join(tables(rows))


def commands(folder: Path, workload: str, target: str) -> Iterator[list[str]]:
    """Yield the commands that read the whole database, with their arguments.

    Commands that would compute for hours use a sample.
    """
    yield ["doctor"]
    yield ["export", str(folder / "parquet")]
    yield ["backup", str(folder / "backup.tar.gz")]
    yield ["apply_retention"]
    yield ["refit", "--stale"]
    yield ["predict", "--workload", workload, "--target", target]
    yield ["rank_everything", str(folder), "--workloads", workload]
    yield ["all_distances", str(folder), "--of", "workloads"]
    yield ["evaluate", "--method", "mpet", "--sample", "20"]
    yield ["evaluate_scaling", "--database", "--models", "amdahl"]
    yield ["evaluate_programs", "--draws", "2"]
    yield ["find_outliers"]


def _in_a_process(part: str, arguments: list[str], environment: dict[str, str], seconds: int) -> list[dict[str, Any]]:
    code = "import sys; from lab.performance.walk import report; report(sys.argv[1], sys.argv[2:])"
    done = subprocess.run(
        [sys.executable, "-c", code, part, *arguments],
        cwd=ROOT,
        env=environment | {"DJANGO_SETTINGS_MODULE": "research.settings"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
    )
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode == 0:
        return rows
    ended = f"over {seconds} s" if done.returncode in {-signal.SIGXCPU, -signal.SIGKILL} else "failed"
    name = " ".join(arguments[:1]) or f"{part} after these"
    return [*rows, {"kind": part, "name": name, "seconds": ended, "queries": 0, "whole": []}]


def report(part: str, arguments: list[str]) -> None:
    import django  # noqa: PLC0415  the settings depend on the folder that the caller made

    django.setup()
    walked = {"pages": walk_pages, "chores": walk_chores, "command": walk_command, "pair": walk_pair}[part]
    # Each row is flushed, so that the rows so far are kept if the process is killed.
    for row in walked(*arguments):
        sys.stdout.write(f"\n{json.dumps(row)}\n")
        sys.stdout.flush()


def walk_pair() -> Iterator[dict[str, str]]:
    profile = _walked_profile()
    yield {"workload": profile.workload.slug, "target": profile.platform.slug}


def _walked_profile() -> Any:
    """Return the profile with the most thread counts on the platform with the most profiles."""
    from django.db.models import Count  # noqa: PLC0415

    from profiles.models import Profile  # noqa: PLC0415

    public = Profile.objects.visible_to(None).order_by()
    platform = public.values("platform").annotate(many=Count("pk")).order_by("-many").values_list("platform")[0][0]
    return public.filter(platform=platform).select_related("platform", "workload").order_by("-n_measured", "pk")[0]


def walk_pages() -> Iterator[dict[str, Any]]:
    """Yield a row for every page and every list of the API, each requested with empty caches.

    A moderator opens what visitors may not see, in a transaction that is rolled back afterwards. Addresses that need a
    request body or a token are left out.
    """
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.core.cache import caches  # noqa: PLC0415
    from django.db import transaction  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415
    from django.urls import reverse  # noqa: PLC0415

    from lab.hostile.answering import addresses_of  # noqa: PLC0415
    from predictor.core.assembly import MEASURED  # noqa: PLC0415
    from predictor.snapshot.building import build_snapshot  # noqa: PLC0415
    from predictor.snapshot.cache import read_database  # noqa: PLC0415

    profile = _walked_profile()
    reverse("home")  # imports the code of all pages
    yield measured_row("snapshot", "built of all rows", lambda: build_snapshot(None, MEASURED))
    read_database()
    visitor, moderator = (Client(headers={"host": "localhost"}, raise_request_exception=False) for _ in range(2))

    def opened(client: Client, address: str) -> int:
        for cache in caches.all():
            cache.clear()
        response: Any = client.get(address, follow=True)
        deque(response.streaming_content if response.streaming else (), maxlen=0)
        asks_for_login = any("/login/" in location for location, _ in response.redirect_chain)
        return HTTPStatus.FORBIDDEN if asks_for_login else int(response.status_code)

    with transaction.atomic():
        moderator.force_login(get_user_model().objects.create_superuser("walk"))
        for address in dict.fromkeys((*addresses_of(profile), *fixed_addresses())):
            for client in (visitor, moderator):
                row = measured_row("page", address.replace("&", " &"), partial(opened, client, address))
                if row["result"] == HTTPStatus.OK or row["error"]:
                    yield row
                    break
        transaction.set_rollback(True)


def fixed_addresses() -> list[str]:
    """Return the addresses of all routes without a parameter, except those of the admin and of accounts."""
    from django.urls import URLPattern, get_resolver  # noqa: PLC0415

    def routes(patterns: Any, before: str = "") -> Iterator[str]:
        for one in patterns:
            route = before + str(one.pattern)
            if isinstance(one, URLPattern):
                yield f"/{route}"
            elif not route.startswith(("admin", "accounts")):
                yield from routes(one.url_patterns, route)

    fixed = dict.fromkeys(
        route for route in routes(get_resolver().url_patterns) if "<" not in route and "^" not in route
    )
    return [*fixed, "/profiles/?search=stress-ng", "/platforms/?page=20", "/api/v1/profiles/?page=1000"]


def walk_chores() -> Iterator[dict[str, Any]]:
    from mpet_site.web.periodic_tasks import registered_periodic_tasks  # noqa: PLC0415
    from profiles.dump.published import publish_dump  # noqa: PLC0415

    for chore in registered_periodic_tasks():
        # The periodic task starts another process for the dump, where queries cannot be captured.
        yield measured_row("chore", chore.name, publish_dump if chore.name == "public dump" else chore.function)


def walk_command(*arguments: str) -> Iterator[dict[str, Any]]:
    from django.core.management import call_command  # noqa: PLC0415

    def called() -> None:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            call_command(*arguments)

    yield measured_row("command", arguments[0], called)


def measured_row(kind: str, name: str, function: Callable[[], Any]) -> dict[str, Any]:
    """Return a row with the processor time of the function and its child processes, and the plans of its queries."""
    from tests.plans import captured_queries  # noqa: PLC0415

    result, error, begun = None, "", _processor_seconds()
    with captured_queries() as queries:
        try:
            result = function()
        except (Exception, SystemExit) as raised:  # failed pages and commands are rows of the table, too
            error = f"{type(raised).__name__}: {str(raised)[:80]}"
    seconds = _processor_seconds() - begun
    found = [one for sql, params in queries.items() if (one := _whole(sql, params))]
    sys.stderr.write(f"{kind} {name}: {seconds:.2f} s, {len(queries)} queries, {len(found)} read whole {error}\n")
    row = {"kind": kind, "name": name, "seconds": seconds, "queries": len(queries), "whole": found, "error": error}
    return row | {"result": result if isinstance(result, int) else None}


def _processor_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _whole(sql: str, params: Any) -> dict[str, Any] | None:
    """Return the plan of a query that scans a large table in full, with its processor time, or None."""
    from django.db import connection  # noqa: PLC0415

    from tests.plans import plan_of, repeated_reads, shortened, whole_reads  # noqa: PLC0415

    if connection.vendor != "sqlite":
        return None
    large = large_tables()
    plan = plan_of(sql, params)
    details, repeated = whole_reads(sql, plan, large), repeated_reads(sql, plan, large)
    if not details:
        return None
    if sql not in _alone:
        begun = _processor_seconds()
        with connection.cursor() as cursor:
            if sql.startswith("SELECT"):
                deque(cursor.execute(sql, params), maxlen=0)
        _alone[sql] = _processor_seconds() - begun
    return {"sql": shortened(sql), "plan": "; ".join(details), "repeated": bool(repeated), "alone": _alone[sql]}


_alone: dict[str, float] = {}  # SQL -> seconds of the query alone
_large: set[str] = set()


def large_tables() -> frozenset[str]:
    """Return the tables of more than LARGE_ROWS rows, which are counted once per process."""
    from django.apps import apps  # noqa: PLC0415

    if not _large:
        models = [model for model in apps.get_models() if model._meta.managed]
        _large.update(
            model._meta.db_table
            for model in models
            if model._default_manager.order_by()[LARGE_ROWS : LARGE_ROWS + 1].exists()
        )
    return frozenset(_large or {""})


def tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of two tables: the times, and the plans that scan a large table in full."""
    yield "| | | processor time (s) | queries | of them read a large table whole |\n|---|---|---|---|---|\n"
    plans: dict[tuple[str, str, bool], list[tuple[str, float]]] = {}
    for row in rows:
        seconds = row["seconds"] if isinstance(row["seconds"], str) else f"{row['seconds']:.3g}"
        error = f" ({row['error']})" if row.get("error") else ""
        yield f"| {row['kind']} | `{row['name']}`{error} | {seconds} | {row['queries']} | {len(row['whole'])} |\n"
        for one in row["whole"]:
            plans.setdefault((one["sql"], one["plan"], one["repeated"]), []).append((row["name"], one["alone"]))
    yield "\n| query | plan | once for each row of another table | alone (s) | of |\n|---|---|---|---|---|\n"
    for (sql, plan, repeated), uses in sorted(plans.items(), key=lambda item: -max(alone for _, alone in item[1])):
        more = f" and {len(uses) - 1} more" if len(uses) > 1 else ""
        alone = max(alone for _, alone in uses)
        yield f"| `{sql}` | {plan} | {'**yes**' if repeated else 'no'} | {alone:.3g} | `{uses[0][0]}`{more} |\n"
