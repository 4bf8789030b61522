"""Forms of moderators' decisions: the reason, and the details of the decision."""

from __future__ import annotations

from typing import Any

from django import forms

from profiles.models import Platform, Profile
from profiles.models.moderation import LONGEST_DECISION_REASON


class DecisionForm(forms.Form):
    reason = forms.CharField(
        label="Why", max_length=LONGEST_DECISION_REASON, help_text="Stored in the log, which only moderators see."
    )


class HandledForm(DecisionForm):
    """A form that removes the chosen rows from the queue."""

    keys = forms.TypedMultipleChoiceField(coerce=int, error_messages={"required": "Choose at least one row."})

    def __init__(self, *args: Any, keys: list[int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        keys_field: Any = self.fields["keys"]
        keys_field.choices = [(key, str(key)) for key in keys]


class MergeDecisionForm(DecisionForm):
    field_order = ("kept", "reason")
    kept = forms.CharField(label="Merge into (name of the machine in addresses)", max_length=200)

    def clean_kept(self) -> Platform:
        slug = self.cleaned_data["kept"].strip()
        kept = Platform.objects.visible_to(None).filter(slug=slug).first()
        if kept is None:
            raise forms.ValidationError(f"There is no public machine {slug!r}.")
        return kept


class JudgementDecisionForm(DecisionForm):
    field_order = ("outlier_reason", "reason")
    outlier_reason = forms.CharField(
        label="Why predictions exclude it",
        required=False,
        max_length=Profile._meta.get_field("outlier_reason").max_length,
        help_text="Shown on its page. If empty, predictions prefer it to other owners' measurements of the same pair.",
    )
