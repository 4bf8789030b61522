"""What a reader can run to get a page's answer without the page: the same question by curl and by Python."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping
from typing import Any

REQUEST_FIELDS = ("workload", "target", "references", "method", "n", "settings", "include_simulated", "public_only")
SCENARIO_FIELDS = ("scenario", "strategy", "workload_changes", "platform_changes")
WIDTH = 96

PYTHON_TEMPLATE = """\
import json
import os
import urllib.request

question = {question}
request = urllib.request.Request(
    {address!r},
    data=json.dumps(question).encode(),
    headers={{"Authorization": "Bearer " + os.environ["MPET_TOKEN"], "Content-Type": "application/json"}},
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
for point in answer["curve"]:
    print(point["n"], point["time_s"], point["low_s"], point["high_s"])
"""


def request_body(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `POST predictions/` that asks what this answers; what is left at its default stays out.

    >>> request_body({"workload": "a", "target": "t", "method": "mpet", "n": None, "scenario": "migration"})
    {'workload': 'a', 'target': 't', 'method': 'mpet'}
    """
    body = {name: answer[name] for name in (*REQUEST_FIELDS, *SCENARIO_FIELDS) if answer.get(name)}
    if body.get("scenario") == "migration":
        del body["scenario"]
    return body


def curl_command(answer: Mapping[str, Any], address: str) -> str:
    """A command that asks the API at `address` the same question, with the token of $MPET_TOKEN."""
    return " \\\n  ".join(
        (
            f"curl {shlex.quote(address)}",
            '-H "Authorization: Bearer $MPET_TOKEN" -H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(request_body(answer)))}",
        )
    )


def python_program(answer: Mapping[str, Any], address: str) -> str:
    """A program that asks the same question, needs nothing but Python and prints n, time, low and high."""
    question = pprint.pformat(request_body(answer), width=WIDTH, sort_dicts=False)
    return PYTHON_TEMPLATE.format(question=question, address=address)
