"""Querysets of the models, with one method for each kind of query.

Every list, count and look-up for a person or a prediction starts with `visible_to`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from django.db import models
from django.db.models import Case, Count, Exists, F, Max, Min, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, Left, StrIndex

PROFILES_PER_QUERY = 500
VALUES_PER_QUERY = 400  # values in one IN (...), so that two lists stay below SQLite's limit of 999
STRESS_NG_EVERYWHERE = ("stress-ng/cpu", "stress-ng/cpu-div16")  # the stressors that all datasets and the kit ran
KIT_GENERATOR = "mpet-kit "  # followed by the version: the generator of the kit's own workloads


def key_chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the distinct values in their order, in lists that fit into one IN (...)."""
    ordered = list(dict.fromkeys(values))
    for start in range(0, len(ordered), VALUES_PER_QUERY):
        yield ordered[start : start + VALUES_PER_QUERY]


def visible(user: Any, relation: str = "") -> Q:
    """Return the condition of `visible_to` for rows at the other end of a relation ("profiles__")."""
    public = Q(**{f"{relation}private_to__isnull": True})
    if user is None or not user.is_authenticated:
        return public
    return public | Q(**{f"{relation}private_to": user})


class VisibleQuerySet(models.QuerySet):
    def visible_to(self, user: Any) -> Self:
        """Return the public rows and the user's own private rows."""
        return self.filter(visible(user))

    def public(self) -> Self:
        return self.filter(private_to__isnull=True)


class ModeratedQuerySet(VisibleQuerySet):
    def visible_to(self, user: Any) -> Self:
        """Return the rows visible to the user. Rows that a moderator hid are never visible (profiles.moderation)."""
        return super().visible_to(user).filter(hidden=False)

    def _profiles(self, user: Any) -> models.QuerySet:
        """Return the profiles of the outer row that the user sees."""
        relation: Any = self.model._meta.get_field("profiles")
        profiles = relation.related_model.objects.visible_to(user)
        return profiles.filter(**{relation.field.name: OuterRef("pk")}).order_by()


class MeasuredQuerySet(ModeratedQuerySet):
    """Queryset of the rows that have profiles: platforms and workloads."""

    searched: tuple[str, ...] = ("name", "slug")
    named_by: tuple[str, ...] = ("slug", "name")

    def in_api(self, user: Any) -> Self:
        """Annotate the rows with the number of profiles that the user sees, and their first and last origin by name.

        The annotations are subqueries, which the database evaluates for the rows of one page only.
        """
        return self.visible_to(user).annotate(
            profile_count=Coalesce(Subquery(self._over_profiles(user, Count("pk"))), 0),
            first_origin=Subquery(self._over_profiles(user, Min("origin"))),
            last_origin=Subquery(self._over_profiles(user, Max("origin"))),
        )

    def offered_to(self, user: Any, *, scaling: bool = False) -> Self:
        """Return the rows with a visible profile, as choices of a form field.

        With `scaling`, the profile must have been measured with more than one thread.
        """
        profiles = self._profiles(user).filter(n_largest__gt=1) if scaling else self._profiles(user)
        return self.visible_to(user).filter(Exists(profiles)).only(*self.named_by)

    def _over_profiles(self, user: Any, aggregate: models.Aggregate) -> models.QuerySet:
        relation: Any = self.model._meta.get_field("profiles")
        name = relation.field.name
        return self._profiles(user).values(name).annotate(over=aggregate).values("over")

    def values_in(self, column: str) -> list[str]:
        """Return the distinct known values of a column, as choices of a filter."""
        return list(self.exclude(**{column: None}).order_by(column).values_list(column, flat=True).distinct())

    def search(self, text: str) -> Self:
        """Return the rows in which every word of the text occurs in one of the searched columns."""
        rows = self
        for word in text.split():
            rows = rows.filter(Q(*[(f"{field}__icontains", word) for field in self.searched], _connector=Q.OR))
        return rows


# The cloud provider: the name before the first slash ("aws" of "aws/c7a.large"), as fetch_data names machines. It is
# null for names without a slash.
PROVIDER = Case(
    When(Q(name__contains="/") & ~Q(name__startswith="/"), then=Left("name", StrIndex("name", Value("/")) - 1)),
    default=None,
    output_field=models.CharField(),
)


