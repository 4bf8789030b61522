"""What all views of the API share: strict query parameters, ETags, CSV."""

from typing import Any, ClassVar

from django.http import HttpResponsePermanentRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.cache import patch_vary_headers
from rest_framework.exceptions import MethodNotAllowed, NotFound, ValidationError
from rest_framework.filters import OrderingFilter, SearchFilter
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mpet_site.web.etags import PRIVATE, respond_unless_unchanged
from mpet_site.web.filters import StrictFilterBackend
from mpet_site.web.lists import (
    MOST_CHARACTERS,
    MOST_WORDS,
    Pagination,
    check_page,
    order_rows,
    ordering_refusal,
    search_refusal,
)
from mpet_site.web.problems import InvalidRequest, invalid_request
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines

LIST_PARAMETERS = ("page", "page_size", "search", "ordering")
ROWS_PER_QUERY = 500
UNKNOWN_PATH = "api-unknown-path"


class StrictView(APIView):
    """Refuses what it does not know: methods with 405, whoever asks; query parameters with 400.

    A misspelt filter would answer with the wrong rows.
    """

    query_parameters: ClassVar[tuple[str, ...]] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(str(request.method))
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS":
            self.refuse_unknown_parameters(request)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """What OPTIONS tells of a view has no other form than JSON, whatever the view itself answers in."""
        if request.method == "OPTIONS":
            return JSONRenderer(), JSONRenderer.media_type
        return super().perform_content_negotiation(request, force)

    def refuse_unknown_parameters(self, request: Request) -> None:
        allowed = {"format", *self.known_parameters()}
        listed = ", ".join(sorted(allowed))
        errors = [
            {
                "name": name,
                "reason": f"No such parameter; known here: {listed}." if name not in allowed else "Given twice.",
            }
            for name, values in request.query_params.lists()
            if name not in allowed or len(values) > 1
        ]
        if errors:
            raise InvalidRequest(errors)

    def known_parameters(self) -> tuple[str, ...]:
        return self.query_parameters


class ApiView(StrictView):
    """Clients may keep its answers, but ask every time (no-cache), and share them with no other viewer. No cache keeps
    an answer to a signed-in user; its ETag is still answered with 304, as a program may keep its own answers."""

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(response, ("Authorization", "Accept", "Cookie"))
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = PRIVATE if request.user.is_authenticated else "no-cache"
        return response


class StrictSearchFilter(SearchFilter):
    """Refuses a search of too many words."""

    def get_search_terms(self, request: Request) -> list[str]:
        if refusal := search_refusal(request.query_params.get(self.search_param, "")):
            raise invalid_request(self.search_param, refusal)
        try:
            return super().get_search_terms(request)
        except ValidationError as error:
            raise ValidationError({self.search_param: error.detail}) from error

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        words = rf"^[\s,]*(?:[^\s,\x00]+(?:[\s,]+|$)){{0,{MOST_WORDS}}}$"
        schema = {"type": "string", "maxLength": MOST_CHARACTERS, "pattern": words}
        text = f"Rows in which every word occurs: at most {MOST_WORDS}."
        return [{"name": self.search_param, "in": "query", "required": False, "description": text, "schema": schema}]


class StrictOrderingFilter(OrderingFilter):
    """Unknown fields are an error; unknown values come last; equal rows keep one order from page to page."""

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        text = request.query_params.get(self.ordering_param, "")
        if refusal := ordering_refusal(text, view.ordering_fields):
            raise invalid_request(self.ordering_param, refusal)
        return order_rows(queryset, text, view.ordering_fields)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        name = f"-?(?:{'|'.join(view.ordering_fields)})"
        schema = {"type": "string", "pattern": f"^{name}(?:,{name})*$"}
        text = "Names with commas between; with -: descending. Unknown values come last."
        return [{"name": self.ordering_param, "in": "query", "required": False, "description": text, "schema": schema}]


class ListView(ApiView, ListAPIView):
    """A filterable list. As CSV: all its rows, streamed. `ordering_fields`: name in the URL -> model field."""

    renderer_classes = (JSONRenderer, CSVRenderer)
    pagination_class = Pagination
    filter_backends = (StrictFilterBackend, StrictSearchFilter, StrictOrderingFilter)
    filterset_class: Any = None
    ordering_fields: ClassVar[dict[str, str]] = {}
    csv_serializer_class: Any = None

    def known_parameters(self) -> tuple[str, ...]:
        return (*LIST_PARAMETERS, *self.filterset_class.base_filters) if self.request.method in SAFE_METHODS else ()

    def get_renderers(self) -> Any:
        return super().get_renderers() if self.request.method in SAFE_METHODS else [JSONRenderer()]

    @property
    def wants_csv(self) -> bool:
        renderer = getattr(self.request, "accepted_renderer", None)  # none while the schema is made
        return renderer is not None and renderer.format == "csv"

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        queryset = self.filter_queryset(self.get_queryset())
        check_page(request)
        build = self.rows if self.wants_csv else self.page
        return respond_unless_unchanged(request, self.etag(queryset), lambda: build(queryset))

    def etag(self, queryset: Any) -> str:
        """Changes whenever the list does."""
        raise NotImplementedError

    def page(self, queryset: Any) -> Response:
        page = self.paginate_queryset(queryset)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def rows(self, queryset: Any) -> StreamingHttpResponse:
        serializer: Any = (self.csv_serializer_class or self.get_serializer_class())(
            context=self.get_serializer_context()
        )
        rows = map(serializer.to_representation, queryset.iterator(chunk_size=ROWS_PER_QUERY))
        response = StreamingHttpResponse(
            csv_lines(list(serializer.fields), rows), content_type="text/csv; charset=utf-8; header=present"
        )
        response["Content-Disposition"] = f'attachment; filename="{self.get_queryset().model._meta.model_name}s.csv"'
        return response


class DetailView(ApiView, RetrieveAPIView):
    """One row. What is private to somebody else is as unknown as what was never there."""

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        row = self.get_object()
        return respond_unless_unchanged(request, self.etag(row), lambda: Response(self.get_serializer(row).data))

    def etag(self, row: Any) -> str:
        """Changes whenever the answer does."""
        raise NotImplementedError


class UnknownPath(APIView):
    """Every path below /api/v1/ that is nothing else, with any method. Forgives readers a missing slash at the end."""

    schema = None
    permission_classes = ()

    def get(self, request: Request, path: str) -> HttpResponseBase:
        if not path.endswith("/") and resolve(f"{request.path_info}/").url_name != UNKNOWN_PATH:
            return HttpResponsePermanentRedirect(request.get_full_path(force_append_slash=True))
        raise NotFound

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotFound

    options = http_method_not_allowed
