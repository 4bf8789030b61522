"""Serializer fields of the API. Values are read strictly: the text "8" and the boolean true are not numbers.

Responses are documents, which are TypedDicts or dataclasses. The annotations of a document also define the fields of
the schema, so that a new field is declared in one place.
"""

import math
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from django.core.validators import RegexValidator
from django.urls import reverse
from rest_framework import serializers

from mpet_site.web.problems import InvalidRequest

# The largest number that is accepted, so that sums and products of input values stay finite.
LARGEST_NUMBER = 10**18

Text = serializers.CharField
Integer = serializers.IntegerField


class RowUrl(serializers.HyperlinkedIdentityField):
    """The URL of a row. The field of DRF would add the `format` of the request, which only lists have."""

    def get_url(self, obj: Any, view_name: str, request: Any, format: str | None) -> str | None:
        path = reverse(view_name, kwargs={self.lookup_url_kwarg: getattr(obj, self.lookup_field)})
        return None if obj.pk is None else request.build_absolute_uri(path)


row_url = partial(RowUrl, lookup_field="uid", lookup_url_kwarg="id")
number = partial(serializers.FloatField, allow_null=True)  # null for NaN and infinity


def numbers(**options: Any) -> Any:
    return serializers.ListField(child=number(), **options)


KIND_OF_TYPE: dict[Any, Callable[..., serializers.Field]] = {
    str: Text,
    int: Integer,
    float: number,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
}


def fields_of(document: type) -> dict[str, serializers.Field]:
    """Return one field for each annotation of a TypedDict or a dataclass.

    `Annotated` holds the help text or a tuple of choices.

    >>> from dataclasses import make_dataclass
    >>> point = make_dataclass("Point", [("n", Annotated[int, "threads"]), ("time_s", float | None)])
    >>> [(name, type(field).__name__, field.help_text, field.allow_null) for name, field in fields_of(point).items()]
    [('n', 'IntegerField', 'threads', False), ('time_s', 'FloatField', None, True)]
    """
    return {name: _field_of(hint) for name, hint in get_type_hints(document, include_extras=True).items()}


def page_fields(child: Any) -> dict[str, Any]:
    """Return the fields of a page of a list. `child` describes its rows."""
    return {
        "count": Integer(),
        **{name: serializers.URLField(allow_null=True) for name in ("next", "previous")},
        "results": serializers.ListField(child=child),
    }


@cache
def serializer_of(document: type) -> type[serializers.Serializer]:
    """Return the serializer class of a document. The class of `WhyDocument` is named `Why`, as in the schema."""
    return type(document.__name__.removesuffix("Document"), (serializers.Serializer,), fields_of(document))


def _field_of(hint: Any, **options: Any) -> serializers.Field:
    origin, arguments = get_origin(hint), get_args(hint)
    # Unwrap Annotated[..., note], NotRequired[...] and ... | None, and turn them into options of the field.
    while origin in (Annotated, NotRequired, Union, types.UnionType):
        if origin is Annotated:
            options["help_text" if isinstance(arguments[1], str) else "choices"] = arguments[1]
        else:
            options |= {"required": False} if origin is NotRequired else {"allow_null": True}
        hint = arguments[0]
        origin, arguments = get_origin(hint), get_args(hint)
    if "choices" in options or origin is Literal:
        return serializers.ChoiceField(**{"choices": arguments} | options)
    if origin in (dict, Mapping):
        if arguments[1] is not Any:
            options["child"] = _field_of(arguments[1])
        return serializers.DictField(**options)
    if origin in (list, Sequence) and isinstance(arguments[0], type) and arguments[0] not in KIND_OF_TYPE:
        return serializer_of(arguments[0])(many=True, **options)
    if origin in (list, Sequence):
        return serializers.ListField(child=_field_of(arguments[0]), **options)
    return (KIND_OF_TYPE.get(hint) or serializer_of(hint))(**options)


class PlainNumber(serializers.FloatField):
    """A field for a JSON number that keeps its type: 8 stays an int."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": -LARGEST_NUMBER, "max_value": LARGEST_NUMBER} | options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, int | float) or math.isnan(min(data, LARGEST_NUMBER)):
            self.fail("invalid")
        return data


class PlainInteger(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return data


class PlainBoolean(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class PlainChoice(serializers.ChoiceField):
    """A choice. The error for any other value lists the choices."""

    def __init__(self, choices: Any, **options: Any) -> None:
        super().__init__(choices, **options)
        self.error_messages["invalid_choice"] = f'"{{input}}" is not one of: {", ".join(map(str, self.choices))}.'


class _AsSent(serializers.Field):
    """A field of form data that keeps an empty text instead of treating it as a missing field."""

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.get(self.field_name, serializers.empty)


class FormText(_AsSent, serializers.CharField):
    pass


class FormChoice(_AsSent, PlainChoice):
    pass


class FormBoolean(_AsSent, serializers.BooleanField):
    """A boolean in form data, where all values are text: "true" or "false", as in JSON."""

    def to_internal_value(self, data: Any) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid", input=data)
        return bool(data == "true")


class PlainText(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.validators.append(RegexValidator(r"^[^\x00]*$", "Null characters are not allowed."))

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class KnownFieldsSerializer(serializers.Serializer):
    """An object with a fixed set of fields. Unknown fields are rejected."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(self.initial_data) - set(self.fields))
        if unknown:
            raise InvalidRequest([{"name": name, "reason": "No such field."} for name in unknown])
        return attrs
