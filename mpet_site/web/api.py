"""What all views of the API share: strict query parameters, ETags, CSV."""

from typing import Any, ClassVar

from django.db.models import F
from django.http import HttpResponsePermanentRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from django_filters.rest_framework import DjangoFilterBackend, TypedChoiceFilter
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.filters import OrderingFilter, SearchFilter
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mpet_site.web.etags import mark_cacheable, respond_unless_unchanged
from mpet_site.web.pagination import Pagination
from mpet_site.web.problems import InvalidRequest, invalid_request
from mpet_site.web.renderers import CSVRenderer, JSONRenderer, csv_lines

LIST_PARAMETERS = ("page", "page_size", "search", "ordering")
ROWS_PER_QUERY = 500
UNKNOWN_PATH = "api-unknown-path"


class ApiView(APIView):
    """Refuses query parameters that mean nothing here: a misspelt filter would answer with the wrong rows."""

    query_parameters: ClassVar[tuple[str, ...]] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
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

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        mark_cacheable(request, response)
        return response


class StrictSearchFilter(SearchFilter):
    def get_search_terms(self, request: Request) -> list[str]:
        try:
            return super().get_search_terms(request)
        except ValidationError as error:
            raise ValidationError({self.search_param: error.detail}) from error


class StrictOrderingFilter(OrderingFilter):
    """Unknown fields are an error; unknown values come last; equal rows keep one order from page to page."""

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        terms = [term.strip() for term in request.query_params.get(self.ordering_param, "").split(",") if term.strip()]
        names = dict(self.get_valid_fields(queryset, view, {"request": request}))
        for term in terms:
            if term.removeprefix("-") not in names:
                raise invalid_request(self.ordering_param, f"'{term}' is not one of: {', '.join(names)}.")
        fields = [(F(view.ordering_fields[term.removeprefix("-")]), term.startswith("-")) for term in terms]
        ordered = [field.desc(nulls_last=True) if down else field.asc(nulls_last=True) for field, down in fields]
        return queryset.order_by(*ordered, "pk") if ordered else queryset

    def get_valid_fields(self, queryset: Any, view: Any, context: Any = None) -> list[tuple[str, str]]:
        return [(name, name) for name in view.ordering_fields]


class StrictBooleanFilter(TypedChoiceFilter):
    """true or false; django-filter's own takes anything else for no filter at all."""

    def __init__(self, **kwargs: Any) -> None:
        choices = (("true", "true"), ("false", "false"))
        super().__init__(choices=choices, coerce=lambda text: text == "true", **kwargs)


class ListView(ApiView, ListAPIView):
    """A filterable list. As CSV: all its rows, streamed. `ordering_fields`: name in the URL -> model field."""

    renderer_classes = (JSONRenderer, CSVRenderer)
    pagination_class = Pagination
    filter_backends = (DjangoFilterBackend, StrictSearchFilter, StrictOrderingFilter)
    filterset_class: Any = None
    ordering_fields: ClassVar[dict[str, str]] = {}
    csv_serializer_class: Any = None

    def known_parameters(self) -> tuple[str, ...]:
        return (*LIST_PARAMETERS, *self.filterset_class.base_filters)

    @property
    def wants_csv(self) -> bool:
        renderer = getattr(self.request, "accepted_renderer", None)  # none while the schema is made
        return renderer is not None and renderer.format == "csv"

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        queryset = self.filter_queryset(self.get_queryset())
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

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        request.accepted_renderer = JSONRenderer()
        request.accepted_media_type = JSONRenderer.media_type
        return super().options(request, *args, **kwargs)


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
