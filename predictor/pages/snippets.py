"""What a reader can run to get a page's answer without the page: the same question by curl and by Python."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping
from typing import Any

QUESTION = ("workload", "target", "references", "method", "n", "settings", "include_simulated")
SCENARIO = ("scenario", "strategy", "workload_changes", "platform_changes")
WIDTH = 96

PYTHON = """\
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


def question_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `POST predictions/` that asks what this answers; what is left at its default stays out.

    >>> question_of({"workload": "a", "target": "t", "method": "mpet", "n": None, "scenario": "migration", "t1_s": 1.0})
    {'workload': 'a', 'target': 't', 'method': 'mpet'}
    """
    asked = {name: answer[name] for name in (*QUESTION, *SCENARIO) if answer.get(name)}
    if asked.get("scenario") == "migration":
        del asked["scenario"]
    return asked


def curl(answer: Mapping[str, Any], address: str) -> str:
    """A command that asks the API at `address` the same question, with the token of $MPET_TOKEN."""
    return " \\\n  ".join(
        (
            f"curl {shlex.quote(address)}",
            '-H "Authorization: Bearer $MPET_TOKEN" -H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(question_of(answer)))}",
        )
    )


def python(answer: Mapping[str, Any], address: str) -> str:
    """The same as a program that needs nothing but Python, and prints n, time, low and high."""
    question = pprint.pformat(question_of(answer), width=WIDTH, sort_dicts=False)
    return PYTHON.format(question=question, address=address)
