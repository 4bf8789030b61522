"""The kinds of values that answers of the API are made of."""

from typing import Any

from rest_framework import serializers

Text = serializers.CharField
Integer = serializers.IntegerField


def number(**options: Any) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, **options)


def numbers(**options: Any) -> Any:
    return serializers.ListField(child=number(), **options)


class PlainNumber(serializers.FloatField):
    """A JSON number as it came: 8 stays an int, "8" and true are none."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return data
