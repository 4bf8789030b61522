"""Filters and orderings of the lists of platforms, workloads and profiles, for pages and the API."""

from typing import Any

from django.db.models import Q
from django_filters.rest_framework import FilterSet

from mpet_site.web.filters import BooleanFilter, ChoiceFilter, GibibyteFilter, TextFilter, WholeNumberFilter
from profiles.identity.spelling import canonical_vendor
from profiles.measurements import BOUNDS, DEVICE_CLASSES, ORIGINS, STRATEGIES
from profiles.models import Platform, PlatformDescription, Price, Workload

PLATFORM_ORDERINGS = {
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
        "memory_bytes",
        "provider",
    )
} | {"profiles": "profile_count"}
WORKLOAD_ORDERINGS = {name: name for name in ("slug", "name", "application", "strategy", "runtime", "bound")} | {
    "profiles": "profile_count"
}
PROFILE_ORDERINGS = {
    "platform": "platform__slug",
    "workload": "workload__slug",
    "t1_s": "t1_s",
    "n_measured": "n_measured",
    "n_largest": "n_largest",
    "fit_error": "fit_error",
    "created_at": "created_at",
}


class PlatformFilter(FilterSet):
    provider = TextFilter(lookup_expr="iexact", help_text="the name before the first slash: aws of aws/c7a.large")
    region = TextFilter(method="by_region", help_text="region for which a price of the machine is known")
    min_threads = WholeNumberFilter(field_name="threads", lookup_expr="gte", help_text="hardware threads (vCPUs)")
    max_threads = WholeNumberFilter(field_name="threads", lookup_expr="lte", help_text="hardware threads (vCPUs)")
    min_memory_gib = GibibyteFilter(field_name="memory_bytes", lookup_expr="gte", help_text="memory in GiB")
    max_memory_gib = GibibyteFilter(field_name="memory_bytes", lookup_expr="lte", help_text="memory in GiB")
    min_memory_bytes = WholeNumberFilter(field_name="memory_bytes", lookup_expr="gte")
    max_memory_bytes = WholeNumberFilter(field_name="memory_bytes", lookup_expr="lte")
    device_class = ChoiceFilter(DEVICE_CLASSES)
    vendor = TextFilter(method="by_vendor", help_text="in any spelling: Intel or GenuineIntel")
    architecture = TextFilter(lookup_expr="iexact")
    microarchitecture = TextFilter(lookup_expr="iexact")
    cpu_model = TextFilter(lookup_expr="iexact")
    virtualised = BooleanFilter()
    fingerprint = TextFilter(
        method="by_fingerprint", help_text="fingerprint of hardware from which you uploaded measurements"
    )

    def by_region(self, rows: Any, _name: str, text: str) -> Any:
        return rows.filter(pk__in=Price.objects.filter(region__iexact=text).values("platform"))

    def by_fingerprint(self, rows: Any, _name: str, text: str) -> Any:
        user = self.request.user
        if not user.is_authenticated:
            return rows.none()
        described = PlatformDescription.objects.filter(source__owner=user, source__fingerprint=text)
        return rows.filter(pk__in=described.values("platform"))

    def by_vendor(self, rows: Any, _name: str, text: str) -> Any:
        return rows.filter(vendor__iexact=canonical_vendor(text))


class PriceFilter(FilterSet):
    platform = TextFilter(field_name="platform__slug", help_text="slug")
    currency = TextFilter(lookup_expr="iexact")
    region = TextFilter()
    kind = ChoiceFilter(tuple(Price.Kind.values))
    latest = BooleanFilter(
        method="by_latest", help_text="true: only the newest price of each kind, region and currency"
    )

    def by_latest(self, rows: Any, _name: str, latest: bool) -> Any:
        return rows.newest() if latest else rows


class WorkloadFilter(FilterSet):
    application = TextFilter(lookup_expr="iexact")
    strategy = ChoiceFilter(STRATEGIES)
    runtime = TextFilter(lookup_expr="iexact")
    bound = ChoiceFilter(BOUNDS)


class ProfileFilter(FilterSet):
    """Filters of profiles. The slug or name of a row that is not visible to the user matches nothing."""

    platform = TextFilter(method="by_name", help_text="a name, or the last part of its address")
    workload = TextFilter(method="by_name", help_text="a name, or the last part of its address")
    origin = ChoiceFilter(ORIGINS)
    decomposed = BooleanFilter()
    outlier = BooleanFilter(
        method="by_outlier", help_text="whether the profile is an outlier, which is excluded from predictions"
    )

    def by_name(self, rows: Any, field: str, text: str) -> Any:
        model: Any = {"platform": Platform, "workload": Workload}[field]
        named = model.objects.filter(Q(slug=text) | Q(name=text))
        return rows.filter(**{f"{field}__in": named.values("pk")})

    def by_outlier(self, rows: Any, _name: str, is_outlier: bool) -> Any:
        return rows.exclude(outlier_reason="") if is_outlier else rows.filter(outlier_reason="")
