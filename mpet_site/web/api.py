"""Base classes of the API's views: strict query parameters, ETags and CSV."""

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
MOST_CSV_ROWS = 30_000  # four seconds, during which the web worker serves nobody else
UNKNOWN_PATH = "api-unknown-path"


class StrictView(APIView):
    """A view that rejects unknown methods with 405, also without authentication, and unknown query parameters with 400.

    If a misspelt filter were ignored, the response would contain the wrong rows.
    """

    query_parameters: ClassVar[tuple[str, ...]] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(str(request.method))
        super().initial(request, *args, **kwargs)
        if request.method != "OPTIONS":
            self.refuse_unknown_parameters(request)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """Answer OPTIONS in JSON, even if the view has no JSON renderer."""
        if request.method == "OPTIONS":
            return JSONRenderer(), JSONRenderer.media_type
        return super().perform_content_negotiation(request, force)

    def refuse_unknown_parameters(self, request: Request) -> None:
        allowed = {"format", *self.known_parameters()}
        listed = ", ".join(sorted(allowed))
        errors = [
            {
                "name": name,
                "reason": f"No such parameter; accepted: {listed}." if name not in allowed else "Given twice.",
            }
            for name, values in request.query_params.lists()
            if name not in allowed or len(values) > 1
        ]
        if errors:
            raise InvalidRequest(errors)

    def known_parameters(self) -> tuple[str, ...]:
        return self.query_parameters


class ApiView(StrictView):
    """A view whose responses clients may cache but must revalidate every time (no-cache), separately for each viewer.

    Responses to signed-in users must not be cached. A program that stores them anyway can send their ETag and gets 304.
    """

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(response, ("Authorization", "Accept", "Cookie"))
        if not response.has_header("Cache-Control"):
            response["Cache-Control"] = PRIVATE if request.user.is_authenticated else "no-cache"
        return response


class StrictSearchFilter(SearchFilter):
    """A search filter that rejects searches with too many words."""

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
        text = f"Only rows that contain every word of this text, at most {MOST_WORDS} words."
        return [{"name": self.search_param, "in": "query", "required": False, "description": text, "schema": schema}]


class StrictOrderingFilter(OrderingFilter):
    """An ordering filter that rejects unknown fields, sorts unknown values last and keeps equal rows in a fixed
    order."""

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        text = request.query_params.get(self.ordering_param, "")
        if refusal := ordering_refusal(text, view.ordering_fields):
            raise invalid_request(self.ordering_param, refusal)
        return order_rows(queryset, text, view.ordering_fields)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        name = f"-?(?:{'|'.join(view.ordering_fields)})"
        schema = {"type": "string", "pattern": f"^{name}(?:,{name})*$"}
        text = (
            "Fields to sort by, separated by commas; a leading - sorts in descending order. Unknown values come last."
        )
        return [{"name": self.ordering_param, "in": "query", "required": False, "description": text, "schema": schema}]


class ListView(ApiView, ListAPIView):
    """A filterable list. Its CSV form has all rows; too many are refused. `ordering_fields` maps names in the URL to
    model fields."""

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
        renderer = getattr(self.request, "accepted_renderer", None)  # not set while the schema is generated
        return renderer is not None and renderer.format == "csv"

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        queryset = self.filter_queryset(self.get_queryset())
        check_page(request)
        build = self.rows if self.wants_csv else self.page
        return respond_unless_unchanged(request, self.etag(queryset), lambda: build(queryset))

    def etag(self, queryset: Any) -> str:
        """Return an ETag that changes whenever the list does."""
        raise NotImplementedError

    def page(self, queryset: Any) -> Response:
        page = self.paginate_queryset(queryset)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def rows(self, queryset: Any) -> StreamingHttpResponse:
        serializer: Any = (self.csv_serializer_class or self.get_serializer_class())(
            context=self.get_serializer_context()
        )
        if queryset.order_by()[MOST_CSV_ROWS : MOST_CSV_ROWS + 1].exists():
            reason = f"more than {MOST_CSV_ROWS:,} rows match. Add filters, or use the public dump (GET dump/)."
            raise invalid_request("format", reason)
        rows = map(serializer.to_representation, queryset.iterator(chunk_size=ROWS_PER_QUERY))
        response = StreamingHttpResponse(
            csv_lines(list(serializer.fields), rows), content_type="text/csv; charset=utf-8; header=present"
        )
        response["Content-Disposition"] = f'attachment; filename="{self.get_queryset().model._meta.model_name}s.csv"'
        return response


class DetailView(ApiView, RetrieveAPIView):
    """A view of one row. Another user's private row is answered with 404, like a row that does not exist."""

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        row = self.get_object()
        return respond_unless_unchanged(request, self.etag(row), lambda: Response(self.get_serializer(row).data))

    def etag(self, row: Any) -> str:
        """Return an ETag that changes whenever the response does."""
        raise NotImplementedError


class UnknownPath(APIView):
    """The view of all unknown paths below /api/v1/: 404 for every method, or a redirect that appends a missing
    slash."""

    schema = None
    permission_classes = ()

    def get(self, request: Request, path: str) -> HttpResponseBase:
        if not path.endswith("/") and resolve(f"{request.path_info}/").url_name != UNKNOWN_PATH:
            return HttpResponsePermanentRedirect(request.get_full_path(force_append_slash=True))
        raise NotFound

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotFound

    options = http_method_not_allowed
