"""The address of a question, whose answer is computed whenever it is opened: what is asked without an account is
shown and not kept."""

from __future__ import annotations

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
from predictor.predictions.request import DEFAULT_METHOD, PredictionRequest
from predictor.predictions.sliders import NO_EFFECT, slider_request, slider_values
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name, slug_of_label
from profiles.models import Platform, Workload

NAMED_FIELDS: dict[str, Any] = {"workload": Workload, "target": Platform}


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
