from django.urls import path

from predictor import (
    accuracy_views,
    comparison_views,
    home,
    ranking_views,
    scaling_views,
    settled_views,
    views,
    what_if_views,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("maps/workloads/", comparison_views.workloads_on_a_map, name="workload-map"),
    path("distances/platforms/", comparison_views.distances, {"kind": "platforms"}, name="platform-distances"),
    path("distances/workloads/", comparison_views.distances, {"kind": "workloads"}, name="workload-distances"),
    path("compare/platforms/", comparison_views.compare, {"kind": "platforms"}, name="compare-platforms"),
    path("compare/workloads/", comparison_views.compare, {"kind": "workloads"}, name="compare-workloads"),
    path("predict/", views.predict, name="predict"),
    path("predict/possible/", views.possible, name="predict-possible"),
    path("what-if/", what_if_views.what_if, name="what-if"),
    path("what-if/answer/", what_if_views.what_if_answer, name="what-if-answer"),
    path("ranking/", ranking_views.ranking, name="ranking"),
    path("accuracy/", accuracy_views.accuracy, name="accuracy"),
    path("accuracy/<uuid:uid>/", accuracy_views.evaluation, name="evaluation"),
    path("profiles/<uuid:uid>/beyond/", scaling_views.beyond, name="beyond"),
    path("settled/", settled_views.settled, name="settled"),
    path("predictions/<uuid:uid>/", views.prediction, name="prediction"),
    path("predictions/<uuid:uid>/measure-next/", views.measure_next, name="measure-next"),
]
