"""Mutated requests, made from a seed and a number. The same seed and number always give the same bytes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import yaml

from lab.hostile.archives import fresh_files, mutated_tarball, tarball_of
from lab.hostile.values import WORDS, change_document, hostile_cell, hostile_json
from tests.paths import ROOT

API = "/api/v1/"
BOUNDARY = "mpet-hostile-boundary"
PAGE_PARAMETERS = {
    "": ("workload", "target"),
    "platforms/": ("search", "ordering", "page", "vendor", "architecture", "device_class", "origin"),
    "workloads/": ("search", "ordering", "page", "strategy", "bound", "application", "runtime"),
    "profiles/": ("search", "ordering", "page", "platform", "workload", "origin", "decomposed"),
    "platforms/{platform}/": ("page", "show"),
    "workloads/{workload}/": ("page", "show"),
    "profiles/{profile}/": ("budget",),
    "profiles/{profile}/beyond/": ("model", "to"),
    "predict/": ("workload", "target", "method", "scenario", "strategy", "references", "n"),
    "predict/possible/": ("workload", "target", "method", "scenario", "strategy", "references", "n"),
    "what-if/": ("workload", "target", "method", "n_max", "n_nu", "n_ht", "base_mhz", "work", "memory", "lock_delay"),
    "what-if/answer/": ("workload", "target", "method", "n_max", "n_nu", "n_ht", "base_mhz", "work", "redundancy"),
    "ranking/": ("workload", "method", "mix_runtimes", "include_simulated", "device_class", "vendor", "page"),
    "maps/workloads/": ("mark", "origin", "include_simulated"),
    "distances/platforms/": ("near", "origin", "include_simulated", "page"),
    "distances/workloads/": ("near", "origin", "include_simulated", "page"),
    "compare/platforms/": ("slugs", "origin", "workload"),
    "compare/workloads/": ("slugs", "on", "show", "origin"),
    "accuracy/": ("origin", "page"),
    "settled/": ("origin", "ordering", "page"),
    "glossary/": ("page",),
    "predictions/{prediction}/": ("show",),
}


@dataclass(frozen=True)
class Sent:
    """One request. If `signed`, it is sent with the token of a user who may upload, or with that user's session."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = ""
    signed: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mutation:
    """A mutated request. `family` is the kind of the mutation, and `done` describes what was changed."""

    number: int
    family: str
    done: str
    sent: Sent

    def __str__(self) -> str:
        return f"{self.number} ({self.family}: {self.done})"


@dataclass
class Known:
    """Names in the database, so that mutated requests refer to existing rows."""

    platforms: list[str]
    workloads: list[str]
    profiles: list[str]
    predictions: list[str]


def mutation(seed: int, number: int, known: Known) -> Mutation:
    """Return the mutation of a seed and a number. The same known names give the same request."""
    rng = random.Random(f"{seed}:{number}")
    family = rng.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    detail, done, sent = KINDS[family][1](rng, known)
    return Mutation(number, detail or family, done, sent)


Made = tuple[str, str, Sent]


def upload(rng: random.Random, known: Known) -> Made:
    """Return a mutated tarball in a valid request."""
    family, done, content = mutated_tarball(rng)
    visibility = rng.choice(("public", "public", "public", "private"))
    body = form([("visibility", None, visibility.encode()), ("file", "results.tar.gz", content)])
    return f"tarball: {family}", done, Sent("POST", f"{API}uploads/", body, form_type(), True)


def upload_form(rng: random.Random, known: Known) -> Made:
    """Return a good tarball in an invalid request."""
    good = tarball_of(fresh_files(rng))
    kind = rng.choice(list(FORMS))
    body, content_type = FORMS[kind](rng, good)
    page = rng.random() < 0.3
    return "", kind, Sent("POST", "/upload/" if page else f"{API}uploads/", body, content_type, rng.random() < 0.9)


def form(parts: list[tuple[str, str | None, bytes]]) -> bytes:
    """Encode multipart form data. Each part is (name, file name or None, content)."""
    pieces = []
    for name, filename, content in parts:
        file = "" if filename is None else f'; filename="{filename}"'
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
        pieces.append(head.encode(errors="surrogatepass") + content + b"\r\n")
    return b"".join(pieces) + f"--{BOUNDARY}--\r\n".encode()


def form_type(boundary: str = BOUNDARY) -> str:
    return f"multipart/form-data; boundary={boundary}"


def _visibility_form(rng: random.Random, good: bytes) -> tuple[bytes, str]:
    words = ("", " ", "Public", "PUBLIC", "public ", "privat", "all", "true", "1", "null", "public,private", *WORDS)
    parts = [("visibility", None, rng.choice(words).encode(errors="surrogatepass"))]
    if rng.random() < 0.3:
        parts *= 2
        parts[1] = ("visibility", None, rng.choice((b"public", b"private")))
    return form([*parts, ("file", "results.tar.gz", good)]), form_type()


