"""The addresses of the pages about accounts."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("accounts/login/", views.LoginView.as_view(), name="login"),
    path("accounts/signup/", views.SignUpView.as_view(), name="signup"),
    path("accounts/tokens/", views.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", views.revoke_token, name="revoke-token"),
]
