"""The address of a question, whose answer is computed whenever it is opened: what is asked without an account is
shown and not kept. The same question by curl and by Python."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from django import forms
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from mpet_site.web.middleware import MOST_PARAMETER_CHARACTERS
from mpet_site.web.pages import json_address
from predictor.core.methods import METHODS
from predictor.pages.forms import MOST_NAME_CHARACTERS, PredictionForm
from predictor.predictions.question import DEFAULT_METHOD, PredictionRequest
from predictor.predictions.sliders import NO_EFFECT, slider_request, slider_values
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name, slug_of_label
from profiles.models import Platform, Workload

NAMED_FIELDS: dict[str, Any] = {"workload": Workload, "target": Platform}
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


def question_parameters(form: PredictionForm) -> dict[str, str]:
    """What a filled form says, less what is empty and less the settings of other methods."""
    method = form["method"].value() or DEFAULT_METHOD
    parameters = {}
    for name, field in form.fields.items():
        owner = name.partition(".")[0]
        if owner in METHODS and owner != method:
            continue
        value = form[name].value()
        if isinstance(field, forms.BooleanField):
            if value or field.initial:
                parameters[name] = "true" if value else "false"
        elif value not in (None, ""):
            parameters[name] = str(value)
    return parameters


def question_address(parameters: Mapping[str, str], view: str = "unstored-answer") -> str:
    """The address of the answer to the question."""
    return f"{reverse(view)}?{urlencode(parameters)}"


def in_slugs(query: QueryDict, user: Any) -> QueryDict:
    """The fields of the form with slugs in place of names; a text that stands for nothing stays."""
    given = query.copy()
    for field, model in NAMED_FIELDS.items():
        if 0 < len(text := given.get(field, "").strip()) <= MOST_NAME_CHARACTERS:
            given[field] = slug_of_label(model, user, text) or text
    if 0 < len(text := given.get("references", "").strip()) <= MOST_PARAMETER_CHARACTERS:
        names = [name.strip() for name in text.split(",")]
        given["references"] = ", ".join(slug_of_label(Platform, user, name) or name for name in names if name)
    return given


def show_names(form: PredictionForm, user: Any) -> None:
    """Put names in place of slugs into the fields of the form, as its lists of suggestions have them."""
    values: Any = form.data.copy() if isinstance(form.data, QueryDict) else form.initial
    for field, model in NAMED_FIELDS.items():
        slug = values.get(field)
        for row in disambiguate(model.objects.visible_to(user).filter(slug=slug), user) if slug else ():
            values[field] = disambiguated_name(row)
    if form.is_bound:
        form.data = values


def form_of_question(query: QueryDict, user: Any) -> PredictionForm:
    """The form that `question_parameters` came from; what an address does not say is as the empty form has it."""
    given = in_slugs(query, user)
    given.setdefault("scenario", "migration")
    given.setdefault("method", DEFAULT_METHOD)
    for name, field in PredictionForm().fields.items():
        if isinstance(field, forms.BooleanField) and field.initial:
            given.setdefault(name, "true")
    return PredictionForm(given)


def twin_of_question(question: PredictionRequest) -> str:
    """The address of the same answer as JSON; "" for a question that takes `POST predictions/` to be asked."""
    parameters = {"workload": question.workload, "target": question.target, "method": question.method}
    public = {"public_only": "true"} if question.public_only else {}
    changes = {**(question.workload_changes or {}), **(question.platform_changes or {})}
    parameters |= {name: f"{NO_EFFECT if value is None else value:g}" for name, value in changes.items()}
    defaults = asdict(METHODS[question.method].settings())
    chosen = {name for name, value in question.settings.items() if value != defaults.get(name)}
    if chosen == {"mix_runtimes"}:
        parameters["mix_runtimes"] = str(question.settings["mix_runtimes"])
    asked = replace(question, settings={name: question.settings[name] for name in chosen & {"mix_runtimes"}})
    shown = slider_request(parameters, slider_values(parameters), public_only=question.public_only)
    if chosen - {"mix_runtimes"} or shown != asked:
        return ""
    return json_address("api-prediction-preview", query=urlencode(parameters | public))


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
