"""What holds for every request: compression, the content security policy, the methods of pages, bounds of parameters,
rates."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from mpet_site.web.etags import PRIVATE
from mpet_site.web.problems import invalid_request, problem_response
from mpet_site.web.throttling import too_many_requests, wait_of_request

# Everything comes from this server. Plotly writes style attributes into its drawings: hence 'unsafe-inline' there.
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
# What no page here asks a browser for, nor may anything that got into one.
DENIED = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb", "browsing-topics")
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in DENIED)
API_PREFIX = "/api/"
SUPERVISED_PATHS = ("/healthz", "/metrics")
PAGE_METHODS = ("GET", "HEAD", "OPTIONS", "POST")
MOST_PARAMETER_CHARACTERS = 2_000  # names and slugs are shorter; the comparison of six platforms has six of them


def is_api(request: HttpRequest) -> bool:
    """Whether a program asks: errors are then problem documents, not pages."""
    return request.path_info.startswith(API_PREFIX)


def is_page(request: HttpRequest) -> bool:
    """Whether a person asks: not a program, not a supervisor, and not a browser for the files of a page."""
    path = request.path_info
    return not (is_api(request) or path in SUPERVISED_PATHS or path.startswith(settings.STATIC_URL))


class PageCompressionMiddleware(GZipMiddleware):
    """Compresses pages. Not files, of which most are archives, and not the API, whose answers may be streamed."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_html = response.headers.get("Content-Type", "").startswith("text/html")
        return super().process_response(request, response) if is_html else response


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """The policies on every answer; a view that needs another sets the header itself."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response


class PrivateAnswersMiddleware(MiddlewareMixin):
    """What is answered to somebody who is signed in, by session or token, is kept by no cache: it may show what is
    private. A view that says itself how long its answer keeps has public answers only."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        cookie = settings.SESSION_COOKIE_NAME
        if cookie in request.COOKIES or cookie in response.cookies or "Authorization" in request.headers:
            response.headers.setdefault("Cache-Control", PRIVATE)
        return response


class PageRateMiddleware(MiddlewareMixin):
    """Pages may be asked for as often as the API, and are counted apart: a program's requests lock no browser out."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if is_page(request) and (wait_s := wait_of_request(request, "page")):
            return too_many_requests(request, wait_s)
        return None


class PageMethodsMiddleware(MiddlewareMixin):
    """405 for methods that no page has. What this page has of the others it says itself; the API does so alone."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        return None if request.method in PAGE_METHODS or is_api(request) else HttpResponseNotAllowed(PAGE_METHODS)


class ParameterBoundsMiddleware(MiddlewareMixin):
    """400 for a parameter of the address that is too long for anything we store, or that no database can hold."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        for name, values in request.GET.lists():
            if name == "search":
                continue  # has a bound of its own, and a message at its field (mpet_site.web.lists)
            if reason := next(filter(None, map(parameter_refusal, (name, *values))), ""):
                parameter = name[:MOST_PARAMETER_CHARACTERS]
                if is_api(request):
                    return problem_response(invalid_request(parameter, reason))
                return render(request, "400.html", {"parameter": parameter[:50], "reason": reason}, status=400)
        return None


def parameter_refusal(text: str) -> str:
    """Why this name or value of a parameter is not looked at; "" where it is.

    >>> parameter_refusal("fft"), parameter_refusal("a" * 2_001)
    ('', 'It has 2001 characters; at most 2000 are read.')
    """
    if "\0" in text:
        return "It has a null character."
    if len(text) > MOST_PARAMETER_CHARACTERS:
        return f"It has {len(text)} characters; at most {MOST_PARAMETER_CHARACTERS} are read."
    return ""
