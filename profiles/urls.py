from django.urls import path

from profiles import views

urlpatterns = [
    path("platforms/", views.platforms, name="platforms"),
    path("platforms/<str:slug>/", views.platform, name="platform"),
    path("workloads/", views.workloads, name="workloads"),
    path("workloads/<str:slug>/", views.workload, name="workload"),
    path("profiles/", views.profiles, name="profiles"),
    path("profiles/<uuid:uid>/", views.profile, name="profile"),
]
