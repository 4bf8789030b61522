"""URLs of the pages about platforms, workloads and profiles."""

from django.urls import path

from profiles.pages import lists, own_prices, reporting, search, views

urlpatterns = [
    path("search/", search.search, name="search"),
    path("platforms/", lists.platforms, name="platforms"),
    path("platforms/<str:slug>/", views.platform, name="platform"),
    path("platforms/<str:slug>/wrong/", reporting.report_platform, name="report-platform"),
    path("workloads/", lists.workloads, name="workloads"),
    path("prices/mine/", own_prices.own_prices, name="own-prices"),
    path("prices/mine/prices.csv", own_prices.own_price_table, name="own-price-table"),
    path("prices/mine/delete/", own_prices.delete_own_prices, name="delete-own-prices"),
    path("profiles/", lists.profiles, name="profiles"),
    path("profiles/<uuid:uid>/", views.profile, name="profile"),
    path("profiles/<uuid:uid>/wrong/", reporting.report_profile, name="report-profile"),
]
