"""API views that list and show platforms, workloads and profiles, and search for them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.http import Http404, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView, DetailView, ListView, StrictOrderingFilter, StrictSearchFilter
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.filters import StrictFilterBackend
from mpet_site.web.lists import MOST_CHARACTERS, KeyPagination, search_refusal
from mpet_site.web.parameters import WholeNumber
from mpet_site.web.problems import invalid_request
from profiles.api.serializers import (
    OwnPricesSerializer,
    PlatformDetailSerializer,
    PlatformSerializer,
    PriceSerializer,
    ProfileDetailSerializer,
    ProfileRowSerializer,
    ProfileSerializer,
    WorkloadDetailSerializer,
    WorkloadSerializer,
)
from profiles.models import OwnPriceList, Platform, Price, Profile, Workload
from profiles.models.querysets import PlatformQuerySet, ProfileQuerySet, WorkloadQuerySet
from profiles.pages.filters import (
    PLATFORM_ORDERINGS,
    PROFILE_ORDERINGS,
    WORKLOAD_ORDERINGS,
    PlatformFilter,
    PriceFilter,
    ProfileFilter,
    WorkloadFilter,
)
from profiles.pages.page_cache import RevisionEtag
from profiles.pages.search import MOST_OF_A_KIND, SEARCH_KINDS, search_everything

MOST = WholeNumber("most", "Maximum number of results per kind.", default=MOST_OF_A_KIND, low=1, high=MOST_OF_A_KIND)


class ReadableRows(RevisionEtag):
    """Base class of the views of `model`: the rows that the user may read."""

    model: Any = None
    lookup_field = "slug"

    def get_queryset(self) -> Any:
        return self.model.objects.in_api(self.request.user)


@extend_schema_view(get=extend_schema(operation_id="platforms_list", summary="Machines"))
class PlatformList(ReadableRows, ListView):
    """The measured machines. Rows have no `placement`, which may be long: read it from the platform's own URL."""

    model = Platform
    serializer_class = PlatformSerializer
    filterset_class = PlatformFilter
    search_fields = PlatformQuerySet.searched
    ordering_fields: ClassVar = PLATFORM_ORDERINGS

    def get_queryset(self) -> Any:
        return super().get_queryset().defer("placement")


@extend_schema_view(get=extend_schema(operation_id="platforms_read", summary="One machine"))
class PlatformDetail(ReadableRows, DetailView):
    """One machine. Unknown values are null, and n_nu and n_ht are null if the machine has no such effect. A merged
    platform redirects to the platform into which it was merged."""

    model = Platform
    serializer_class = PlatformDetailSerializer

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().retrieve(request, *args, **kwargs)
        except Http404:
            merged_into = Platform.objects.visible_to(request.user).merged_from(kwargs["slug"]).first()
            if merged_into is None:
                raise
            query = f"?{request.query_params.urlencode()}" if request.query_params else ""
            return HttpResponsePermanentRedirect(reverse("api-platform", args=[merged_into.slug]) + query)


@extend_schema_view(get=extend_schema(operation_id="prices_list", summary="Prices of machines"))
class PriceList(RevisionEtag, ListView):
    """Published prices of the platforms that you see, newest first. `latest=true` returns only the newest price of each
    kind, region and currency."""

    serializer_class = PriceSerializer
    filterset_class = PriceFilter
    search_fields = ("platform__slug", "platform__name")
    ordering_fields: ClassVar = {"platform": "platform__slug", "amount": "amount", "date": "date"}

    def get_queryset(self) -> Any:
        return Price.objects.visible_to(self.request.user).select_related("platform")


class OwnPrices(ApiView):
    """What you pay: a factor on published prices, and your own prices, which replace the published prices of their
    machines. Only you see them. You can change and delete them on the page of your prices."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(operation_id="prices_mine", summary="Your own prices", responses={200: OwnPricesSerializer})
    def get(self, request: Request) -> HttpResponseBase:
        own_list = OwnPriceList.of(request.user)
        prices = own_list.prices.select_related("platform") if own_list else ()
        document = {"factor": own_list.factor if own_list else Decimal(1), "prices": prices}
        etag = etag_of(request.user.pk, own_list and own_list.version)
        return respond_unless_unchanged(request, etag, lambda: Response(OwnPricesSerializer(document).data))


@extend_schema_view(get=extend_schema(operation_id="workloads_list", summary="Workloads"))
class WorkloadList(ReadableRows, ListView):
    """The measured parallel sections of programs."""

    model = Workload
    serializer_class = WorkloadSerializer
    filterset_class = WorkloadFilter
    search_fields = WorkloadQuerySet.searched
    ordering_fields: ClassVar = WORKLOAD_ORDERINGS


@extend_schema_view(get=extend_schema(operation_id="workloads_read", summary="One workload"))
class WorkloadDetail(ReadableRows, DetailView):
    """One parallel section of one program with one input."""

    model = Workload
    serializer_class = WorkloadDetailSerializer


class ProfileSearch(StrictSearchFilter):
    """Search filter of profiles. Like the page, it looks up the names in their own small tables."""

    def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
        return queryset.search(" ".join(self.get_search_terms(request)))


@extend_schema_view(get=extend_schema(operation_id="profiles_list", summary="Profiles"))
class ProfileList(ReadableRows, ListView):
    """The measured profiles, each of one workload on one machine from one source. CSV has only the plain columns."""

    model = Profile
    serializer_class = ProfileSerializer
    filterset_class = ProfileFilter
    csv_serializer_class = ProfileRowSerializer
    pagination_class = KeyPagination
    filter_backends = (StrictFilterBackend, ProfileSearch, StrictOrderingFilter)
    search_fields = tuple(ProfileQuerySet.searched)
    ordering_fields: ClassVar = PROFILE_ORDERINGS

    def get_queryset(self) -> Any:
        if self.wants_csv:
            return Profile.objects.as_csv_rows(self.request.user)
        return super().get_queryset()


@extend_schema_view(get=extend_schema(operation_id="profiles_read", summary="One profile"))
class ProfileDetail(ReadableRows, DetailView):
    """The measured curves, the spread of their repeats, their fits, the 84 features and the limits of scaling. Invalid
    values are null, never 0."""

    model = Profile
    serializer_class = ProfileDetailSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"


class SearchResultSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(choices=list(SEARCH_KINDS))
    name = serializers.CharField()
    url = serializers.CharField(help_text="Path of its page on this server.")
    note = serializers.CharField(allow_blank=True, help_text="Short additional information.")


class SearchSerializer(serializers.Serializer):
    query = serializers.CharField(allow_blank=True)
    results = SearchResultSerializer(many=True)


class Search(ApiView):
    """Machines, workloads and programs with every word of `q` in their names, and sections of the documentation that
    contain all words. Machines come first and the documentation last."""

    query_parameters: ClassVar = ("q", "most")

    @extend_schema(
        operation_id="search",
        summary="Search by name",
        parameters=[
            OpenApiParameter("q", {"type": "string", "maxLength": MOST_CHARACTERS}, description="Words to search for."),
            OpenApiParameter(
                "most", {"type": "integer", "minimum": 1, "maximum": MOST.high}, description=MOST.description
            ),
        ],
        responses={200: SearchSerializer},
    )
    def get(self, request: Request) -> Response:
        text = request.query_params.get("q", "").strip()
        if refusal := search_refusal(text):
            raise invalid_request("q", refusal)
        results = search_everything(text, request.user, MOST.read(request))
        return Response(SearchSerializer({"query": text, "results": results}).data)
