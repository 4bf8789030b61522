"""The form of a prediction, and how it becomes a request."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any, Literal

from django import forms

from mpet_site.web.middleware import MOST_PARAMETER_CHARACTERS
from predictor.core.methods import METHODS
from predictor.core.scenarios.scenario import CHARACTERISTICS, NO_PARALLEL_STRATEGY, PLATFORM_CHANGES
from predictor.predictions.feasibility import finished_sentence
from predictor.predictions.question import (
    DEFAULT_METHOD,
    InvalidSettings,
    PredictionRequest,
)
from predictor.predictions.sliders import HELP, title_of
from profiles.measurements import STRATEGIES

SCENARIO_CHOICES = (
    ("migration", "Time and scaling: a parallel workload on another machine"),
    ("sequential", "t(1) alone: one thread, also from profiles that have no more"),
    ("scaling", "Scaling alone: speedup and efficiency, whatever one thread takes"),
    ("parallelisation", "Parallelisation: a sequential workload, made parallel by a strategy"),
)
STRATEGY_CHOICES = [
    (strategy, strategy.replace("_", " ")) for strategy in STRATEGIES if strategy not in NO_PARALLEL_STRATEGY
]
NO_EFFECT_WORD = "none"
MOST_NAME_CHARACTERS = 200  # as many as a slug or a name has at most
MOST_DIGITS = 10


def change_field(name: str) -> forms.Field:
    """A factor on a characteristic of the workload, or another value of the platform. Empty: as it is."""
    label, help_text = title_of(name), HELP[name]
    if name in ("n_nu", "n_ht"):
        return CountOrNone(
            label=label,
            required=False,
            max_length=MOST_DIGITS,
            help_text=f"{help_text}; “{NO_EFFECT_WORD}” where there is no such effect",
        )
    if name == "n_max":
        return forms.IntegerField(label=label, required=False, help_text=help_text)
    attributes = {"step": "any", "placeholder": "MHz" if name == "base_mhz" else "× 1"}
    return forms.FloatField(
        label=label, required=False, help_text=help_text, widget=forms.NumberInput(attrs=attributes)
    )


class CountOrNone(forms.CharField):
    """A thread count, or the word none."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value).strip().lower()
        if text in ("", NO_EFFECT_WORD):
            return text
        if not (text.isascii() and text.isdigit()):
            raise forms.ValidationError(f"A whole number of threads, or “{NO_EFFECT_WORD}”.")
        return int(text)


def setting_field(kind: Any, default: Any) -> forms.Field:
    """A field for one setting of a method. Left empty, it takes the method's default."""
    if kind is bool:
        return forms.BooleanField(required=False, initial=default)
    if typing.get_origin(kind) is Literal:
        choices = [(value, value) for value in typing.get_args(kind)]
        return forms.ChoiceField(choices=choices, required=False, initial=default)
    number = {int: forms.IntegerField, float: forms.FloatField}.get(kind)
    widget = forms.NumberInput(attrs={"placeholder": str(default), "step": "any" if kind is float else 1})
    if number:
        return number(required=False, widget=widget)
    return forms.CharField(required=False, max_length=MOST_NAME_CHARACTERS)


class PredictionForm(forms.Form):
    """Which workload, on which platform, by which method; one group of fields more for each method's settings."""

    workload = forms.CharField(
        max_length=MOST_NAME_CHARACTERS, widget=forms.TextInput(attrs={"list": "workloads", "autocomplete": "off"})
    )
    target = forms.CharField(
        label="Target machine",
        max_length=MOST_NAME_CHARACTERS,
        widget=forms.TextInput(attrs={"list": "platforms", "autocomplete": "off"}),
        help_text="The machine to predict for; nobody needs to have run the workload there.",
    )
    method = forms.ChoiceField(choices=[(name, name) for name in METHODS], initial=DEFAULT_METHOD)
    references = forms.CharField(
        label="Reference machines",
        required=False,
        max_length=MOST_PARAMETER_CHARACTERS,
        help_text="Names with commas between; empty: every machine that has the workload.",
    )
    n = forms.CharField(
        label="Thread counts",
        required=False,
        max_length=MOST_PARAMETER_CHARACTERS,
        help_text="For example 1, 2, 4, 8; empty: all that the target has.",
    )
    include_simulated = forms.BooleanField(label="Use simulated profiles too", required=False)
    public_only = forms.BooleanField(
        label="Public data only",
        required=False,
        help_text="Nothing of your own private data takes part, so that everybody may read the answer.",
    )
    scenario = forms.ChoiceField(
        label="What to predict", choices=SCENARIO_CHOICES, initial="migration", required=False, widget=forms.RadioSelect
    )
    strategy = forms.ChoiceField(
        label="Parallel strategy",
        choices=[("", "–"), *STRATEGY_CHOICES],
        required=False,
        help_text="How it would be made parallel: benchmarks of this strategy say how that scales on the target.",
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
        """(method, what it does in a line, the fields of its settings)."""
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
        if not all(word.isascii() and word.isdigit() for word in words):
            raise forms.ValidationError("Whole numbers with commas between, such as 1, 2, 4.")
        return [int(word) for word in words] or None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("scenario") == "parallelisation" and not cleaned.get("strategy"):
            self.add_error("strategy", "Choose the strategy by which it would be made parallel.")
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
            workload=cleaned["workload"].strip(),
            target=cleaned["target"].strip(),
            references=cleaned["references"],
            method=cleaned["method"],
            n=cleaned["n"],
            settings=settings,
            include_simulated=cleaned["include_simulated"],
            public_only=cleaned["public_only"],
            scenario=scenario,
            strategy=(cleaned["strategy"] or None) if scenario == "parallelisation" else None,
            workload_changes=self.changes("workload_changes", CHARACTERISTICS),
            platform_changes=self.changes("platform_changes", PLATFORM_CHANGES),
        )

    def changes(self, field: str, names: Sequence[str]) -> dict[str, Any] | None:
        """The changes that were filled in; the word none becomes None."""
        given = {name: self.cleaned_data[f"{field}.{name}"] for name in names}
        return {
            name: None if value == NO_EFFECT_WORD else value for name, value in given.items() if value not in (None, "")
        } or None

    def refuse(self, error: InvalidSettings) -> None:
        """Say what is wrong at the field that it is about."""
        setting = f"{self.cleaned_data['method']}.{error.name}"
        field = next((name for name in (setting, error.name) if name in self.fields), None)
        self.add_error(field, finished_sentence(str(error)))
