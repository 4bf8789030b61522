"""Additions to the schema that drf-spectacular cannot infer: problem documents, response headers and CSV as text."""

from typing import Any

from mpet_site.web.parameters import SLUG_PATTERN
from mpet_site.web.problems import MEDIA_TYPE

PROBLEM = {
    "type": "object",
    "description": "Problem document (RFC 9457). Some problems have additional members.",
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "request_id": {"type": "string", "description": "ID of the request in the log and in the header X-Request-ID."},
        "errors": {
            "type": "array",
            "description": "For an invalid request: each invalid parameter or field, and the reason.",
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
TEXT = {"type": "string"}
HEADERS: dict[str, dict[str, Any]] = {
    "Allow": {"required": True, "schema": TEXT},
    "Cache-Control": {"required": True, "schema": TEXT},
    "ETag": {"description": "Value for If-None-Match.", "schema": {"type": "string", "pattern": '^W/"[0-9a-f]+"$'}},
    "Location": {"required": True, "schema": {"type": "string", "format": "uri"}},
    "Retry-After": {
        "description": "Number of seconds to wait.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"required": True, "schema": {"type": "string", "pattern": "^Bearer"}},
}
PROBLEMS = {
    "400": ("InvalidRequest", "A parameter or a field is unknown or has an invalid value. `errors` lists all of them."),
    "401": ("Unauthorised", "A token is required, or the token is unknown, expired or revoked."),
    "403": (
        "Forbidden",
        "The scope of the token does not allow this request, or the CSRF token of a session is missing.",
    ),
    "404": ("NotFound", "The object does not exist, or you may not read it."),
    "405": ("MethodNotAllowed", "The path does not support this method."),
    "406": ("NotAcceptable", "The response is not available in a format that `Accept` lists."),
    "409": ("Conflict", "The request conflicts with the current state. `detail` gives the reason."),
    "413": ("PayloadTooLarge", "The body is larger than `limit_bytes`."),
    "415": ("UnsupportedMediaType", "The media type of the body is not supported."),
    "422": ("NoPrediction", "Too few measurements for a prediction: `found` of `needed`."),
    "429": ("TooManyRequests", "Too many requests."),
    "500": ("ServerError", "Internal server error."),
    "503": ("Busy", "The server is busy. Repeat the request later."),
}
HEADER_OF_PROBLEM = {"401": "WWW-Authenticate", "405": "Allow", "429": "Retry-After", "503": "Retry-After"}
ALWAYS = ("400", "401", "405", "406", "429", "500", "503")
OF_WRITING = {"post": ("403", "413", "415"), "patch": ("403", "413", "415"), "delete": ("403",)}
NOT_MODIFIED = "NotModified"


def operations(result: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the path, method and operation of each operation in the schema."""
    return [(path, method, item) for path, methods in result["paths"].items() for method, item in methods.items()]


def headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the error statuses to every operation: those of all operations, those of its method, and those its view
    declares."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, (name, text) in PROBLEMS.items():
        named = headers("Cache-Control", *filter(None, [HEADER_OF_PROBLEM.get(status)]))
        answer = {"description": text, "headers": named, "content": content}
        components.setdefault("responses", {})[name] = answer
    for path, method, operation in operations(result):
        responses = operation["responses"]
        names = {parameter["name"] for parameter in operation.get("parameters", ())}
        own = OF_WRITING.get(method, ())
        missing = ("404",) if "{" in path or "page" in names else ()
        declared = [status for status in responses if status in PROBLEMS]
        for status in {*ALWAYS, *own, *missing, *declared}:
            responses[status] = {"$ref": f"#/components/responses/{PROBLEMS[status][0]}"}
        operation["responses"] = dict(sorted(responses.items()))
    return result


def add_headers(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add response headers: ETag and 304 for GET, Location for created objects, Retry-After for pending
    computations."""
    unchanged = {"description": "The version in `If-None-Match` is current.", "headers": headers("ETag")}
    result.setdefault("components", {}).update(headers=HEADERS, responses={NOT_MODIFIED: unchanged})
    for _path, method, operation in operations(result):
        responses = operation["responses"]
        if method == "get":
            responses["200"]["headers"] = headers("ETag", "Cache-Control")
            responses["304"] = {"$ref": f"#/components/responses/{NOT_MODIFIED}"}
            if "202" in responses:
                responses["202"]["headers"] = headers("Retry-After", "Cache-Control")
        for status in {"201", "202"} & set(responses) if method == "post" else ():
            responses[status]["headers"] = headers("Location")
    return result


def close_requests(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Make request bodies required, and forbid unknown fields in them."""
    schemas = result["components"]["schemas"]
    for _path, _method, operation in operations(result):
        if "requestBody" in operation:
            operation["requestBody"]["required"] = True
            for content in operation["requestBody"]["content"].values():
                schemas[content["schema"]["$ref"].rpartition("/")[2]]["additionalProperties"] = False
    return result


def describe_parameters(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the pattern of slugs in paths, and allow empty values of optional query parameters."""
    for _path, _method, operation in operations(result):
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path" and parameter["name"] == "slug":
                parameter["schema"] |= {"pattern": f"^{SLUG_PATTERN}$"}
            if parameter["in"] == "query" and not parameter.get("required"):
                parameter["allowEmptyValue"] = True
    return result


def describe_csv(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Describe CSV as text. The state of a computation (202) is always JSON, also where CSV was requested."""
    for _path, _method, operation in operations(result):
        for status, response in operation["responses"].items():
            if "text/csv" in response.get("content", {}):
                response["content"]["text/csv"] = {"schema": {"type": "string"}}
                if status == "202":
                    del response["content"]["text/csv"]
    return result
