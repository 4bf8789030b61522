"""URLs of the API of predictions."""

from django.urls import path

from predictor.api import (
    batches,
    comparisons,
    distances,
    evaluations,
    methods,
    predictions,
    previews,
    rankings,
    scaling_models,
    settled,
)

urlpatterns = [
    path("distances/platforms/", distances.PlatformDistance.as_view(), name="api-platform-distance"),
    path("distances/workloads/", distances.WorkloadDistance.as_view(), name="api-workload-distance"),
    path("distances/platforms/matrix/", distances.PlatformMatrix.as_view(), name="api-platform-matrix"),
    path("distances/workloads/matrix/", distances.WorkloadMatrix.as_view(), name="api-workload-matrix"),
    path("distances/workloads/map/", distances.WorkloadMap.as_view(), name="api-workload-map"),
    path("compare/platforms/", comparisons.ComparePlatforms.as_view(), name="api-compare-platforms"),
    path("compare/workloads/", comparisons.CompareWorkloads.as_view(), name="api-compare-workloads"),
    path("advice/", previews.AdviceView.as_view(), name="api-advice"),
    path("predictions/", predictions.PredictionList.as_view(), name="api-predictions"),
    path("predictions/score/", settled.ScoreView.as_view(), name="api-score"),
    path("predictions/batch/", batches.PredictionBatch.as_view(), name="api-prediction-batch"),
    path("predictions/possible/", previews.FeasibilityView.as_view(), name="api-prediction-possible"),
    path("predictions/preview/", previews.PredictionPreview.as_view(), name="api-prediction-preview"),
    path("predictions/<uuid:id>/", predictions.PredictionDetail.as_view(), name="api-prediction"),
    path("predictions/<uuid:id>/why/", predictions.PredictionWhy.as_view(), name="api-why"),
    path("predictions/<uuid:id>/measure-next/", previews.MeasureNext.as_view(), name="api-measure-next"),
    path("evaluations/", evaluations.EvaluationList.as_view(), name="api-evaluations"),
    path("evaluations/paper/", evaluations.PaperTables.as_view(), name="api-paper-tables"),
    path("evaluations/<uuid:id>/", evaluations.EvaluationDetail.as_view(), name="api-evaluation"),
    path("evaluations/<uuid:id>/errors/", evaluations.EvaluationErrors.as_view(), name="api-evaluation-errors"),
    path("programs/<uuid:id>/<slug:slug>/", rankings.ProgramView.as_view(), name="api-program"),
    path(
        "programs/<uuid:id>/<slug:slug>/measure-next/",
        rankings.ProgramMeasureNext.as_view(),
        name="api-program-measure-next",
    ),
    path("rankings/", rankings.RankingView.as_view(), name="api-rankings"),
    path("platforms/<slug:slug>/similar/", distances.SimilarPlatforms.as_view(), name="api-similar-platforms"),
    path("workloads/<slug:slug>/similar/", distances.SimilarWorkloads.as_view(), name="api-similar-workloads"),
    path("methods/", methods.MethodList.as_view(), name="api-methods"),
    path("profiles/<uuid:id>/beyond/", scaling_models.ProfileBeyond.as_view(), name="api-profile-beyond"),
    path("scaling-models/", scaling_models.ScalingModelList.as_view(), name="api-scaling-models"),
    path("scaling-models/<str:name>/", scaling_models.ScalingModelFit.as_view(), name="api-scaling-model-fit"),
]
