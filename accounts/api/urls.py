"""URLs of the API about accounts."""

from django.urls import path

from accounts.api import views

urlpatterns = [
    path("tokens/", views.TokenList.as_view(), name="api-tokens"),
    path("login/", views.BeginLogin.as_view(), name="api-begin-login"),
    path("login/token/", views.HandOutToken.as_view(), name="api-hand-out-token"),
    path("account/", views.AccountView.as_view(), name="api-account"),
    path("account/export/", views.AccountExport.as_view(), name="api-account-export"),
]
