"""Hooks for schemathesis (test_contract.py) that replace random names in requests by names of existing rows.

Random names and ids would never exist in the database. A value that is not a name (wrong type, empty, too long) is left
unchanged. Valid requests are changed to satisfy the relations between fields that a schema cannot express (`profile` or
`points`). A case at the bounds of a parameter is not repeated with other values of the other parameters.

MPET_CONTRACT_NAMES is the path of a file: {"platforms": [slugs], "profiles": [ids],
"programs": [{"id": ..., "slug": ...}], "settings": {method: defaults}, ...}.
MPET_CONTRACT_ANSWERS is the path of a file to write: {operation: {status: number of responses}}.
"""

import atexit
import json
import os
import re
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

NAMES: dict[str, Any] = json.loads(Path(os.environ["MPET_CONTRACT_NAMES"]).read_text())
OF_PATH = re.compile(r"^/api/v1/(?P<kind>[a-z-]+)/\{(?P<parameter>\w+)\}(/|$)")
OF_PAIR = re.compile(r"^/api/v1/(distances|compare)/(?P<kind>platforms|workloads)/$")
OF_NAME = {"workload": "workloads", "target": "platforms", "platform": "platforms", "on": "platforms"}
LONGEST_NAME = 200
ANSWERS: defaultdict[str, Counter] = defaultdict(Counter)
ASKED: set[str] = set()
CREATED: set[str] = set()  # names in responses to POST, which are not replaced in later requests


def row(kind: str, drawn: Any, other_than: str = "") -> Any:
    """Return a name of that kind. The same drawn value gives the same name."""
    names = [name for name in NAMES[kind] if name != other_than]
    return names[number(drawn) % len(names)]


def number(drawn: Any) -> int:
    return zlib.crc32(repr(drawn).encode(errors="replace"))


