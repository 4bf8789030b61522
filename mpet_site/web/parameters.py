"""Query parameters: each says what its values are, to the schema and to the view that reads it.

What is no value is an invalid request. An empty one is as one that is left out.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from mpet_site.web.middleware import MOST_PARAMETER_CHARACTERS
from mpet_site.web.problems import invalid_request

LARGEST_WHOLE_NUMBER = 2**63 - 1  # that a database holds
GIB = 2**30
SLUG_PATTERN = "[-a-zA-Z0-9_]+"
FREE_TEXT: dict[str, Any] = {"type": "string", "maxLength": MOST_PARAMETER_CHARACTERS, "pattern": r"^[^\x00]*$"}
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[-+]?\d{1,30}", re.ASCII)


class NoSuchValue(Exception):
    """The text is no value of the parameter. The message says what is one."""


@dataclass(frozen=True)
class QueryParameter:
    """What its kinds have in common. A kind says the same thrice: to OpenAPI, to a reader, and to `value_of`."""

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
        """The parameter object of OpenAPI."""
        schema = self.schema | ({} if self.default is None else {"default": self.default})
        return {"name": self.name, "in": "query", "required": self.required, "schema": schema} | (
            {"description": self.description} if self.description else {}
        )

    def value_of(self, text: str) -> Any:
        """What the text says. Raises NoSuchValue."""
        raise NotImplementedError

    def takes(self, text: str) -> bool:
        """Whether the text is a value."""
        try:
            self.value_of(text)
        except NoSuchValue:
            return False
        return True

    def read(self, request: Request) -> Any:
        """The value in the request, else the default. Raises InvalidRequest."""
        text = request.query_params.get(self.name, "")
        if not text and not self.required:
            return self.default
        try:
            return self.value_of(text)
        except NoSuchValue as error:
            raise invalid_request(self.name, str(error)) from error


@dataclass(frozen=True)
class Name(QueryParameter):
    """Any text but an empty one."""

    pattern: str = r"[^\x00]+"
    explanation = "Needed: a slug or a name."

    @property
    def schema(self) -> dict[str, Any]:
        return {**FREE_TEXT, "minLength": 1, "pattern": f"^{self.pattern}$"}

    def value_of(self, text: str) -> str:
        """
        >>> Slug("a").value_of("laptop-2")
        'laptop-2'
        """
        if not re.fullmatch(self.pattern, text):
            raise NoSuchValue(self.explanation)
        return text


@dataclass(frozen=True)
class Slug(Name):
    pattern: str = SLUG_PATTERN
    explanation = "Needed: a slug."


@dataclass(frozen=True)
class Slugs(QueryParameter):
    """From `fewest` to `most` words with commas between. `value_of` gives the list."""

    pattern: str = SLUG_PATTERN
    fewest: int = 1
    most: int = 1

    @property
    def explanation(self) -> str:
        return f"{self.fewest} to {self.most} slugs with commas between."

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self.list_pattern}$"}

    @property
    def list_pattern(self) -> str:
        return f"(?:{self.pattern})(?:,(?:{self.pattern})){{{self.fewest - 1},{self.most - 1}}}"

    def value_of(self, text: str) -> list[str]:
        """
        >>> Slugs("slugs", fewest=2, most=3).value_of("laptop,i9")
        ['laptop', 'i9']
        """
        if not re.fullmatch(self.list_pattern, text):
            raise NoSuchValue(self.explanation)
        return text.split(",")


@dataclass(frozen=True)
class Names(Slugs):
    """The same of slugs or names. A name that holds a comma can only be given by its slug."""

    pattern: str = r"[^,\x00]+"

    @property
    def explanation(self) -> str:
        return f"{self.fewest} to {self.most} slugs or names with commas between."

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
    """From `low` to `high`."""

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
        """
        >>> WholeNumber("page", low=1).value_of("12")
        12
        """
        if not _WHOLE_NUMBER.fullmatch(text) or not self.low <= int(text) <= self.high:
            raise NoSuchValue(self.explanation)
        return int(text)


@dataclass(frozen=True)
class Number(QueryParameter):
    """From `low` to `high`."""

    low: float = 0.0
    high: float = 0.0

    @property
    def explanation(self) -> str:
        return f"A number from {self.low:g} to {self.high:g}."

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "number", "format": "double", "minimum": self.low, "maximum": self.high}

    def value_of(self, text: str) -> float:
        """
        >>> Number("level", low=0.5, high=0.99).value_of("9e-1")
        0.9
        """
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not self.low <= value <= self.high:
            raise NoSuchValue(self.explanation)
        return value


def described(*parameters: QueryParameter) -> list[OpenApiParameter]:
    """The parameters for `extend_schema`."""
    return [
        OpenApiParameter(p.name, p.schema, required=p.required, description=p.description, default=p.default)
        for p in parameters
    ]
