"""The reader of hyperfine's JSON (`--export-json`) for scans of the thread count (`-P threads 1 8`, `-L threads
1,2,4`)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from benchmarks.formats.collecting import Collected, ForeignFile, spell_parameters, thread_parameter
from profiles.measurements import WorkloadRecord

NAME_LENGTH = 200
BETWEEN_WORDS = re.compile(r"(\W+)")


def read_hyperfine(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    document = collected.document(file)
    results = document.value.get("results") if isinstance(document.value, dict) else None
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        collected.refuse(file, 1, "is not hyperfine JSON: it has no list of results")
    names = _names(results)
    for place, one in enumerate(results):
        line = document.line(["results", place])
        parameters = _parameters(one)
        threads = thread_parameter(parameters)
        if threads is None:
            reason = "no parameter is the thread count: scan one named threads (hyperfine -P threads 1 8 ...)"
            collected.note(file.name, line, reason, "parameter")
            continue
        workload = WorkloadRecord(names[place], input=spell_parameters(parameters, threads))
        times, exit_codes = one.get("times"), one.get("exit_codes")
        if not isinstance(times, list):
            times, exit_codes = [one.get("mean")], None
        for i, time_s in enumerate(times):
            if isinstance(exit_codes, list) and i < len(exit_codes) and exit_codes[i] not in (0, None):
                collected.left_out["runs that ended with a status other than 0"] += 1
            else:
                collected.add(workload, parameters[threads], time_s, file=file, line=line)


def _parameters(one: dict[str, Any]) -> dict[str, Any]:
    parameters = one.get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def _names(results: list[dict[str, Any]]) -> list[str]:
    """Return the command of each result with `{threads}` in place of the thread count, so that the results of one scan
    have the same name."""
    tokens = [BETWEEN_WORDS.split(str(one.get("command", "")).strip()) for one in results]
    commands = defaultdict(list)
    threads = []
    for place, one in enumerate(results):
        parameters = _parameters(one)
        name = thread_parameter(parameters)
        commands[len(tokens[place]), spell_parameters(parameters, name)].append(place)
        threads.append("" if name is None else str(parameters[name]))
    for places in commands.values():
        _mask(tokens, places, threads)
    return ["".join(of_one)[:NAME_LENGTH] for of_one in tokens]


def _mask(tokens: list[list[str]], places: list[int], threads: list[str]) -> None:
    """Replace the tokens that differ between the results, if each of them is the thread count of its result."""
    for i in range(len(tokens[places[0]])):
        column = [tokens[place][i] for place in places]
        if len(set(column)) > 1 and all(tokens[place][i] == threads[place] for place in places):
            for place in places:
                tokens[place][i] = "{threads}"