class PlatformQuerySet(MeasuredQuerySet):
    def in_api(self, user: Any) -> Self:
        return super().in_api(user).annotate(provider=PROVIDER)

    def merged_from(self, slug: str) -> Self:
        """Return the platform into which the platform with this slug was merged (profiles.moderation)."""
        old = self.model._default_manager.filter(slug=slug, merged_into__isnull=False)
        return self.filter(pk__in=old.values("merged_into"))

    def only_simulated(self, user: Any) -> Self:
        """Return the platforms with simulated profiles only, among the profiles that the user sees."""
        profiles = self._profiles(user)
        return self.filter(Exists(profiles.filter(origin="simulated"))).exclude(
            Exists(profiles.exclude(origin="simulated"))
        )

    searched = ("name", "slug", "cpu_model", "vendor", "architecture", "microarchitecture")


class WorkloadQuerySet(MeasuredQuerySet):
    searched = ("name", "slug", "application", "section", "runtime", "strategy")
    named_by = ("slug", "name", "input", "version")


class DescriptionQuerySet(models.QuerySet):
    def visible_to(self, user: Any) -> Self:
        """Return the descriptions of deliveries that the user sees."""
        return self.filter(visible(user, "source__"), source__hidden=False)

    def toolchains(self, limit: int) -> list[tuple[str | None, ...]]:
        """Return the distinct combinations of compiler, compiler flags and kernel in the newest descriptions.

        The database extracts these from the facts, because the facts can be long.
        """
        names = ("facts__compiler", "facts__compiler_flags", "facts__kernel")
        rows = self.order_by("-pk").values_list(*names)[:limit]
        return [row for row in dict.fromkeys(rows) if any(row)]

    def differing_for(self, user: Any) -> Self:
        """Return the visible descriptions that differ from their row, newest first, without the long facts."""
        return (
            self.visible_to(user).filter(differs=True).select_related("source__upload").defer("facts").order_by("-pk")
        )


# Sources that are credited wherever their numbers are shown: datasets, and uploads with a licence.
IS_CREDITED = Q(kind="dataset") | ~Q(licence="")


class SourceQuerySet(ModeratedQuerySet):
    def credited_behind(self, user: Any, origin: str = "", **profiles: Any) -> Self:
        """Return the sources to credit for the profiles of this origin that the user sees, filtered further by
        `profiles`."""
        visible_profiles = self._profiles(user).filter(**profiles)
        if origin:
            visible_profiles = visible_profiles.filter(origin=origin)
        return self.filter(IS_CREDITED, Exists(visible_profiles))

    def credited_with(self, profiles: Any) -> Self:
        """Return the sources to credit where these profiles are shown."""
        keys = {profile.source_id for profile in profiles}
        return self.filter(IS_CREDITED, pk__in=keys)

    def credits(self) -> list[dict[str, str]]:
        """Return the credits: each dataset with its source and licence, and the number of uploads by source and
        licence."""
        named = Case(When(kind="dataset", then=F("label")), default=Value(""))
        counts = self.order_by().annotate(named=named).values("named", "licence", "citation").annotate(many=Count("pk"))
        return [
            {
                "label": row["named"] or f"{row['many']} upload{'s' if row['many'] > 1 else ''}",
                "licence": row["licence"],
                "citation": row["citation"],
            }
            for row in sorted(counts, key=lambda row: (not row["named"], row["named"], row["licence"]))
        ]

    def with_ceilings_of(self, platform: Any, user: Any) -> Self:
        """Return the deliveries that also measured the platform's roofline, newest first."""
        profiles = self._profiles(user).filter(platform=platform)
        return self.visible_to(user).filter(Exists(profiles), environment__has_key="roofline")

    def latest_seen_by(self, user: Any, most: int) -> Self:
        """Return the newest sources with profiles that the user sees, annotated with the number of these profiles."""
        profiles = self._profiles(user)
        # The sources are selected first, so that profiles are counted for these sources only.
        newest = self.visible_to(user).filter(Exists(profiles))[:most]
        count = profiles.values("source").annotate(over=Count("pk")).values("over")
        return self.filter(pk__in=newest.values("pk")).annotate(profile_count=Subquery(count))

    def credited_to(self, user: Any) -> Self:
        """Return all sources to credit for the data that the user sees."""
        return self.visible_to(user).filter(IS_CREDITED)


class PriceQuerySet(models.QuerySet):
    listed_by: tuple[str, ...] = ("platform", "currency", "per", "region", "kind")

    def newest(self) -> Self:
        """Return the newest price of each platform, currency, unit, region and kind."""
        same = self.model._default_manager.filter(**{name: OuterRef(name) for name in self.listed_by})
        return self.filter(pk=Subquery(same.order_by("-date").values("pk")[:1]))

    def visible_to(self, user: Any) -> Self:
        """Return the prices of platforms that the user sees."""
        platforms: Any = self.model._meta.get_field("platform")
        return self.filter(platform__in=platforms.related_model.objects.visible_to(user))

    def regions(self) -> list[str]:
        return list(self.exclude(region="").order_by("region").values_list("region", flat=True).distinct())


