"""The forms to create an account and to make a token."""

from datetime import datetime, timedelta

from django import forms
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.utils import timezone

from accounts.models import ApiToken

LIFETIMES = [("30", "30 days"), ("365", "a year"), ("", "until it is revoked")]


class SignUpForm(UserCreationForm):
    class Meta(UserCreationForm.Meta):
        model = User
        fields = ("username", "email")
        help_texts = {"email": "Optional. A forgotten password can be set anew by mail to it; nothing else is sent."}


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, required=False, help_text="What it is for, so that you know it again.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices)
    lifetime = forms.ChoiceField(choices=LIFETIMES, required=False, initial="365", label="Valid for")

    def clean_lifetime(self) -> datetime | None:
        days = self.cleaned_data["lifetime"]
        return timezone.now() + timedelta(days=int(days)) if days else None
