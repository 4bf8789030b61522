from typing import Any, ClassVar

from django.http import Http404, HttpResponsePermanentRedirect
from django.urls import reverse
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request

from mpet_site.api import DetailView, ListView, StrictOrderingFilter, StrictSearchFilter
from mpet_site.pagination import KeyPagination
from profiles.api.filters import PlatformFilter, ProfileFilter, WorkloadFilter
from profiles.api.serializers import (
    PlatformDetailSerializer,
    PlatformSerializer,
    ProfileRowSerializer,
    ProfileSerializer,
    WorkloadSerializer,
)
from profiles.models import Platform, Profile, Workload
from profiles.querysets import PlatformQuerySet, ProfileQuerySet, WorkloadQuerySet


class PlatformRead(GenericAPIView):
    serializer_class = PlatformSerializer
    lookup_field = "slug"

    def get_queryset(self) -> Any:
        return Platform.objects.in_api(self.request.user)


@extend_schema_view(get=extend_schema(operation_id="platforms_list", summary="Machines"))
class PlatformList(ListView, PlatformRead):
    """The machines that were measured."""

    filterset_class = PlatformFilter
    search_fields = PlatformQuerySet.searched
    ordering_fields: ClassVar = {
        name: name
        for name in (
            "slug",
            "name",
            "cpu_model",
            "vendor",
            "architecture",
            "microarchitecture",
            "device_class",
            "sockets",
            "numa_nodes",
            "physical_cores",
            "threads",
            "n_max",
            "base_mhz",
        )
    } | {"profiles": "profile_count"}


@extend_schema_view(get=extend_schema(operation_id="platforms_read", summary="One machine"))
class PlatformDetail(DetailView, PlatformRead):
    """One machine. Unknown is null; n_nu and n_ht are null where the machine has no such effect. A platform that was
    merged into another answers with the address of that."""

    serializer_class = PlatformDetailSerializer

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().retrieve(request, *args, **kwargs)
        except Http404:
            kept = Platform.objects.visible_to(request.user).merged_from(kwargs["slug"]).first()
            if kept is None:
                raise
            query = f"?{request.query_params.urlencode()}" if request.query_params else ""
            return HttpResponsePermanentRedirect(reverse("api-platform", args=[kept.slug]) + query)


class WorkloadRead(GenericAPIView):
    serializer_class = WorkloadSerializer
    lookup_field = "slug"

    def get_queryset(self) -> Any:
        return Workload.objects.in_api(self.request.user)


@extend_schema_view(get=extend_schema(operation_id="workloads_list", summary="Workloads"))
class WorkloadList(ListView, WorkloadRead):
    """The parallel sections of programs that were measured."""

    filterset_class = WorkloadFilter
    search_fields = WorkloadQuerySet.searched
    ordering_fields: ClassVar = {
        name: name for name in ("slug", "name", "application", "strategy", "runtime", "bound")
    } | {"profiles": "profile_count"}


@extend_schema_view(get=extend_schema(operation_id="workloads_read", summary="One workload"))
class WorkloadDetail(DetailView, WorkloadRead):
    """One parallel section of one program with one input."""


class ProfileSearch(StrictSearchFilter):
    """As the page searches: the names are looked up in their own, short tables."""

    def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
        return queryset.search(" ".join(self.get_search_terms(request)))


class ProfileRead(GenericAPIView):
    serializer_class = ProfileSerializer
    lookup_field = "uid"
    lookup_url_kwarg = "id"

    def get_queryset(self) -> Any:
        return Profile.objects.in_api(self.request.user)


@extend_schema_view(get=extend_schema(operation_id="profiles_list", summary="Profiles"))
class ProfileList(ListView, ProfileRead):
    """What was measured: one workload on one machine, from one source. CSV has the plain columns, without curves."""

    filterset_class = ProfileFilter
    csv_serializer_class = ProfileRowSerializer
    pagination_class = KeyPagination
    filter_backends = (DjangoFilterBackend, ProfileSearch, StrictOrderingFilter)
    search_fields = tuple(ProfileQuerySet.searched)
    ordering_fields: ClassVar = {
        "platform": "platform__slug",
        "workload": "workload__slug",
        "t1_s": "t1_s",
        "n_measured": "n_measured",
        "n_largest": "n_largest",
        "fit_error": "fit_error",
        "created_at": "created_at",
    }

    def get_queryset(self) -> Any:
        if self.wants_csv:
            return Profile.objects.as_api_rows(self.request.user)
        return super().get_queryset()


@extend_schema_view(get=extend_schema(operation_id="profiles_read", summary="One profile"))
class ProfileDetail(DetailView, ProfileRead):
    """The measured curves, their fits and the 84 features. Invalid values are null, never 0."""
