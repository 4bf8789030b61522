"""Reads, named for the page that asks. Evaluations are of public profiles alone, so everybody sees all of them."""

from __future__ import annotations

from typing import Any, Self

from django.db.models import Exists, F, OuterRef, Prefetch, Q, QuerySet

from profiles.models import Profile
from profiles.models.querysets import VisibleQuerySet

# What another owner measured too may settle a prediction, though predictions use the other's.
OF_DOUBTFUL = Q(
    settled_by__outlier_reason__gt="",
    settled_by__outlier_judge__in=["", *(code for code in Profile.Judge if code != Profile.Judge.SECOND)],
)
TO_SETTLE = Q(settled_at=None) | Q(settled_by__hidden=True) | OF_DOUBTFUL


class PredictionQuerySet(VisibleQuerySet):
    def asked_by(self, user: Any) -> Self:
        """The user's own predictions: those that are private to the user, and the public ones that the user asked
        for."""
        return self.filter(self._is_own(user))

    def _is_own(self, user: Any) -> Q:
        asked: Any = self.model._meta.get_field("askers")
        by_user = asked.related_model.objects.filter(user_id=user.pk, prediction=OuterRef("pk"))
        return Q(private_to=user.pk) | Q(Exists(by_user))

    def mine(self, user: Any) -> Self:
        """A row of the list of the user's own, the newest first; without the long answers."""
        return self.asked_by(user).defer("answer").order_by("-created_at", "-pk")

    def listed_for(self, user: Any) -> Self:
        """The validated predictions that the user sees, the newest settlement first, and then the user's own."""
        if not user.is_authenticated:
            return self.settled_for(user)
        rows = self.visible_to(user).filter(self._is_own(user) | ~TO_SETTLE)
        return rows.defer("answer").order_by(F("settled_at").desc(nulls_last=True), "-pk")

    def settled(self) -> Self:
        """The settled predictions, as `Prediction.is_settled` defines it."""
        return self.exclude(TO_SETTLE)

    def to_settle(self) -> Self:
        """The predictions that nothing has settled yet, or nothing that still stands, or a measurement that does not
        count towards the score because of its owner."""
        return self.filter(TO_SETTLE | Q(doubt__gt=""))

    def settled_for(self, user: Any, origin: str = "") -> Self:
        """The predictions whose pair was measured later, the newest settlement first; without the long answers."""
        rows = self.visible_to(user).settled()
        if origin:
            rows = rows.filter(settled_origin=origin)
        return rows.defer("answer").order_by("-settled_at", "-pk")

    def settled_origins(self, user: Any) -> set[str]:
        rows = self.visible_to(user).settled()
        return set(rows.order_by().values_list("settled_origin", flat=True).distinct())


class EvaluationQuerySet(QuerySet):
    def listed(self) -> Self:
        """A row of the list: without pairs and errors, which can be long."""
        return self._with_methods("errors_full", "errors_t1", "errors_scaling").defer("pairs")

    def newest_with_baselines(self) -> Any:
        """The newest one that compares with baselines; where there is none, the newest; None where nothing is."""
        return self.filter(methods__is_baseline=True).distinct().first() or self.first()

    def with_errors(self) -> Self:
        """One evaluation in full, for its page and its CSV."""
        return self._with_methods()

    def history(self, origin: str, holdout: str, probes: int | None) -> list[dict[str, Any]]:
        """Every method's statistics of like evaluations, oldest first: revision, name, version, statistics, when."""
        rows = self.filter(origin=origin, holdout=holdout, probes=probes).order_by("revision", "created_at", "pk")
        return list(
            rows.values(
                "revision",
                "created_at",
                "uid",
                "methods__name",
                "methods__version",
                "methods__statistics",
            )
        )

    def _with_methods(self, *deferred: str) -> Self:
        related: Any = self.model._meta.get_field("methods").related_model
        methods = related.objects.defer(*deferred).order_by("position")
        return self.prefetch_related(Prefetch("methods", queryset=methods))
