"""The JSON API of /compare/, and the base class and helpers of all views that compare."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, get_args

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mpet_site.web.api import ApiView
from mpet_site.web.etags import respond_unless_unchanged
from mpet_site.web.fields import Integer, Text, number, serializer_of
from mpet_site.web.parameters import Flag, Name, Names, OneOf, described
from mpet_site.web.plain_json import nan_to_null
from mpet_site.web.problems import invalid_request
from predictor.api.previews import PUBLIC_ONLY
from predictor.comparisons import (
    FEWEST_COMPARED,
    MODEL_OF_KIND,
    MOST_COMPARED,
    ComparedProfiles,
    provenance,
    select_profiles,
)
from predictor.core.arrays import slug_index
from predictor.core.assembly import PREDICTION_ORIGINS
from predictor.core.comparisons.documents import (
    Compared,
    ComparedPlatform,
    ProfileSummary,
    compare_platforms,
    compare_workloads,
)
from predictor.core.comparisons.mean_distances import Kind
from profiles.identity.name_disambiguation import look_up
from profiles.pages.page_cache import database_etag

INCLUDE_SIMULATED = Flag(
    "include_simulated",
    (
        "true: include simulated profiles; false: exclude them. If omitted, simulated profiles are "
        "used only if none of the compared profiles was measured."
    ),
)
ORIGIN_PARAMETER = OneOf(
    "origin", "Use only profiles of this origin, regardless of include_simulated.", choices=PREDICTION_ORIGINS
)
SELECTION_PARAMETERS = (ORIGIN_PARAMETER, INCLUDE_SIMULATED, PUBLIC_ONLY)


PROVENANCE_FIELDS: dict[str, serializers.Field] = {
    "origin": Text(help_text="Origin of the compared profiles: measured, simulated or mixed."),
    "hint": Text(allow_null=True, help_text="Suggestion for another request if nothing was found."),
    "sources": inline_serializer("ComparedSource", {"label": Text(), "licence": Text(), "citation": Text()}, many=True),
}


def compared_profile_serializer(name: str, more: dict[str, serializers.Field]) -> serializers.Serializer:
    """Return the serializer of one profile in a comparison."""
    fields: dict[str, serializers.Field] = {
        "simulated": serializers.BooleanField(),
        "t1_s": number(),
        "fastest_s": number(help_text="Smallest measured time over all n."),
        "fastest_n": Integer(allow_null=True),
        "curve": inline_serializer(f"{name}Point", {"n": Integer(), "time_s": number()}, many=True),
        "characteristics": serializers.DictField(
            child=number(),
            help_text="Characteristics as in Figure 9 of the paper: slopes in % per thread, ratios of counters in %.",
        ),
    }
    return inline_serializer(name, fields | more, many=True)


SPEED_FIELDS: dict[str, serializers.Field] = {
    "platform": Text(),
    "whole_n": Integer(help_text="Thread count that uses every physical core, at most n_max."),
    "whole": serializers.BooleanField(help_text="Whether the workload was measured with whole_n threads or more."),
    "compared": serializers.ChoiceField(
        get_args(Compared),
        help_text="How the platform is compared with the first one. `whole`: as whole machines; `equal_n`: only "
        "at equal_n, because one of the two is not whole. Not compared: `no_common_n`, if no n was "
        "measured on all of these platforms; `not_on_first`, if the first platform did not run the "
        "workload.",
    ),
    "speed": number(
        help_text="Fastest time of the first platform divided by that of this platform; null unless both are whole."
    ),
    "core_time_s": number(help_text="fastest_s multiplied by the number of physical cores that fastest_n threads use."),
    "speed_per_core": number(
        help_text="Core time of the first platform divided by that of this platform, as for speed."
    ),
    "equal_n_time_s": number(help_text="Time at equal_n."),
    "speed_at_equal_n": number(help_text="Time of the first platform at equal_n divided by that of this platform."),
}
ComparedPlatformsSerializer = inline_serializer(
    "ComparedPlatforms",
    {
        "revision": Integer(),
        "platforms": serializer_of(ComparedPlatform)(many=True),
        "workloads": inline_serializer(
            "SharedWorkload",
            {
                "workload": Text(),
                "decomposed": serializers.BooleanField(),
                "runtime": Text(allow_null=True),
                "winner": Text(
                    allow_null=True, help_text="Fastest of the whole machines; null if fewer than two are whole."
                ),
                "winner_per_core": Text(allow_null=True),
                "winner_at_equal_n": Text(allow_null=True),
                "equal_n": Integer(allow_null=True, help_text="Largest n that was measured on all of these platforms."),
                "platforms": compared_profile_serializer("PlatformMeasured", SPEED_FIELDS),
            },
            many=True,
        ),
        **PROVENANCE_FIELDS,
    },
)
ComparedWorkloadsSerializer = inline_serializer(
    "ComparedWorkloads",
    {
        "revision": Integer(),
        "platform": Text(),
        "workloads": compared_profile_serializer("WorkloadMeasured", {"workload": Text()}),
        **PROVENANCE_FIELDS,
    },
)


class ComparisonView(ApiView):
    """Compare the profiles that the user's predictions may use: measured profiles, or those that `origin` or
    `include_simulated` selects."""

    query_parameters: ClassVar[tuple[str, ...]] = ("origin", "include_simulated", "public_only")

    def select(self, request: Request, kind: Kind = "platforms", slugs: Sequence[str] = ()) -> ComparedProfiles:
        origin, simulated = ORIGIN_PARAMETER.read(request) or "", INCLUDE_SIMULATED.read(request)
        wanted = None if origin else simulated
        viewer = None if PUBLIC_ONLY.read(request) else request.user
        return select_profiles(viewer, origin=origin, include_simulated=wanted, kind=kind, slugs=slugs)

    def answer(self, request: Request, build: Callable[[], dict[str, Any]]) -> HttpResponseBase:
        return respond_unless_unchanged(request, database_etag(request), lambda: Response(nan_to_null(build())))


def position_of_slug(parameter: str, slug: str, slugs: tuple[str, ...]) -> int:
    index = slug_index(slugs, slug)
    if index is None:
        raise invalid_request(parameter, f"No profile that you may see belongs to '{slug}'.")
    return index


def chosen_slugs(request: Request, kind: Kind) -> list[str]:
    texts = SLUGS_PARAMETER.read(request)
    slugs = list(dict.fromkeys(slug_named("slugs", text, kind, request.user) for text in texts))
    if len(slugs) < FEWEST_COMPARED:
        raise invalid_request("slugs", SLUGS_PARAMETER.explanation)
    return slugs


def slug_named(parameter: str, text: str, kind: Kind, user: Any) -> str:
    """Return the slug for a slug or a name."""
    slug, suggestions = look_up(MODEL_OF_KIND[kind].objects.visible_to(user), text)
    if slug is None:
        question = f" Did you mean {', '.join(suggestions)}?" if suggestions else ""
        raise invalid_request(parameter, f"No {kind[:-1]} that you may see has the slug or name '{text}'.{question}")
    return slug


SLUGS_PARAMETER = Names(
    "slugs",
    "Slugs, or names without a comma that belong to only one row, separated by commas.",
    required=True,
    fewest=FEWEST_COMPARED,
    most=MOST_COMPARED,
)
ON_PARAMETER = Name("on", "Slug of the platform, or a name that belongs to only one platform.", required=True)


def profile_document(profile: ProfileSummary) -> dict[str, Any]:
    """Return one profile of a comparison in the form of `compared_profile_serializer`."""
    points = zip(profile.n.tolist(), profile.time_s.tolist(), strict=True)
    names = ("simulated", "t1_s", "fastest_s", "fastest_n", "characteristics")
    return {name: getattr(profile, name) for name in names} | {
        "curve": [{"n": n, "time_s": time_s} for n, time_s in points]
    }


class ComparePlatforms(ComparisonView):
    """Compare platforms on the workloads that at least two of them have. Speeds are relative to the first platform.
    `speed` includes only profiles that were measured on all cores of their machine; other profiles are compared at an
    equal n."""

    query_parameters: ClassVar = (*ComparisonView.query_parameters, "slugs")

    @extend_schema(
        operation_id="compare_platforms",
        summary="Compare platforms",
        parameters=described(SLUGS_PARAMETER, *SELECTION_PARAMETERS),
        responses=ComparedPlatformsSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        slugs = chosen_slugs(request, "platforms")
        selection = self.select(request, "platforms", slugs)
        platforms = [position_of_slug("slugs", slug, selection.database.platforms) for slug in slugs]

        def build() -> dict[str, Any]:
            comparison = compare_platforms(selection.database, platforms, selection.snapshot.is_simulated)
            document = {
                "revision": comparison.revision,
                "platforms": [asdict(platform) for platform in comparison.platforms],
                "workloads": [
                    vars(workload)
                    | {
                        "platforms": [
                            profile_document(profile) | {name: getattr(profile, name) for name in SPEED_FIELDS}
                            for profile in workload.platforms
                        ]
                    }
                    for workload in comparison.workloads
                ],
            }
            is_empty = not comparison.workloads
            return document | provenance(selection, is_empty=is_empty, platform__slug__in=slugs)

        return self.answer(request, build)


class CompareWorkloads(ComparisonView):
    """Compare workloads on one platform. Workloads without measurements on it are omitted."""

    query_parameters: ClassVar = (*ComparisonView.query_parameters, "slugs", "on")

    @extend_schema(
        operation_id="compare_workloads",
        summary="Compare workloads",
        parameters=described(SLUGS_PARAMETER, ON_PARAMETER, *SELECTION_PARAMETERS),
        responses=ComparedWorkloadsSerializer,
    )
    def get(self, request: Request) -> HttpResponseBase:
        slugs = chosen_slugs(request, "workloads")
        on = slug_named("on", ON_PARAMETER.read(request), "platforms", request.user)
        selection = self.select(request, "workloads", slugs)
        database = selection.database
        workloads = [position_of_slug("slugs", slug, database.workloads) for slug in slugs]
        platform = position_of_slug("on", on, database.platforms)

        def build() -> dict[str, Any]:
            comparison = compare_workloads(database, platform, workloads, selection.snapshot.is_simulated)
            document = {
                "revision": comparison.revision,
                "platform": comparison.platform,
                "workloads": [
                    profile_document(profile) | {"workload": profile.workload} for profile in comparison.workloads
                ],
            }
            filters = {"platform__slug": on, "workload__slug__in": slugs}
            return document | provenance(selection, is_empty=not comparison.workloads, **filters)

        return self.answer(request, build)
