"""A parameter takes what its schema says, and nothing else."""

import jsonschema
import pytest
from django.test import RequestFactory
from rest_framework.request import Request

from mpet_site.web.parameters import Flag, Name, Number, OneOf, Slug, Slugs, WholeNumber
from mpet_site.web.problems import InvalidRequest

PARAMETERS = {
    "choice": OneOf("x", choices=("measured", "simulated")),
    "flag": Flag("x"),
    "name": Name("x"),
    "number": Number("x", low=0.5, high=0.99),
    "slug": Slug("x"),
    "slugs": Slugs("x", fewest=2, most=3),
    "words": Slugs("x", pattern="usl|amdahl", most=2),
    "whole number": WholeNumber("x", low=1, high=500),
}
TEXTS = {
    "choice": (["measured"], ["Measured", " measured", "measured,simulated", "0"]),
    "flag": (["true", "false"], ["True", "1", "yes", "null", " true"]),
    "name": (["fft", "a b", "1", "ü"], ["a\0b"]),
    "number": (["0.5", "9e-1", "0.99"], ["0.499", "1", "nan", "inf", "-0.5", "0,5", "1_0e-1", "٠.٦", " 0.5", "0x1"]),
    "slug": (["laptop-2", "_"], ["a b", "a/b", "ü", "a,b", "a\n"]),
    "slugs": (["a,b", "a,b,c"], ["a", "a,b,c,d", ",a,b", "a,,b", "a, b", "a,b,"]),
    "words": (["usl", "usl,amdahl"], ["us", "usl,usl,usl", "uslamdahl"]),
    "whole number": (["1", "500", "007"], ["0", "501", "-1", "1.0", "1e2", "٣", "9" * 31, "1 "]),
}
SCHEMA_READS = {"flag": {"true": True, "false": False}, "number": float, "whole number": int}


def read(parameter, query):
    return parameter.read(Request(RequestFactory().get("/", query)))


@pytest.mark.parametrize("kind", PARAMETERS)
def test_what_is_no_value_is_an_invalid_request_that_says_what_is_one(kind):
    good, bad = TEXTS[kind]
    for text in good:
        assert PARAMETERS[kind].takes(text), text
    for text in bad:
        with pytest.raises(InvalidRequest) as refusal:
            read(PARAMETERS[kind], {"x": text})
        assert refusal.value.members["errors"] == [{"name": "x", "reason": PARAMETERS[kind].explanation}], text


@pytest.mark.parametrize("kind", PARAMETERS)
def test_the_schema_says_the_same(kind):
    good, bad = TEXTS[kind]
    schema = PARAMETERS[kind].openapi["schema"]
    for text in good:
        reads = SCHEMA_READS.get(kind, str)
        jsonschema.validate(reads[text] if isinstance(reads, dict) else reads(text), schema)
    if kind not in SCHEMA_READS:
        for text in bad:
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(text.replace("\n", " "), schema)  # Python's $ lets a line end, OpenAPI's does not


def test_an_empty_value_is_as_one_that_is_left_out():
    for kind, parameter in PARAMETERS.items():
        assert read(parameter, {"x": ""}) is None, kind
        assert read(parameter, {}) is None, kind
    assert read(WholeNumber("x", default=50, low=1), {"x": ""}) == 50


@pytest.mark.parametrize("query", [{}, {"x": ""}])
def test_a_required_one_is_missed(query):
    with pytest.raises(InvalidRequest):
        read(Slug("x", required=True), query)
