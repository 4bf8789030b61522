from django.urls import path

from predictor.api import views

urlpatterns = [
    path("distances/platforms/", views.PlatformDistance.as_view(), name="api-platform-distance"),
    path("distances/workloads/", views.WorkloadDistance.as_view(), name="api-workload-distance"),
    path("predictions/", views.PredictionList.as_view(), name="api-predictions"),
    path("predictions/<uuid:id>/", views.PredictionDetail.as_view(), name="api-prediction"),
    path("methods/", views.MethodList.as_view(), name="api-methods"),
]
