"""Forms of accounts: forgotten and new passwords, tokens, and deletion."""

from datetime import timedelta
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import ChangePasswordForm, ResetPasswordForm, ResetPasswordKeyForm, default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django import forms
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.template.loader import render_to_string

from accounts.adapter import host_in_mails
from accounts.device_logins import LoginNotKnown, waiting_login
from accounts.mails import send_message, users_of_address
from accounts.models import ApiToken

MOST_ACCOUNTS_IN_MAIL = 20
LIFETIMES = [("30", "30 days"), ("365", "a year"), ("", "until it is revoked")]


class ClosingForm(forms.Form):
    """A form to delete an account. It asks for the password and whether to keep public uploads."""

    DELETE, LEAVE = "delete", "leave"

    public_uploads = forms.ChoiceField(
        label="Your public uploads",
        choices=[
            (DELETE, "Delete them and their profiles, for everybody"),
            (LEAVE, "Keep them public, without your name; nobody can delete them for you later"),
        ],
        widget=forms.RadioSelect,
    )
    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}), label="Your password"
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        # A user who signs in with an identity provider has no password, and has just signed in again.
        if not user.has_usable_password():
            del self.fields["password"]

    def clean_password(self) -> None:
        if not self.user.check_password(self.cleaned_data["password"]):
            raise forms.ValidationError("This is not your password.")


class ForgottenPasswordForm(ResetPasswordForm):
    """A form that sends one mail for all accounts of a verified address. No response reveals whether it was sent."""

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"]).lower()

    def save(self, request: HttpRequest, **_options: Any) -> str:
        email: str = self.cleaned_data["email"]
        users = [user for user in users_of_address(email) if user.has_usable_password()]
        accounts = []
        for user in users[:MOST_ACCOUNTS_IN_MAIL]:
            key = f"{user_pk_to_url_str(user)}-{default_token_generator.make_token(user)}"
            accounts.append((user.get_username(), get_adapter(request).get_reset_password_from_key_url(key)))
        if accounts:
            context = {"accounts": accounts, "site": host_in_mails(request)}
            text = render_to_string("accounts/reset_mail.txt", context)
            send_message(EmailMessage("[MPET] A new password", text, to=[email]))
        return email


class RevokingTokens(forms.Form):
    """A mixin for forms that set a password, which ends all other sessions. On request it also revokes the API
    tokens."""

    user: Any
    revoke_tokens = forms.BooleanField(
        required=False,
        label="Revoke my API tokens, too",
        help_text="All other sessions end in any case. Programs with a revoked token need a new one.",
    )

    def save(self) -> None:
        super().save()  # type: ignore[misc]
        if self.cleaned_data["revoke_tokens"]:
            ApiToken.objects.filter(user=self.user).revoke()


class NewPasswordForm(RevokingTokens, ResetPasswordKeyForm):
    field_order = ("password1", "password2", "revoke_tokens")


class ChangedPasswordForm(RevokingTokens, ChangePasswordForm):
    field_order = ("oldpassword", "password1", "password2", "revoke_tokens")


class DeviceCodeForm(forms.Form):
    """A form for the code that a program shows."""

    code = forms.CharField(
        max_length=20,
        label="Code",
        help_text="Eight letters, as the program shows them.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )

    def clean_code(self) -> str:
        code = str(self.cleaned_data["code"])
        try:
            waiting_login(code)
        except LoginNotKnown as error:
            message = (
                "No program waits for this code. A code expires after ten minutes; the program then shows a new one."
            )
            raise forms.ValidationError(message) from error
        return code


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, required=False, help_text="What you use the token for.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices)
    lifetime = forms.ChoiceField(choices=LIFETIMES, required=False, initial="365", label="Valid for")

    def clean_lifetime(self) -> timedelta | None:
        days = self.cleaned_data["lifetime"]
        return timedelta(days=int(days)) if days else None
