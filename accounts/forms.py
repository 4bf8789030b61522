"""The forms about accounts: to create one, its address, its password, its tokens."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, PasswordResetForm, SetPasswordForm, UserCreationForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.addresses import users_of_address
from accounts.mails import send_mail_to
from accounts.models import ApiToken

MOST_ACCOUNTS_IN_MAIL = 20
LIFETIMES = [("30", "30 days"), ("365", "a year"), ("", "until it is revoked")]


class SignUpForm(UserCreationForm):
    class Meta(UserCreationForm.Meta):
        model = User
        fields = ("username", "email")
        help_texts = {
            "email": "Optional. One mail with a link is sent to it. Once that is opened, a forgotten password can be "
            "set anew by mail; nothing else is sent."
        }


class AddressForm(forms.ModelForm):
    """A new address takes the password: it can be used to set a new one."""

    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}), label="Your password"
    )

    class Meta:
        model = User
        fields = ("email",)

    def clean_password(self) -> None:
        if not self.instance.check_password(self.cleaned_data["password"]):
            raise forms.ValidationError("This is not your password.")


class ClosingForm(forms.Form):
    """To delete an account: its password, and what becomes of what is public."""

    DELETE, LEAVE = "delete", "leave"

    public_uploads = forms.ChoiceField(
        label="Your public uploads",
        choices=[
            (DELETE, "Delete them, too: with their profiles, for everybody"),
            (LEAVE, "Leave them: they stay public, without your name, and nobody can delete them for you later"),
        ],
        widget=forms.RadioSelect,
    )
    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}), label="Your password"
    )

    def __init__(self, *args: Any, user: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> None:
        if not self.user.check_password(self.cleaned_data["password"]):
            raise forms.ValidationError("This is not your password.")


class ForgottenPasswordForm(PasswordResetForm):
    """One mail to a confirmed address, whoever many accounts have it; whether it was sent is told to nobody."""

    def save(self, *_args: Any, request: HttpRequest, **_options: Any) -> None:  # type: ignore[override]
        users = [user for user in users_of_address(self.cleaned_data["email"]) if user.has_usable_password()]
        accounts = [
            (user.get_username(), reset_link(request, user))
            for user in users[:MOST_ACCOUNTS_IN_MAIL]
            if user.email == users[0].email
        ]
        if accounts:
            context = {"accounts": accounts, "site": request.get_host()}
            send_mail_to(users[0].email, "A new password", "accounts/reset_mail.txt", context)


def reset_link(request: HttpRequest, user: Any) -> str:
    key = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    return request.build_absolute_uri(reverse("password_reset_confirm", args=[key, token]))


class RevokingTokens(forms.Form):
    """Of a form that sets a password, which ends all other sessions: on request, it revokes the tokens, too."""

    user: Any
    revoke_tokens = forms.BooleanField(
        required=False,
        label="Revoke my API tokens, too",
        help_text="All other sessions end in any case. Programs that use a token stop until they are given a new one.",
    )

    def save(self, commit: bool = True) -> Any:
        user = super().save(commit)  # type: ignore[misc]
        if self.cleaned_data["revoke_tokens"]:
            ApiToken.objects.filter(user=user).revoke()
        return user


class NewPasswordForm(RevokingTokens, SetPasswordForm):
    field_order = ("new_password1", "new_password2", "revoke_tokens")


class ChangedPasswordForm(RevokingTokens, PasswordChangeForm):
    field_order = ("old_password", "new_password1", "new_password2", "revoke_tokens")


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, required=False, help_text="What it is for, so that you know it again.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices)
    lifetime = forms.ChoiceField(choices=LIFETIMES, required=False, initial="365", label="Valid for")

    def clean_lifetime(self) -> timedelta | None:
        days = self.cleaned_data["lifetime"]
        return timedelta(days=int(days)) if days else None
