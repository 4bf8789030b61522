"""The form of a prediction, its conversion to a request, and the URL of its question, which is answered on each visit.

Answers for users without an account are shown but not stored. The page also shows the question as a curl command and as
a Python program.
"""

from __future__ import annotations

import json
import pprint
import shlex
import typing
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

from django import forms
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from mpet_site.web.middleware import MOST_PARAMETER_CHARACTERS
from mpet_site.web.pages import json_address
from predictor.core.methods import METHODS
from predictor.core.scenarios.scenario import CHARACTERISTICS, NO_PARALLEL_STRATEGY, PLATFORM_CHANGES
from predictor.predictions.feasibility import finished_sentence
from predictor.predictions.question import DEFAULT_METHOD, InvalidSettings, PredictionRequest
from predictor.predictions.sliders import HELP, NO_EFFECT, slider_request, slider_values, title_of
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name, slug_of_label
from profiles.measurements import STRATEGIES
from profiles.models import Platform, Workload

SCENARIO_CHOICES = (
    ("migration", "Time and scaling: a parallel workload on another machine"),
    ("sequential", "t(1) alone: one thread; single-thread profiles can be used too"),
    ("scaling", "Scaling alone: speedup and efficiency, with times relative to t(1)"),
    ("parallelisation", "Parallelisation: a sequential workload, parallelised with a strategy"),
)
STRATEGY_CHOICES = [
    (strategy, strategy.replace("_", " ")) for strategy in STRATEGIES if strategy not in NO_PARALLEL_STRATEGY
]
NO_EFFECT_WORD = "none"
MOST_NAME_CHARACTERS = 200  # maximum length of slugs and names
MOST_DIGITS = 10
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


def change_field(name: str) -> forms.Field:
    """Return a field for a factor on a characteristic of the workload or for a new value of the platform.

    An empty field changes nothing.
    """
    label, help_text = title_of(name), HELP[name]
    if name in ("n_nu", "n_ht"):
        return CountOrNone(
            label=label,
            required=False,
            max_length=MOST_DIGITS,
            help_text=f"{help_text}; “{NO_EFFECT_WORD}” if there is no such effect",
        )
    if name == "n_max":
        return forms.IntegerField(label=label, required=False, help_text=help_text)
    attributes = {"step": "any", "placeholder": "MHz" if name == "base_mhz" else "× 1"}
    return forms.FloatField(
        label=label, required=False, help_text=help_text, widget=forms.NumberInput(attrs=attributes)
    )


class CountOrNone(forms.CharField):
    """A field for a thread count or the word "none"."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value).strip().lower()
        if text in ("", NO_EFFECT_WORD):
            return text
        if not (text.isascii() and text.isdigit()):
            raise forms.ValidationError(f"“{text}” is not a whole number of threads or “{NO_EFFECT_WORD}”.")
        return int(text)


def setting_field(kind: Any, default: Any) -> forms.Field:
    """Return a field for one setting of a method. An empty field means the method's default."""
    if typing.get_origin(kind) is Literal:
        choices = [(value, value) for value in typing.get_args(kind)]
        return forms.ChoiceField(choices=choices, required=False, initial=default)
    number, step = (forms.FloatField, "any") if kind is float else (forms.IntegerField, 1)
    return number(required=False, widget=forms.NumberInput(attrs={"placeholder": str(default), "step": step}))


