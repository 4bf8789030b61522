"""Filters of lists, on pages and in the API. The `parameter` of a filter describes its valid values."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django_filters.rest_framework import CharFilter, DjangoFilterBackend, NumberFilter, TypedChoiceFilter
from drf_spectacular.utils import set_override
from rest_framework.request import Request

from mpet_site.web.middleware import MOST_PARAMETER_CHARACTERS
from mpet_site.web.parameters import FREE_TEXT, GIB, LARGEST_WHOLE_NUMBER, Flag, Number, OneOf, WholeNumber
from mpet_site.web.problems import InvalidRequest

LARGEST_GIB = 100_000


class TextFilter(CharFilter):
    """A filter by any text. An empty text does not filter."""

    parameter = None

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MOST_PARAMETER_CHARACTERS, **options)
        describe_filter(self, FREE_TEXT)


class ChoiceFilter(TypedChoiceFilter):
    def __init__(self, names: tuple[str, ...], **options: Any) -> None:
        super().__init__(choices=[(name, name) for name in names], **options)
        self.parameter: OneOf | Flag = OneOf("", choices=names)
        describe_filter(self, self.parameter.schema)


class BooleanFilter(ChoiceFilter):
    """A filter by true or false. It rejects other values, which the filter of django-filter ignores."""

    def __init__(self, **options: Any) -> None:
        super().__init__(("true", "false"), coerce=lambda text: text == "true", **options)
        self.parameter = Flag("")
        describe_filter(self, self.parameter.schema)


class WholeNumberFilter(NumberFilter):
    field_class = forms.IntegerField
    parameter = WholeNumber("")

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=LARGEST_WHOLE_NUMBER, **options)
        describe_filter(self, self.parameter.schema)


class GibibyteFilter(NumberFilter):
    """A filter of a column of bytes by a number of GiB."""

    field_class = forms.FloatField
    parameter = Number("", low=0, high=LARGEST_GIB)

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=LARGEST_GIB, **options)
        describe_filter(self, self.parameter.schema)

    def filter(self, qs: QuerySet, value: float | None) -> Any:
        return super().filter(qs, value if value is None else round(value * GIB))


def describe_filter(chosen: Any, schema: dict[str, Any]) -> None:
    text = chosen.extra.get("help_text")
    set_override(chosen, "field", schema | ({"description": text} if text else {}))


def filter_refusals(filterset_class: Any, parameters: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the name and the reason for each query parameter that is not a valid value of its filter."""
    return [
        {"name": name, "reason": kind.parameter.explanation}
        for name, kind in filterset_class.base_filters.items()
        if kind.parameter and (text := parameters.get(name)) and not kind.parameter.takes(text)
    ]


class StrictFilterBackend(DjangoFilterBackend):
    """A filter backend that rejects invalid values with the same messages as other query parameters."""

    def filter_queryset(self, request: Request, queryset: QuerySet, view: Any) -> Any:
        if refusals := filter_refusals(view.filterset_class, request.query_params):
            raise InvalidRequest(refusals)
        return super().filter_queryset(request, queryset, view)
