"""What drf-spectacular cannot infer: the one shape of errors, and that CSV is text."""

from typing import Any

from mpet_site.web.problems import MEDIA_TYPE

PROBLEM = {
    "type": "object",
    "description": "RFC 9457 problem document; some problems have further members.",
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "Of an invalid request: each parameter or field, and what is wrong with it.",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "reason": {"type": "string"}},
                "required": ["name", "reason"],
            },
        },
    },
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": True,
}


def operations(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in result["paths"].values() for operation in path.values()]


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM
    answer = {"description": "Any error", "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for operation in operations(result):
        operation["responses"]["default"] = answer
    return result


def describe_csv(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    for operation in operations(result):
        for response in operation["responses"].values():
            if "text/csv" in response.get("content", {}):
                response["content"]["text/csv"] = {"schema": {"type": "string"}}
    return result
