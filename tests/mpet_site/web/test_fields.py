"""Fields that are read take what JSON has for them, and nothing that looks like it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from mpet_site.web.fields import (
    LARGEST_NUMBER,
    PlainBoolean,
    PlainInteger,
    PlainNumber,
    PlainText,
    fields_of,
    serializer_of,
)

TAKEN = {
    PlainBoolean: [True, False],
    PlainInteger: [0, -3, 2**40],
    PlainNumber: [0, 8, -0.5, 1e17],
    PlainText: ["fft", "a b"],
}
OTHER = {
    PlainBoolean: [1, 0, "true", "false", "yes", None],
    PlainInteger: ["8", 8.0, True, 1.5],
    PlainNumber: ["8", True, "nan", 2 * LARGEST_NUMBER, 10**400, float("inf"), float("nan")],
    PlainText: [5, True, 1.5, ["a"], "a\0b", ""],
}


@pytest.mark.parametrize("kind", TAKEN)
def test_only_the_type_itself_is_taken(kind):
    for value in TAKEN[kind]:
        assert kind().run_validation(value) is value
    for value in OTHER[kind]:
        with pytest.raises(ValidationError):
            kind().run_validation(value)


class LineDocument(TypedDict):
    n: Annotated[int, "threads"]
    seconds: float
    state: Annotated[str | None, ("open", "closed")]
    kind: NotRequired[Literal["a", "b"]]


class WholeDocument(TypedDict):
    lines: list[LineDocument]
    first: Annotated[LineDocument | None, "null: there is none"]
    names: list[str]
    values: dict[str, float]
    settings: dict[str, Any]


def test_annotations_of_a_document_are_the_fields_of_its_schema():
    fields = fields_of(LineDocument)
    assert {name: type(field).__name__ for name, field in fields.items()} == {
        "n": "IntegerField",
        "seconds": "FloatField",
        "state": "ChoiceField",
        "kind": "ChoiceField",
    }
    assert fields["n"].help_text == "threads"
    # A float that is invalid is null in JSON.
    assert {name for name, field in fields.items() if field.allow_null} == {"seconds", "state"}
    assert [name for name, field in fields.items() if not field.required] == ["kind"]
    assert (list(fields["state"].choices), list(fields["kind"].choices)) == (["open", "closed"], ["a", "b"])


def test_documents_in_a_document_are_one_part_of_the_schema():
    fields = fields_of(WholeDocument)
    assert type(fields["lines"].child) is type(fields["first"]) is serializer_of(LineDocument)
    assert serializer_of(LineDocument).__name__ == "Line"
    assert (fields["first"].allow_null, fields["first"].help_text) == (True, "null: there is none")
    assert type(fields["names"].child).__name__ == "CharField"
    assert type(fields["values"].child).__name__ == "FloatField"
    assert type(fields["settings"].child).__name__ == "_UnvalidatedField"


def test_a_sequence_is_a_list_and_a_mapping_an_object():
    @dataclass(frozen=True)
    class Rows:
        names: Sequence[str]
        lines: Sequence[LineDocument]
        settings: Mapping[str, int]

    kinds = {name: (type(field).__name__, type(field.child)) for name, field in fields_of(Rows).items()}
    assert kinds == {
        "names": ("ListField", serializers.CharField),
        "lines": ("ListSerializer", serializer_of(LineDocument)),
        "settings": ("DictField", serializers.IntegerField),
    }