class OwnPriceQuerySet(PriceQuerySet):
    listed_by = ("price_list", *PriceQuerySet.listed_by)


LONG_TEXTS_OF_SOURCE = tuple(f"source__{name}" for name in ("licence", "citation", "note", "environment", "log"))


class ProfileQuerySet(ModeratedQuerySet):
    searched = {
        "platform": ("slug", "name"),
        "workload": ("slug", "name"),
        "source": ("label",),
    }
    csv_columns = (
        *("uid", "origin", "decomposed", "t1_s", "t1_is_stand_in", "n_measured", "n_min", "n_largest", "fit_error"),
        *("run_count", "disturbed_count", "standard_error", "warnings", "outlier_reason", "private_to"),
    )

    def search(self, text: str) -> Self:
        """Return the profiles that match every word of the text in their platform, workload or source.

        The words are looked up in these small tables instead of a join with all profiles.
        """
        rows = self
        for word in text.split():
            named = Q()
            for relation, columns in self.searched.items():
                field: Any = self.model._meta.get_field(relation)
                contains = Q(*[(f"{column}__icontains", word) for column in columns], _connector=Q.OR)
                matching = field.related_model._default_manager.filter(contains).order_by()
                named |= Q(**{f"{relation}__in": matching.values("pk")})
            rows = rows.filter(named)
        return rows

    def listed_for(self, user: Any) -> Self:
        """Return the profiles for the list page, with the rows that links and badges need."""
        return self.visible_to(user).select_related("platform", "workload", "source").defer(*LONG_TEXTS_OF_SOURCE)

    def has_private_of(self, user: Any) -> bool:
        """Return whether any of the profiles is private to the user."""
        return bool(user.is_authenticated and self.filter(private_to=user.pk).exists())

    def candidates_for(self, user: Any, *, outliers: bool = False) -> Self:
        """Return the profiles that the user's predictions may use: all visible ones except emulated ones.

        Outliers are included only with `outliers`.
        """
        rows = self.visible_to(user).exclude(origin="emulated")
        return rows if outliers else rows.filter(outlier_reason="")

    def on_platform_page(self, platform: Any, user: Any) -> Self:
        return self._on_page(user, "workload").filter(platform=platform).order_by("workload__slug", "pk")

    def on_workload_page(self, workload: Any, user: Any) -> Self:
        return self._on_page(user, "platform").filter(workload=workload).order_by("platform__slug", "pk")

    def _on_page(self, user: Any, other: str) -> Self:
        return self.visible_to(user).select_related(other, "curves", "source").defer(*LONG_TEXTS_OF_SOURCE)

    def on_profile_page(self, user: Any) -> Self:
        related = ("platform", "workload", "source", "source__upload", "curves", "feature_vector")
        return self.visible_to(user).select_related(*related)

    def as_csv_rows(self, user: Any) -> Self:
        """Return the profiles with no other columns of their related rows than the CSV has."""
        related = ("platform__slug", "workload__slug", "workload__time_kind", "source__label", "source__licence")
        return self._with_related(user).only(*self.csv_columns, *related, "source__upload__uid")

    def in_api(self, user: Any) -> Self:
        return self._with_related(user).select_related("curves", "feature_vector")

    def _with_related(self, user: Any) -> Self:
        return self.visible_to(user).select_related("platform", "workload", "source", "source__upload")

    def load_on(self, platform: Any, user: Any) -> dict[str, int] | None:
        """Return how many runs on the platform were checked and how many of them were disturbed, or None without
        checks."""
        judged = self.visible_to(user).filter(platform=platform, disturbed_count__isnull=False).order_by()
        load = judged.aggregate(judged_runs=Sum("run_count"), disturbed_runs=Sum("disturbed_count"))
        return None if load["judged_runs"] is None else load

    def of_stress_ng(self) -> Self:
        """Return the stress-ng profiles that show which version (`workload__version`) ran on which platforms."""
        workload: Any = self.model._meta.get_field("workload")
        named = workload.related_model.objects.filter(name__in=STRESS_NG_EVERYWHERE, version__isnull=False)
        return self.filter(workload__in=named).order_by()  # a join would read all profiles

    def workloads_of_kit(self, user: Any) -> models.QuerySet[Any, dict[str, Any]]:
        """Return the number of the benchmark kit's workloads of each platform, as dictionaries with `platform__slug`
        and `workloads`."""
        rows = self.candidates_for(user).filter(origin="measured", source__generator__startswith=KIT_GENERATOR)
        by_platform = rows.order_by().values("platform__slug")
        return by_platform.annotate(workloads=Count("workload", distinct=True))
