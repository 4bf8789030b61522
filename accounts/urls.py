"""URLs of the pages about accounts.

The URLs of django-allauth are also below `accounts/` (mpet_site/urls.py). The ones that check secrets or send mail are
overridden here with rate limits. Former URLs redirect to the present ones.
"""

from allauth.account import views as account_views
from allauth.account.decorators import secure_admin_login
from allauth.mfa.base import views as mfa_views
from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

from accounts import views
from mpet_site.web.throttling import limit_posts

FORMER = {  # former path -> name of the URL that replaces it
    "password_change/": "password_change",
    "password_change/done/": "account",
    "password_reset/": "password_reset",
    "password_reset/done/": "account_reset_password_done",
    "reset/done/": "account_reset_password_from_key_done",
    "reset/<uidb64>/<token>/": "password_reset",
    "address/": "address",
    "address/<str:token>/": "address",
}


class FormerAddress(RedirectView):
    """A redirect from a former URL. It drops the arguments, which were only valid for the former page."""

    permanent = True

    def get_redirect_url(self, *args: object, **kwargs: object) -> str | None:
        return super().get_redirect_url()


urlpatterns = [
    path("accounts/login/", limit_posts("login")(account_views.login), name="login"),
    path("accounts/logout/", account_views.logout, name="logout"),
    path("accounts/signup/", limit_posts("signup")(account_views.signup), name="signup"),
    path("accounts/email/", limit_posts("reset")(account_views.email), name="address"),
    path("accounts/password/change/", limit_posts("login")(account_views.password_change), name="password_change"),
    path("accounts/password/reset/", limit_posts("reset")(account_views.password_reset), name="password_reset"),
    path("accounts/reauthenticate/", limit_posts("login")(account_views.reauthenticate), name="reauthenticate"),
    path("accounts/2fa/authenticate/", limit_posts("login")(mfa_views.authenticate), name="second-factor"),
    path("accounts/2fa/reauthenticate/", limit_posts("login")(mfa_views.reauthenticate), name="second-factor-again"),
    *(path(f"accounts/{former}", FormerAddress.as_view(pattern_name=name)) for former, name in FORMER.items()),
    path("accounts/me/", views.account, name="account"),
    path("accounts/export/", views.export_account, name="export-account"),
    path("accounts/delete/", limit_posts("login")(views.delete_account), name="delete-account"),
    path("accounts/tokens/", views.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", views.revoke_token, name="revoke-token"),
    path("accounts/tokens/<int:pk>/rotate/", views.rotate_token, name="rotate-token"),
    path("accounts/device/", limit_posts("login")(views.device_login), name="device-login"),
    path("admin/login/", limit_posts("login")(secure_admin_login(admin.site.login)), name="admin-login"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password_change"), name="admin-password"),
]