class PredictionForm(forms.Form):
    """A form for the workload, the platform and the method of a prediction, with one group of fields per method's
    settings."""

    workload = forms.CharField(
        max_length=MOST_NAME_CHARACTERS, widget=forms.TextInput(attrs={"list": "workloads", "autocomplete": "off"})
    )
    target = forms.CharField(
        label="Target machine",
        max_length=MOST_NAME_CHARACTERS,
        widget=forms.TextInput(attrs={"list": "platforms", "autocomplete": "off"}),
        help_text="The machine to predict for; the workload need not be measured there.",
    )
    method = forms.ChoiceField(choices=[(name, name) for name in METHODS], initial=DEFAULT_METHOD)
    references = forms.CharField(
        label="Reference machines",
        required=False,
        max_length=MOST_PARAMETER_CHARACTERS,
        help_text="Names separated by commas; empty: all machines with the workload.",
    )
    n = forms.CharField(
        label="Thread counts",
        required=False,
        max_length=MOST_PARAMETER_CHARACTERS,
        help_text="For example 1, 2, 4, 8; empty: all thread counts of the target.",
    )
    include_simulated = forms.BooleanField(label="Include simulated profiles", required=False)
    public_only = forms.BooleanField(
        label="Public data only",
        required=False,
        help_text="Your private data are not used, so that everybody may read the answer.",
    )
    scenario = forms.ChoiceField(
        label="What to predict", choices=SCENARIO_CHOICES, initial="migration", required=False, widget=forms.RadioSelect
    )
    strategy = forms.ChoiceField(
        label="Parallel strategy",
        choices=[("", "–"), *STRATEGY_CHOICES],
        required=False,
        help_text="How to parallelise it: benchmarks with this strategy determine the scaling on the target.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in CHARACTERISTICS:
            self.fields[f"workload_changes.{name}"] = change_field(name)
        for name in PLATFORM_CHANGES:
            self.fields[f"platform_changes.{name}"] = change_field(name)
        for method in METHODS.values():
            defaults = method.settings()
            for name, kind in typing.get_type_hints(method.settings).items():
                field = setting_field(kind, getattr(defaults, name))
                field.label = name.replace("_", " ")
                self.fields[f"{method.name}.{name}"] = field

    def settings_by_method(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        """Return tuples of a method's name, its one-line summary, and the fields of its settings."""
        return [
            (method.name, method.summary, [self[f"{method.name}.{name}"] for name in hints])
            for method in METHODS.values()
            if (hints := typing.get_type_hints(method.settings))
        ]

    def workload_change_fields(self) -> list[forms.BoundField]:
        return [self[f"workload_changes.{name}"] for name in CHARACTERISTICS]

    def platform_change_fields(self) -> list[forms.BoundField]:
        return [self[f"platform_changes.{name}"] for name in PLATFORM_CHANGES]

    def clean_references(self) -> list[str] | None:
        return [name.strip() for name in self.cleaned_data["references"].split(",") if name.strip()] or None

    def clean_n(self) -> list[int] | None:
        words = self.cleaned_data["n"].replace(",", " ").split()
        for word in words:
            if not (word.isascii() and word.isdigit()):
                raise forms.ValidationError(f"“{word}” is not a whole number. Separate numbers by commas: 1, 2, 4.")
        return [int(word) for word in words] or None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("scenario") == "parallelisation" and not cleaned.get("strategy"):
            self.add_error("strategy", "Choose the strategy of the parallelisation.")
        return cleaned

    def prediction_request(self) -> PredictionRequest:
        cleaned = self.cleaned_data
        prefix = f"{cleaned['method']}."
        settings = {
            name.removeprefix(prefix): value
            for name, value in cleaned.items()
            if name.startswith(prefix) and value not in (None, "")
        }
        scenario = cleaned["scenario"] or "migration"
        return PredictionRequest(
            **{name: cleaned[name] for name in ("references", "method", "n", "include_simulated", "public_only")},
            workload=cleaned["workload"].strip(),
            target=cleaned["target"].strip(),
            settings=settings,
            scenario=scenario,
            strategy=(cleaned["strategy"] or None) if scenario == "parallelisation" else None,
            workload_changes=self.changes("workload_changes", CHARACTERISTICS),
            platform_changes=self.changes("platform_changes", PLATFORM_CHANGES),
        )

    def changes(self, field: str, names: Sequence[str]) -> dict[str, Any] | None:
        """Return the changes that were filled in, with None for the word "none", or None if there are no changes."""
        given = {name: self.cleaned_data[f"{field}.{name}"] for name in names}
        return {
            name: None if value == NO_EFFECT_WORD else value for name, value in given.items() if value not in (None, "")
        } or None

    def refuse(self, error: InvalidSettings) -> None:
        """Add the error to the field that it is about."""
        setting = f"{self.cleaned_data['method']}.{error.name}"
        field = next((name for name in (setting, error.name) if name in self.fields), None)
        self.add_error(field, finished_sentence(str(error)))


def question_parameters(form: PredictionForm) -> dict[str, str]:
    """Return the values of a filled form without empty values and without the settings of other methods."""
    method = form["method"].value() or DEFAULT_METHOD
    parameters = {}
    for name, field in form.fields.items():
        owner = name.partition(".")[0]
        if owner in METHODS and owner != method:
            continue
        value = form[name].value()
        if isinstance(field, forms.BooleanField):
            if value:
                parameters[name] = "true"
        elif value not in (None, ""):
            parameters[name] = str(value)
    return parameters


def question_address(parameters: Mapping[str, str], view: str = "unstored-answer") -> str:
    """Return the URL of the answer to the question."""
    return f"{reverse(view)}?{urlencode(parameters)}"


def in_slugs(query: QueryDict, user: Any) -> QueryDict:
    """Return the form's fields with slugs instead of names. Texts that match no name are kept."""
    given = query.copy()
    for field, model in NAMED_FIELDS.items():
        if 0 < len(text := given.get(field, "").strip()) <= MOST_NAME_CHARACTERS:
            given[field] = slug_of_label(model, user, text) or text
    if 0 < len(text := given.get("references", "").strip()) <= MOST_PARAMETER_CHARACTERS:
        names = [name.strip() for name in text.split(",")]
        given["references"] = ", ".join(slug_of_label(Platform, user, name) or name for name in names if name)
    return given


def show_names(form: PredictionForm, user: Any) -> None:
    """Replace slugs in the fields of the form by the names in its suggestions."""
    values: Any = form.data.copy() if isinstance(form.data, QueryDict) else form.initial
    for field, model in NAMED_FIELDS.items():
        slug = values.get(field)
        for row in disambiguate(model.objects.visible_to(user).filter(slug=slug), user) if slug else ():
            values[field] = disambiguated_name(row)
    if form.is_bound:
        form.data = values


def form_of_question(query: QueryDict, user: Any) -> PredictionForm:
    """Return the form for the result of `question_parameters`. Missing parameters get the values of the empty form."""
    given = in_slugs(query, user)
    given.setdefault("scenario", "migration")
    given.setdefault("method", DEFAULT_METHOD)
    return PredictionForm(given)


def twin_of_question(question: PredictionRequest) -> str:
    """Return the URL of the same answer as JSON, or "" if the question can only be sent with `POST predictions/`."""
    parameters = {"workload": question.workload, "target": question.target, "method": question.method}
    public = {"public_only": "true"} if question.public_only else {}
    changes = {**(question.workload_changes or {}), **(question.platform_changes or {})}
    parameters |= {name: f"{NO_EFFECT if value is None else value:g}" for name, value in changes.items()}
    defaults = asdict(METHODS[question.method].settings())
    chosen = {name for name, value in question.settings.items() if value != defaults.get(name)}
    if chosen == {"mix_runtimes"}:
        parameters["mix_runtimes"] = str(question.settings["mix_runtimes"])
    base = replace(question, settings={name: question.settings[name] for name in chosen & {"mix_runtimes"}})
    shown = slider_request(parameters, slider_values(parameters), public_only=question.public_only)
    if chosen - {"mix_runtimes"} or shown != base:
        return ""
    return json_address("api-prediction-preview", query=urlencode(parameters | public))


def request_body(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of `POST predictions/` for the question of this answer, without default values.

    >>> request_body({"workload": "a", "target": "t", "method": "mpet", "n": None, "scenario": "migration"})
    {'workload': 'a', 'target': 't', 'method': 'mpet'}
    """
    body = {name: answer[name] for name in (*REQUEST_FIELDS, *SCENARIO_FIELDS) if answer.get(name)}
    if body.get("scenario") == "migration":
        del body["scenario"]
    return body


def curl_command(answer: Mapping[str, Any], address: str) -> str:
    """Return a command that sends the same question to the API at `address` with the token in $MPET_TOKEN."""
    return " \\\n  ".join(
        (
            f"curl {shlex.quote(address)}",
            '-H "Authorization: Bearer $MPET_TOKEN" -H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(request_body(answer)))}",
        )
    )


def python_program(answer: Mapping[str, Any], address: str) -> str:
    """Return a Python program that sends the same question and prints n, time, low and high.

    It needs only the standard library.
    """
    question = pprint.pformat(request_body(answer), width=WIDTH, sort_dicts=False)
    return PYTHON_TEMPLATE.format(question=question, address=address)