def is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and "\0" not in value


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Replace the names in cases at the bounds of parameters, and drop cases that become equal to former ones."""
    if not is_at_bounds(case):
        return True
    name_rows(case)
    question = repr(what_is_asked(case))
    is_new = question not in ASKED
    ASKED.add(question)
    return is_new


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    if not is_at_bounds(case):
        name_rows(case)


def is_at_bounds(case: Any) -> bool:
    return case.meta is not None and case.meta.phase.name == TestPhase.COVERAGE


def what_is_asked(case: Any) -> tuple[Any, ...]:
    """Return the key by which cases are compared: the wrong query parameter alone if there is one, else the request."""
    asked, bound, mode = (case.operation.label, case.method), case.meta.phase.data, case.meta.generation.mode
    if mode.is_negative and bound.parameter_location == ParameterLocation.QUERY:
        what = bound.parameter or bound.description
        return *asked, bound.scenario, what, (case.query or {}).get(what)
    return *asked, mode, case.path_parameters, case.query, case.headers, case.cookies, case.media_type, case.body


def name_rows(case: Any) -> None:
    is_valid = case.meta is None or not case.meta.generation.mode.is_negative
    name_in_path(case, is_valid)
    name_in_query(case, is_valid)
    if isinstance(case.body, dict):
        name_in_body(case.body)
        if is_valid:
            RELATIONS.get(case.path, lambda body, case: None)(case.body, case)
            if "file" in case.body:
                # A second validation would fail, because the bytes of a file are not a string.
                case._sync_validated_hashes()


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    if response.request.method == case.operation.method.upper():  # schemathesis also tries undocumented methods
        ANSWERS[case.operation.label][response.status_code] += 1
    if case.method == "POST" and response.status_code in {201, 202}:
        CREATED.update(re.split(r'["/]', response.text))  # names as values or in addresses


@atexit.register
def write_answers() -> None:
    Path(os.environ["MPET_CONTRACT_ANSWERS"]).write_text(json.dumps(ANSWERS))


def name_in_path(case: Any, is_valid: bool) -> None:
    found = OF_PATH.match(case.path)
    if found is None or not case.path_parameters or found["kind"] == "kit":  # an architecture is not a row
        return
    drawn = case.path_parameters.get(found["parameter"])
    if drawn in CREATED:
        return
    if found["kind"] == "programs":
        if is_valid:
            case.path_parameters |= row("programs", drawn)
        return
    if is_valid or re.fullmatch("[-a-zA-Z0-9_]+", str(drawn)):
        end = "claim" if case.path.endswith("/claim/") else case.method.lower()
        doomed = f"{found['kind']} to {end}"
        case.path_parameters[found["parameter"]] = row(doomed if doomed in NAMES else found["kind"], drawn)


def name_in_query(case: Any, is_valid: bool) -> None:
    query, pair = case.query or {}, OF_PAIR.match(case.path)
    for name, drawn in list(query.items()):
        kind = pair["kind"] if pair and name in {"a", "b", "slugs"} else OF_NAME.get(name)
        if kind is None or not (is_valid or is_name(drawn)) or not drawn:
            continue
        first = row(kind, drawn)
        query[name] = f"{first},{row(kind, drawn, first)}" if name == "slugs" else first
    if is_valid:
        relate_query(case.path, query)
    if is_valid and "level" in query and "level" not in NAMES["settings"].get(query.get("method") or "mpet", {}):
        query["method"] = "mpet"
    if is_valid and case.path.endswith("/preview/"):
        keep_order(query, 0)


def relate_query(path: str, query: dict[str, Any]) -> None:
    """Make the parameters of a query consistent with each other."""
    if path.endswith("/possible/"):
        if query.get("strategy") or query.get("scenario") == "parallelisation":
            query |= {"strategy": "dynamic_loop", "scenario": "parallelisation"}
        if {"mix_runtimes", "scenario"} & set(query):
            query["target"] = query.get("target") or NAMES["platforms"][0]
    if query.get("mix_runtimes"):
        query["method"] = "mpet2020"
        query.pop("level", None)


def keep_order(values: dict[str, Any], none: Any) -> None:
    """Choose n_nu and n_ht so that n_nu < n_ht, because SMT threads are used last.

    This also holds if only one of them is given and the other is the platform's (4 and 8 in this database).
    """
    for name, least in (("n_nu", 1), ("n_ht", 8)):
        if values.get(name) not in (None, "", none):
            values[name] = least + int(values[name]) % 3


def name_in_body(body: dict[str, Any]) -> None:
    for name, kind in OF_NAME.items():
        if is_name(body.get(name)):
            body[name] = row(kind, body[name])
    if isinstance(body.get("profile"), str) and len(body["profile"]) == 36:
        body["profile"] = row("profiles", body["profile"])
    for name, kind in (("references", "platforms"), ("targets", "platforms"), ("workloads", "workloads")):
        if isinstance(body.get(name), list):
            body[name] = [row(kind, drawn) if is_name(drawn) else drawn for drawn in body[name]]


def relate_settings(body: dict[str, Any]) -> None:
    """Replace the settings by defaults of the method, and remove unknown ones."""
    known = NAMES["settings"][body.get("method") or "mpet"]
    if body.get("settings"):
        body["settings"] = {name: known[name] for name in body["settings"] if name in known}


def relate_batch(body: dict[str, Any], _case: Any) -> None:
    """Remove `estimate` for methods without estimates."""
    relate_settings(body)
    if body.get("method") not in ("mpet", None):
        body.pop("estimate", None)


def relate_prediction(body: dict[str, Any], _case: Any) -> None:
    """Keep only the strategy and the changes that the scenario accepts."""
    relate_settings(body)
    if body.get("scenario") == "parallelisation":
        body["strategy"] = "dynamic_loop"
    else:
        body.pop("strategy", None)
    if body.get("scenario") == "sequential":
        for name in ("n", "workload_changes", "platform_changes"):
            body.pop(name, None)
    if isinstance(body.get("platform_changes"), dict):
        keep_order(body["platform_changes"], None)


def relate_fit(body: dict[str, Any], case: Any) -> None:
    """Keep either a profile or points, with the columns and settings of the model."""
    model = NAMES["models"][case.path_parameters["name"]]
    if body.get("points") or "size" in model["needed"]:  # no profile in the database has runs of several sizes
        body.pop("profile", None)
        body["points"] = body.get("points") or [
            {"n": n, "size": size, "time_s": 1 / n} for n in (1, 2) for size in (4, 8)
        ]
    elif not body.get("profile"):
        body["profile"] = NAMES["profiles"][0]
    if body.get("settings"):
        body["settings"] = {name: value for name, value in model["settings"].items() if name in body["settings"]}
    columns = {*model["needed"], *model["optional"]} - {"n"}
    for points, names in (("points", columns | set(model["measures"])), ("predict", columns)):
        for point in body.get(points, ()):
            point |= {name: 1 + number(point) % 100 for name in sorted(names) if point.get(name) is None}
            point |= {name: abs(point[name]) for name in model["measures"] if name in point}
            if "size" in model["needed"]:
                point["size"] = 2 + abs(point["size"])  # the models take its logarithm


def say_public(body: dict[str, Any], _case: Any) -> None:
    body["visibility"] = "public"


def relate_upload(body: dict[str, Any], _case: Any) -> None:
    """Make the fields of an upload consistent.

    Platform and columns are only allowed with a form (for files of other tools), and the platform only once. Several
    files need a form, and it is not "auto", because no tool can be recognised from random bytes.
    """
    is_several = isinstance(body.get("file"), list) and len(body["file"]) > 1
    if body.get("form") == "auto" or (is_several and "form" not in body):
        body["form"] = "csv"
    if "platform" in body or "form" not in body:
        body.pop("platform_json", None)
    if "form" not in body:
        body.pop("platform", None)
    if "columns" in body:
        body.pop("columns")
        body |= {"columns": {"n": "Threads"}} if "form" in body else {}


def name_login(body: dict[str, Any], _case: Any) -> None:
    body["device_code"] = row("device codes", body["device_code"])


def name_region(body: dict[str, Any], _case: Any) -> None:
    drawn = body.get("labels")
    body["labels"] = {row("regions", drawn): f"region {number(drawn)}"}


RELATIONS = {
    "/api/v1/login/token/": name_login,
    "/api/v1/programs/{id}/{slug}/": name_region,
    "/api/v1/quarantine/": relate_upload,
    "/api/v1/uploads/": relate_upload,
    "/api/v1/uploads/{id}/": say_public,
    "/api/v1/predictions/": relate_prediction,
    "/api/v1/predictions/batch/": relate_batch,
    "/api/v1/scaling-models/{name}/": relate_fit,
}