def _torn_form(rng: random.Random, good: bytes) -> tuple[bytes, str]:
    body = form([("file", "results.tar.gz", good)])
    cut = body[: rng.randrange(len(body))]
    return rng.choice((cut, body.replace(b"\r\n", b"\n"), b"\r\n" + body, body * 2)), form_type()


def _odd_type(rng: random.Random, good: bytes) -> tuple[bytes, str]:
    types = (
        "", "application/gzip", "application/json", "text/plain", "application/x-www-form-urlencoded",
        "multipart/form-data", form_type(""), form_type("x" * 300), form_type("other"), "multipart/mixed; boundary=a",
        "multipart/form-data; charset=utf-7; boundary=" + BOUNDARY, "\xff",
    )  # fmt: skip
    return rng.choice((good, form([("file", "a.tar.gz", good)]), b"{}", b"")), rng.choice(types)


def _field_form(rng: random.Random, good: bytes) -> tuple[bytes, str]:
    names = ("fil", "files[]", "upload", "owner", "status", "csrfmiddlewaretoken", *WORDS)
    parts = [
        (rng.choice(names).replace('"', "").replace("\n", ""), None, b"x") for _ in range(rng.choice((1, 5, 2000)))
    ]
    return form([*parts, ("file", "results.tar.gz", good)]), form_type()


FORMS: dict[str, Callable[[random.Random, bytes], tuple[bytes, str]]] = {
    "no file": lambda rng, good: (form([("visibility", None, b"public")]), form_type()),
    "file as text": lambda rng, good: (form([("file", None, good)]), form_type()),
    "two files": lambda rng, good: (form([("file", "a.tar.gz", good), ("file", "b.tar.gz", good[:-9])]), form_type()),
    "empty file": lambda rng, good: (form([("file", "results.tar.gz", b"")]), form_type()),
    "file name": lambda rng, good: (
        form([("file", rng.choice(("", "../../x", "a\\b\\c.tar.gz", "x" * 5000, "\x00", "é\u202e", ".")), good)]),
        form_type(),
    ),
    "visibility": _visibility_form,
    "visibility again": _visibility_form,
    "torn": _torn_form,
    "content type": _odd_type,
    "fields": _field_form,
    "nothing": lambda rng, good: (b"", form_type()),
}


def prediction(rng: random.Random, known: Known) -> Made:
    """Return a prediction request with mutated values."""
    question: dict[str, Any] = {
        "workload": rng.choice(known.workloads),
        "target": rng.choice(known.platforms),
        "references": rng.choice((None, rng.sample(known.platforms, min(3, len(known.platforms))))),
        "method": rng.choice(("mpet", "mpet2020")),
        "n": rng.choice((None, [1, 2, 4])),
        "settings": {},
        "scenario": rng.choice(("migration", "sequential", "scaling", "parallelisation")),
        "strategy": rng.choice((None, "dynamic_loop")),
        "workload_changes": {"work": 2.0, "lock_delay": 0.5, "memory": 1.0},
        "platform_changes": {"n_max": 24, "n_nu": None, "base_mhz": 2000.0},
        "include_simulated": True,
    }
    for name in rng.sample(list(question), rng.randrange(0, 9)):
        del question[name]
    if rng.random() < 0.05:
        done, text = "whole", hostile_json(rng)
    else:
        done, text = change_document(rng, question)
    content_type = rng.choice(("application/json",) * 12 + ("text/plain", "application/json; charset=utf-16", ""))
    body = text.encode(errors="surrogatepass")
    return "", done, Sent("POST", f"{API}predictions/", body, content_type, rng.random() < 0.95)


def page_form(rng: random.Random, known: Known) -> Made:
    """Return a mutated prediction form, as sent from the page."""
    fields = {"workload": rng.choice(known.workloads), "target": rng.choice(known.platforms), "method": "mpet"}
    names = ("n", "references", "scenario", "strategy", "workload_changes.work", "platform_changes.n_max", "mpet.k")
    fields |= {name: hostile_cell(rng) for name in rng.sample((*names, "workload", "target", "method"), 2)}
    body = urlencode(fields, errors="replace").encode()
    return "", str(fields)[:60], Sent("POST", "/predict/", body, "application/x-www-form-urlencoded", True)


