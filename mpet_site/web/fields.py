"""The kinds of values that the API reads and writes. It reads what JSON has: "8" and true are no numbers."""

import math
from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from mpet_site.web.problems import InvalidRequest

LARGEST_NUMBER = 10**18  # that is read: sums and products of what is read stay finite

Text = serializers.CharField
Integer = serializers.IntegerField


def number(**options: Any) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, **options)


def numbers(**options: Any) -> Any:
    return serializers.ListField(child=number(), **options)


class PlainNumber(serializers.FloatField):
    """A JSON number as it came: 8 stays an int."""

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


class _AsSent(serializers.Field):
    """Of form data: an empty text is one, not a field that was left out."""

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.get(self.field_name, serializers.empty)


class FormText(_AsSent, serializers.CharField):
    pass


class FormChoice(_AsSent, serializers.ChoiceField):
    pass


class FormBoolean(_AsSent, serializers.BooleanField):
    """Form data has texts only: as JSON writes it."""

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
    """Refuses fields that it has not."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(self.initial_data) - set(self.fields))
        if unknown:
            raise InvalidRequest([{"name": name, "reason": "No such field."} for name in unknown])
        return attrs
