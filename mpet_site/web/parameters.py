"""Query parameters. Each kind of parameter defines its values for the schema and for the view that reads it.

An invalid value is an invalid request. An empty value counts as a missing one.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from mpet_site.web.middleware import MOST_PARAMETER_CHARACTERS
from mpet_site.web.problems import invalid_request

LARGEST_WHOLE_NUMBER = 2**63 - 1  # the largest integer of a database
GIB = 2**30
SLUG_PATTERN = "[-a-zA-Z0-9_]+"
FREE_TEXT: dict[str, Any] = {"type": "string", "maxLength": MOST_PARAMETER_CHARACTERS, "pattern": r"^[^\x00]*$"}
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[-+]?\d{1,30}", re.ASCII)


class NoSuchValue(Exception):
    """The text is not a valid value of the parameter. The message explains which values are valid."""


@dataclass(frozen=True)
class QueryParameter:
    """The base class of query parameters. A subclass defines its values three times: as schema, as text and in
    `value_of`."""

    name: str
    description: str = ""
    required: bool = False
    default: Any = None

    @property
    def schema(self) -> dict[str, Any]:
        raise NotImplementedError

    @property
    def explanation(self) -> str:
        raise NotImplementedError

    @property
    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI parameter object."""
        schema = self.schema | ({} if self.default is None else {"default": self.default})
        return {"name": self.name, "in": "query", "required": self.required, "schema": schema} | (
            {"description": self.description} if self.description else {}
        )

    def value_of(self, text: str) -> Any:
        """Return the value of a text. Raise NoSuchValue for an invalid text."""
        raise NotImplementedError

    def takes(self, text: str) -> bool:
        """Return whether the text is a valid value."""
        try:
            self.value_of(text)
        except NoSuchValue:
            return False
        return True

    def read(self, request: Request) -> Any:
        """Return the value in the request, or else the default. Raise InvalidRequest for an invalid value."""
        text = request.query_params.get(self.name, "")
        if not text and not self.required:
            return self.default
        try:
            return self.value_of(text)
        except NoSuchValue as error:
            raise invalid_request(self.name, str(error)) from error


@dataclass(frozen=True)
class Name(QueryParameter):
    """A text that is not empty."""

    pattern: str = r"[^\x00]+"
    explanation = "Required: a slug or a name."

    @property
    def schema(self) -> dict[str, Any]:
        return {**FREE_TEXT, "minLength": 1, "pattern": f"^{self.pattern}$"}

    def value_of(self, text: str) -> str:
        """Return the text if it matches the pattern.

        >>> Slug("a").value_of("laptop-2")
        'laptop-2'
        """
        if not re.fullmatch(self.pattern, text):
            raise NoSuchValue(self.explanation)
        return text


@dataclass(frozen=True)
class Slug(Name):
    pattern: str = SLUG_PATTERN
    explanation = "Required: a slug."


@dataclass(frozen=True)
class Slugs(QueryParameter):
    """A list of `fewest` to `most` slugs, separated by commas."""

    pattern: str = SLUG_PATTERN
    fewest: int = 1
    most: int = 1

    @property
    def explanation(self) -> str:
        return f"{self.fewest} to {self.most} slugs, separated by commas."

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self.list_pattern}$"}

    @property
    def list_pattern(self) -> str:
        return f"(?:{self.pattern})(?:,(?:{self.pattern})){{{self.fewest - 1},{self.most - 1}}}"

    def value_of(self, text: str) -> list[str]:
        """Return the list of slugs.

        >>> Slugs("slugs", fewest=2, most=3).value_of("laptop,i9")
        ['laptop', 'i9']
        """
        if not re.fullmatch(self.list_pattern, text):
            raise NoSuchValue(self.explanation)
        return text.split(",")


@dataclass(frozen=True)
class Names(Slugs):
    """A list of slugs or names. A name that contains a comma can only be given by its slug."""

    pattern: str = r"[^,\x00]+"

    @property
    def explanation(self) -> str:
        return f"{self.fewest} to {self.most} slugs or names, separated by commas."

    @property
    def schema(self) -> dict[str, Any]:
        return {**FREE_TEXT, "pattern": f"^{self.list_pattern}$"}


@dataclass(frozen=True)
class OneOf(QueryParameter):
    choices: tuple[str, ...] = ()

    @property
    def explanation(self) -> str:
        return f"One of: {', '.join(self.choices)}."

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.choices)}

    def value_of(self, text: str) -> str:
        if text not in self.choices:
            raise NoSuchValue(self.explanation)
        return text


@dataclass(frozen=True)
class Flag(QueryParameter):
    explanation = "true or false."

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def value_of(self, text: str) -> bool:
        if text not in {"true", "false"}:
            raise NoSuchValue(self.explanation)
        return text == "true"


@dataclass(frozen=True)
class WholeNumber(QueryParameter):
    """A whole number from `low` to `high`."""

    low: int = 0
    high: int = LARGEST_WHOLE_NUMBER

    @property
    def explanation(self) -> str:
        return f"A whole number from {self.low} to {self.high}."

    @property
    def schema(self) -> dict[str, Any]:
        width = {"format": "int64"} if self.high >= 2**31 else {}
        return {"type": "integer", **width, "minimum": self.low, "maximum": self.high}

    def value_of(self, text: str) -> int:
        """Return the number as an int.

        >>> WholeNumber("page", low=1).value_of("12")
        12
        """
        if not _WHOLE_NUMBER.fullmatch(text) or not self.low <= int(text) <= self.high:
            raise NoSuchValue(self.explanation)
        return int(text)


@dataclass(frozen=True)
class Number(QueryParameter):
    """A number from `low` to `high`."""

    low: float = 0.0
    high: float = 0.0

    @property
    def explanation(self) -> str:
        return f"A number from {self.low:g} to {self.high:g}."

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "number", "format": "double", "minimum": self.low, "maximum": self.high}

    def value_of(self, text: str) -> float:
        """Return the number as a float.

        >>> Number("level", low=0.5, high=0.99).value_of("9e-1")
        0.9
        """
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not self.low <= value <= self.high:
            raise NoSuchValue(self.explanation)
        return value


def described(*parameters: QueryParameter) -> list[OpenApiParameter]:
    """Return the parameters for `extend_schema`."""
    return [
        OpenApiParameter(p.name, p.schema, required=p.required, description=p.description, default=p.default)
        for p in parameters
    ]
