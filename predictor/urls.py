"""URLs of the pages about predictions."""

from django.urls import path

from predictor.pages import (
    accuracy,
    comparisons,
    distances,
    extrapolation,
    home,
    prediction_lists,
    predictions,
    programs,
    ranking,
    sharing,
    what_if,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("maps/workloads/", distances.workloads_on_a_map, name="workload-map"),
    path("distances/platforms/", distances.distances, {"kind": "platforms"}, name="platform-distances"),
    path("distances/workloads/", distances.distances, {"kind": "workloads"}, name="workload-distances"),
    path("compare/platforms/", comparisons.compare, {"kind": "platforms"}, name="compare-platforms"),
    path("compare/workloads/", comparisons.compare, {"kind": "workloads"}, name="compare-workloads"),
    path("predict/", predictions.prediction_form, name="predict"),
    path("predict/possible/", predictions.possible, name="predict-possible"),
    path("what-if/", what_if.what_if, name="what-if"),
    path("what-if/answer/", what_if.what_if_answer, name="what-if-answer"),
    path("workloads/<str:slug>/", ranking.workload, name="workload"),
    path("workloads/<str:slug>/badge.svg", sharing.workload_badge, name="workload-badge"),
    path("programs/<uuid:uid>/<slug:slug>/", ranking.program, name="program"),
    path("programs/<uuid:uid>/<slug:slug>/rename/", programs.rename_region, name="rename-region"),
    path("programs/<uuid:uid>/<slug:slug>/badge.svg", sharing.program_badge, name="program-badge"),
    path(
        "programs/<uuid:uid>/<slug:slug>/measure-next/", programs.program_next_measurements, name="program-measure-next"
    ),
    path("ranking/", ranking.ranking, name="ranking"),
    path("accuracy/", accuracy.accuracy, name="accuracy"),
    path("accuracy/<uuid:uid>/", accuracy.evaluation, name="evaluation"),
    path("profiles/<uuid:uid>/beyond/", extrapolation.beyond, name="beyond"),
    path("settled/", prediction_lists.settled, name="settled"),
    path("predictions/mine/", prediction_lists.own_predictions, name="own-predictions"),
    path("predictions/mine/delete/", prediction_lists.delete_predictions, name="delete-predictions"),
    path("predictions/<uuid:uid>/delete/", prediction_lists.delete_prediction, name="delete-prediction"),
    path("predictions/answer/", predictions.unstored_answer, name="unstored-answer"),
    path("predictions/answer/why/", predictions.why_of_question, name="unstored-why"),
    path("predictions/answer/measure-next/", predictions.next_measurements_of_question, name="unstored-measure-next"),
    path("predictions/<uuid:uid>/", predictions.prediction, name="prediction"),
    path("predictions/<uuid:uid>/badge.svg", sharing.badge, name="badge"),
    path("predictions/<uuid:uid>/embed/", sharing.embed, name="embed"),
    path("predictions/<uuid:uid>/picture.png", sharing.picture_of_prediction, name="picture-of-prediction"),
    path("predictions/<uuid:uid>/why/", predictions.why_page, name="why"),
    path("predictions/<uuid:uid>/measure-next/", predictions.next_measurements_page, name="measure-next"),
]
