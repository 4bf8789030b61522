"""List pages of platforms, workloads and profiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django_filters.rest_framework import FilterSet

from mpet_site.web.filters import filter_refusals
from mpet_site.web.lists import KeyPaginator, order_rows, ordering_refusal, search_refusal
from mpet_site.web.pages import csv_address, json_address, list_query, page_of
from mpet_site.web.tables import PageTable, TableColumn
from profiles.identity.name_disambiguation import disambiguate, disambiguated_name
from profiles.identity.spelling import canonical_vendor
from profiles.measurements import ORIGINS
from profiles.models import Platform, Price, Profile, Source, Workload
from profiles.pages.columns import PLATFORM_COLUMNS, PROFILE_COLUMNS, WORKLOAD_COLUMNS
from profiles.pages.filters import (
    PLATFORM_ORDERINGS,
    PROFILE_ORDERINGS,
    WORKLOAD_ORDERINGS,
    PlatformFilter,
    ProfileFilter,
    WorkloadFilter,
)
from profiles.pages.page_cache import kept_for_visitors

MOST_CHOICES = 200  # maximum number of choices of one form field


@dataclass(frozen=True)
class ListFilter:
    """A field of the form above a list: a choice from `values` (pairs of value and label), or a text field."""

    name: str
    chosen: str
    values: list[tuple[str, str]]
    label: str = ""
    placeholder: str = ""


@dataclass(frozen=True)
class ListPage:
    """The parameters of a list page. Its filters and orderings are those of the same list in the API."""

    noun: str
    filterset: type[FilterSet]
    orderings: Mapping[str, str]
    searched: str
    offered: tuple[str, ...]
    columns: tuple[TableColumn, ...]

    @property
    def names(self) -> str:
        return f"{self.noun}s"

    @property
    def shown_noun(self) -> str:
        """Return the noun on pages. URLs and the API use `platform`."""
        return "machine" if self.noun == "platform" else self.noun


PLATFORMS = ListPage(
    "platform",
    PlatformFilter,
    PLATFORM_ORDERINGS,
    "name, processor, architecture and more",
    ("provider", "architecture", "vendor", "microarchitecture", "device_class"),
    PLATFORM_COLUMNS,
)
# The text fields of the page of platforms.
SIZE_FILTERS = {
    "min_threads": "vCPUs, from",
    "max_threads": "vCPUs, to",
    "min_memory_gib": "Memory in GiB, from",
    "max_memory_gib": "Memory in GiB, to",
}
WORKLOADS = ListPage(
    "workload",
    WorkloadFilter,
    WORKLOAD_ORDERINGS,
    "name, application, strategy and more",
    ("application", "strategy", "bound", "runtime"),
    WORKLOAD_COLUMNS,
)
PROFILES = ListPage(
    "profile",
    ProfileFilter,
    PROFILE_ORDERINGS,
    "names of workload, machine and source",
    ("platform", "workload", "origin", "decomposed", "outlier"),
    PROFILE_COLUMNS,
)
PROFILE_LABELS = {"platform": "Machine", "decomposed": "With a time breakdown"}


def list_response(
    request: HttpRequest,
    list_page: ListPage,
    rows: Any,
    filters: list[ListFilter],
    paginator: type[Paginator] = Paginator,
) -> HttpResponse:
    """Return the requested page of `rows`, or an empty page with the reason if the search is refused.

    Orderings and filter values that the API would refuse are ignored, and the page names them.
    """
    search, ordering = request.GET.get("search", ""), request.GET.get("ordering", "")
    refusal = search_refusal(search)
    refusals = filter_refusals(list_page.filterset, request.GET)
    if reason := ordering_refusal(ordering, list_page.orderings):
        refusals.append({"name": "ordering", "reason": reason})
    refused = {one["name"] for one in refusals}
    used = {name: str(text) for name, text in request.GET.items() if name not in refused}
    filter_names = list_page.filterset.base_filters
    matching = rows.none() if refusal else list_page.filterset(used, rows.search(search)).qs
    page = page_of(request, order_rows(matching, ordering, list_page.orderings), paginator=paginator)
    context = {
        "page": page,
        "noun": list_page.shown_noun,
        "table": PageTable(list_page.names.capitalize(), list_page.columns, page, ordering=used.get("ordering", "")),
        "placeholder": list_page.searched,
        "search": search,
        "refusal": refusal,
        "refusals": refusals,
        "ordering": used.get("ordering", ""),
        "filters": filters,
        "filtered": any(used.get(name) for name in ("search", *filter_names)),
        "section": list_page.names,
        "sources": Source.objects.credited_to(request.user).credits(),
    }
    if not refusal:
        view, query = f"api-{list_page.names}", list_query(used, page, filter_names)
        context |= {"csv": csv_address(view, used, filter_names), "twin": json_address(view, query=query)}
    return render(request, f"profiles/{list_page.names}.html", context, status=400 if refusal else 200)


def filters_by_column(request: HttpRequest, list_page: ListPage, rows: Any) -> list[ListFilter]:
    """Return a form field for each column that has values."""
    values = {name: [(value, value.replace("_", " ")) for value in rows.values_in(name)] for name in list_page.offered}
    chosen = {name: request.GET.get(name, "") for name in values}
    if chosen.get("vendor"):
        chosen["vendor"] = canonical_vendor(chosen["vendor"]) or ""
    return [ListFilter(name, chosen[name], choices) for name, choices in values.items() if choices]


@require_safe
@kept_for_visitors
def platforms(request: HttpRequest) -> HttpResponse:
    rows = Platform.objects.in_api(request.user).defer("placement")
    filters = filters_by_column(request, PLATFORMS, rows)
    if regions := Price.objects.visible_to(request.user).regions():
        values = [(region, region) for region in regions] if len(regions) <= MOST_CHOICES else []
        chosen = request.GET.get("region", "")
        filters.insert(1, ListFilter("region", chosen, values, "Region with a price", "as us-east-1"))
    filters += [ListFilter(name, request.GET.get(name, ""), [], label) for name, label in SIZE_FILTERS.items()]
    return list_response(request, PLATFORMS, rows, filters)


@require_safe
@kept_for_visitors
def workloads(request: HttpRequest) -> HttpResponse:
    rows = Workload.objects.in_api(request.user)
    return list_response(request, WORKLOADS, rows, filters_by_column(request, WORKLOADS, rows))


@require_safe
@kept_for_visitors
def profiles(request: HttpRequest) -> HttpResponse:
    """List the profiles.

    Pages are selected by key, because there may be very many profiles. The filters by platform and by workload become
    text fields if there are too many choices.
    """
    yes_or_no = [("true", "yes"), ("false", "no")]
    values = {
        "platform": choices_of(Platform, request.user),
        "workload": choices_of(Workload, request.user),
        "origin": [(origin, origin) for origin in ORIGINS],
        "decomposed": yes_or_no,
        "outlier": yes_or_no,
    }
    filters = [
        ListFilter(
            name, request.GET.get(name, ""), values[name], label=PROFILE_LABELS.get(name, ""), placeholder="its name"
        )
        for name in PROFILES.offered
    ]
    return list_response(request, PROFILES, Profile.objects.listed_for(request.user), filters, KeyPaginator)


def choices_of(model: Any, user: Any) -> list[tuple[str, str]]:
    """Return slugs and names to choose from, or none if there are too many."""
    rows = list(model.objects.offered_to(user)[: MOST_CHOICES + 1])
    return (
        [(row.slug, disambiguated_name(row)) for row in disambiguate(rows, user)] if len(rows) <= MOST_CHOICES else []
    )
