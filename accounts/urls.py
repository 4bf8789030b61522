"""The addresses of the pages about accounts."""

from django.contrib.auth.views import PasswordChangeView, PasswordResetConfirmView
from django.urls import path
from django.views.generic import RedirectView

from accounts import views
from accounts.forms import ChangedPasswordForm, NewPasswordForm

urlpatterns = [
    path("accounts/login/", views.LoginView.as_view(), name="login"),
    path("accounts/signup/", views.SignUpView.as_view(), name="signup"),
    path("accounts/me/", views.account, name="account"),
    path("accounts/export/", views.export_account, name="export-account"),
    path("accounts/delete/", views.ClosingView.as_view(), name="delete-account"),
    path("accounts/address/", views.AddressView.as_view(), name="address"),
    path("accounts/address/<str:token>/", views.confirm_address_link, name="confirm-address"),
    path(
        "accounts/password_change/",
        PasswordChangeView.as_view(form_class=ChangedPasswordForm),
        name="password_change",
    ),
    path("accounts/password_reset/", views.ForgottenPasswordView.as_view(), name="password_reset"),
    path(
        "accounts/reset/<uidb64>/<token>/",
        PasswordResetConfirmView.as_view(form_class=NewPasswordForm),
        name="password_reset_confirm",
    ),
    path("admin/login/", views.admin_login, name="admin-login"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="password_change"), name="admin-password"),
    path("accounts/tokens/", views.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", views.revoke_token, name="revoke-token"),
    path("accounts/tokens/<int:pk>/rotate/", views.rotate_token, name="rotate-token"),
]