@cache
def api_operations() -> tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]:
    """Return method, path, query parameters and required query parameters of each operation in the published schema."""
    schema = yaml.load((ROOT / "docs" / "openapi.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found = []
    for path, operations in sorted(schema["paths"].items()):
        for method in sorted({"get", "post", "put", "patch", "delete"} & set(operations)):
            asked = [one for one in operations[method].get("parameters", ()) if one["in"] == "query"]
            required = tuple(one["name"] for one in asked if one.get("required"))
            found.append((method, path, tuple(one["name"] for one in asked), required))
    return tuple(found)


def published_paths() -> list[tuple[str, tuple[str, ...]]]:
    """Return the paths that have a GET operation, with the query parameters that each requires."""
    return [(path, required) for method, path, _, required in api_operations() if method == "get"]


def api_query(rng: random.Random, known: Known) -> Made:
    """Return a request to an API path with mutated parameters, sometimes with another HTTP method."""
    _, path, names, _ = rng.choice(api_operations())
    address = re.sub(r"\{(\w+)\}", lambda found: _argument(rng, path, found[1], known), path)
    query = _query(rng, [*names, "format", "page"], known)
    method = rng.choice(("GET",) * 12 + ("HEAD", "OPTIONS", "PUT", "PATCH", "TRACE"))
    headers = {"Accept": rng.choice(("*/*", "application/json", "text/csv", "text/html", "x", "*/*;q=nan"))}
    return (
        "",
        f"{method} {path}?{query}"[:90],
        Sent(method, f"{address}?{query}", signed=rng.random() < 0.3, headers=headers),
    )


def page_query(rng: random.Random, known: Known) -> Made:
    """Return a request for a page with mutated parameters."""
    path, names = rng.choice(list(PAGE_PARAMETERS.items()))
    address = re.sub(r"\{(\w+)\}", lambda found: _argument(rng, path, found[1], known), path)
    query = _query(rng, list(names), known)
    method = rng.choice(("GET",) * 15 + ("HEAD", "OPTIONS", "POST"))
    return "", f"{method} /{path}?{query}"[:90], Sent(method, f"/{address}?{query}", signed=rng.random() < 0.3)


def _argument(rng: random.Random, path: str, name: str, known: Known) -> str:
    """Return a value for a path parameter, usually the name of an existing row."""
    if rng.random() < 0.15:
        return quote(hostile_cell(rng)[:300].encode(errors="replace"), safe="") or "x"
    kind = next((kind for kind in ("platform", "workload", "profile", "prediction") if name == kind), "")
    kind = kind or next((kind for kind in ("platform", "workload", "profile", "prediction") if f"{kind}s/" in path), "")
    choices = getattr(known, f"{kind}s", []) if kind else ["amdahl", "usl", "automatic"]
    return quote(str(rng.choice(choices))) if choices else "00000000-0000-4000-8000-000000000000"


def _query(rng: random.Random, names: list[str], known: Known) -> str:
    """Return a query string with good values for most parameters and hostile values for one or two.

    Sometimes a parameter occurs twice or is unknown.
    """
    chosen = rng.sample(names, rng.randint(1, min(4, len(names))))
    pairs = [(name, _good_value(rng, name, known)) for name in chosen]
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice((*names, *names, "unknown"))
        pairs.append((name, _hostile_value(rng, name)))
    if rng.random() < 0.8:
        pairs = list(dict(pairs).items())
    return urlencode(pairs, errors="replace", encoding="utf-8")


def _hostile_value(rng: random.Random, name: str) -> str:
    if name == "search" and rng.random() < 0.5:
        return " ".join("a" for _ in range(rng.choice((11, 100, 2000))))
    if rng.random() < 0.1:
        return ",".join(hostile_cell(rng)[:20] for _ in range(rng.choice((3, 100))))
    return hostile_cell(rng)


def _good_value(rng: random.Random, name: str, known: Known) -> str:
    if name in ("workload", "on") or (name in ("a", "b", "slugs", "near", "mark") and rng.random() < 0.5):
        return ",".join(rng.sample(known.workloads, 2)) if name == "slugs" else rng.choice(known.workloads)
    if name in ("target", "platform", "a", "b", "slugs", "near", "mark"):
        return ",".join(rng.sample(known.platforms, 2)) if name == "slugs" else rng.choice(known.platforms)
    good = {
        "format": "json", "page": "1", "page_size": "5", "origin": "simulated", "include_simulated": "true",
        "method": "mpet", "scenario": "migration", "search": "a", "ordering": "name", "level": "full", "to": "64",
        "n_max": "24", "base_mhz": "2000", "n_nu": "4", "n_ht": "8",
    }  # fmt: skip
    return good.get(name, "1")


def other_body(rng: random.Random, known: Known) -> Made:
    """Return a request with an unexpected body to an operation other than GET."""
    method, path, _, _ = rng.choice([one for one in api_operations() if one[0] != "get"])
    address = re.sub(r"\{(\w+)\}", lambda found: _argument(rng, path, found[1], known), path)
    text = rng.choice((hostile_json(rng), json.dumps({"name": hostile_cell(rng), "scope": hostile_cell(rng)}), ""))
    body = text.encode(errors="surrogatepass")
    return "", f"{method} {path} {text[:30]}", Sent(method.upper(), address, body, "application/json", True)


KINDS: dict[str, tuple[int, Callable[[random.Random, Known], Made]]] = {
    "upload": (60, upload),
    "upload form": (7, upload_form),
    "prediction": (10, prediction),
    "prediction form": (3, page_form),
    "API query": (10, api_query),
    "page query": (8, page_query),
    "other body": (2, other_body),
}
