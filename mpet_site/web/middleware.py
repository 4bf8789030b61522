"""Middleware for all requests: compression, content security policy, allowed methods, bounds of parameters and bodies,
and rate limits."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from mpet_site.web.etags import PRIVATE
from mpet_site.web.parsers import MULTIPART_FRAME_BYTES, check_length
from mpet_site.web.problems import PayloadTooLarge, invalid_request, problem_response
from mpet_site.web.throttling import too_many_requests, wait_of_request

# All content comes from this server. Plotly writes style attributes into its drawings, so styles need 'unsafe-inline'.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'self'",
        " ".join(("form-action 'self'", *settings.SIGN_IN_ORIGINS)),
        "frame-ancestors 'none'",
    )
)
# Browser features that no page uses, and that injected code may not use either.
DENIED = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb", "browsing-topics")
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in DENIED)
API_PREFIX = "/api/"
SUPERVISED_PATHS = ("/healthz", "/metrics")
PAGE_METHODS = ("GET", "HEAD", "OPTIONS", "POST")
# Names and slugs are shorter, and the comparison of six platforms has six of them in one parameter.
MOST_PARAMETER_CHARACTERS = 2_000


def is_api(request: HttpRequest) -> bool:
    """Return whether the request is for the API, where errors are problem documents instead of pages."""
    return request.path_info.startswith(API_PREFIX)


def is_page(request: HttpRequest) -> bool:
    """Return whether the request is for a page, not for the API, a health check or a static file."""
    path = request.path_info
    return not (is_api(request) or path in SUPERVISED_PATHS or path.startswith(settings.STATIC_URL))


class PageCompressionMiddleware(GZipMiddleware):
    """Middleware that only compresses HTML pages. Most files are archives, and responses of the API may be streamed."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_html = response.headers.get("Content-Type", "").startswith("text/html")
        return super().process_response(request, response) if is_html else response


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Middleware that sets the policy headers of every response, unless the view has set them."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response


class PrivateAnswersMiddleware(MiddlewareMixin):
    """Middleware that forbids caching of responses to users who are signed in by session or token.

    These responses may be private. A view that sets Cache-Control itself has only public responses.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        cookie = settings.SESSION_COOKIE_NAME
        if cookie in request.COOKIES or cookie in response.cookies or "Authorization" in request.headers:
            response.headers.setdefault("Cache-Control", PRIVATE)
        return response


class PageRateMiddleware(MiddlewareMixin):
    """Middleware that limits the rate of page requests.

    The rates are those of the API, but pages are counted separately, so that a program's requests do not block a
    browser.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if is_page(request) and (wait_s := wait_of_request(request, "page")):
            return too_many_requests(request, wait_s)
        return None


class PageMethodsMiddleware(MiddlewareMixin):
    """Middleware that returns 405 for methods that no page accepts.

    Each page restricts the other methods itself, and the API all methods.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        return None if request.method in PAGE_METHODS or is_api(request) else HttpResponseNotAllowed(PAGE_METHODS)


class ParameterBoundsMiddleware(MiddlewareMixin):
    """Middleware that returns 400 for a query parameter that is too long or contains a null character."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        for name, values in request.GET.lists():
            if name == "search":
                # A search has its own bound, with a message at its field (mpet_site.web.lists).
                continue
            if reason := next(filter(None, map(parameter_refusal, (name, *values))), ""):
                parameter = name[:MOST_PARAMETER_CHARACTERS]
                if is_api(request):
                    return problem_response(invalid_request(parameter, reason))
                return render(request, "400.html", {"parameter": parameter[:50], "reason": reason}, status=400)
        return None


class BodyBoundsMiddleware(MiddlewareMixin):
    """Middleware that returns 413 for a body larger than any upload.

    The check of forged requests parses the form, and so writes its files to the disk, before a view can refuse them.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        try:
            check_length(request, settings.UPLOAD_MAX_PACKED_BYTES + MULTIPART_FRAME_BYTES)
        except PayloadTooLarge as error:
            if is_api(request):
                return problem_response(error)
            return render(request, "400.html", {"reason": error.detail}, status=413)
        return None


def parameter_refusal(text: str) -> str:
    """Return the reason why a name or value of a parameter is rejected, or "" if it is accepted.

    >>> parameter_refusal("fft"), parameter_refusal("a" * 2_001)
    ('', 'It has 2001 characters; at most 2000 are read.')
    """
    if "\0" in text:
        return "It contains a null character."
    if len(text) > MOST_PARAMETER_CHARACTERS:
        return f"It has {len(text)} characters; at most {MOST_PARAMETER_CHARACTERS} are accepted."
    return ""
