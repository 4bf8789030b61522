"""URLs of the API for platforms, workloads and profiles."""

from django.urls import path

from profiles.api import files, views

urlpatterns = [
    path("platforms/", views.PlatformList.as_view(), name="api-platforms"),
    path("platforms/<slug:slug>/", views.PlatformDetail.as_view(), name="api-platform"),
    path("prices/", views.PriceList.as_view(), name="api-prices"),
    path("prices/mine/", views.OwnPrices.as_view(), name="api-own-prices"),
    path("workloads/", views.WorkloadList.as_view(), name="api-workloads"),
    path("workloads/<slug:slug>/", views.WorkloadDetail.as_view(), name="api-workload"),
    path("profiles/", views.ProfileList.as_view(), name="api-profiles"),
    path("profiles/<uuid:id>/", views.ProfileDetail.as_view(), name="api-profile"),
    path("profiles/<uuid:id>/extra-p/", files.ProfileExtraP.as_view(), name="api-profile-extra-p"),
    path("profiles/<uuid:id>/extra-p-lines/", files.ProfileExtraPLines.as_view(), name="api-profile-extra-p-lines"),
    path("profiles/<uuid:id>/runs/", files.ProfileRuns.as_view(), name="api-profile-runs"),
    path("search/", views.Search.as_view(), name="api-search"),
    path("dump/", files.PublicDumpView.as_view(), name="api-dump"),
    path("dump/<slug:form>/", files.PublicDumpFile.as_view(), name="api-dump-file"),
]
