"""What goes after its time, and what does not."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Upload
from mpet_site.web.periodic_tasks import registered_periodic_tasks
from operations.retention import apply_retention
from predictor.models import AskedPrediction, Prediction
from predictor.predictions.question import PredictionRequest
from predictor.predictions.service import predict
from profiles.models import Profile
from tests.benchmarks.tarballs import packed
from tests.pages import store_public
from tests.samples import sample_measurements

pytestmark = pytest.mark.django_db
NOTHING = {"predictions": 0, "reports": 0, "tarballs": 0, "quarantined uploads": 0}


def long_ago(days: float):
    return timezone.now() - timedelta(days=days)


def test_nothing_goes_by_default(alice):
    store_public()
    prediction = predict(PredictionRequest("app0-section0", "machine-1"), alice)
    Prediction.objects.update(created_at=long_ago(10_000))
    AskedPrediction.objects.update(asked_at=long_ago(10_000))
    Upload.objects.create(status="rejected", finished_at=long_ago(10_000), filename="a", sha256="a", size_bytes=1)
    assert apply_retention() == NOTHING
    assert Prediction.objects.filter(pk=prediction.pk).exists()


def test_predictions_go_unless_they_were_validated_or_asked_for_lately(settings, alice):
    settings.KEEP_PREDICTIONS_DAYS = 30.0
    store_public()
    kept_new, validated, asked, old = (
        predict(PredictionRequest(f"app{i // 2}-section{i % 2}", "machine-1"), alice) for i in range(4)
    )
    Prediction.objects.exclude(pk=kept_new.pk).update(created_at=long_ago(31))
    AskedPrediction.objects.exclude(prediction=asked).update(asked_at=long_ago(31))
    Prediction.objects.filter(pk=validated.pk).update(settled_at=long_ago(31))
    assert apply_retention() == NOTHING | {"predictions": 1}
    assert set(Prediction.objects.values_list("pk", flat=True)) == {kept_new.pk, validated.pk, asked.pk}
    assert not Prediction.objects.filter(pk=old.pk).exists()


def test_reports_of_what_was_rejected_go(settings):
    settings.KEEP_REPORTS_DAYS = 7.0
    for name, status, days in (("old", "rejected", 8), ("new", "rejected", 6), ("mine", "accepted", 8)):
        Upload.objects.create(status=status, finished_at=long_ago(days), filename=name, sha256=name, size_bytes=1)
    assert apply_retention() == NOTHING | {"reports": 1}
    assert set(Upload.objects.values_list("filename", flat=True)) == {"new", "mine"}


def test_tarballs_go_and_what_came_of_them_stays(settings, tmp_path, alice):

    from tests.benchmarks.uploads import receive  # noqa: PLC0415

    settings.MEDIA_ROOT = tmp_path / "media"
    settings.KEEP_TARBALLS_DAYS = 7.0
    old, new = (
        receive(packed(sample_measurements(1, 2, seed=seed)), alice, "public", f"{seed}.tar.gz") for seed in (4, 5)
    )
    Upload.objects.filter(pk=old.pk).update(finished_at=long_ago(8))
    profiles = Profile.objects.count()
    assert apply_retention() == NOTHING | {"tarballs": 1}
    assert [path.name for path in (tmp_path / "media/uploads").iterdir()] == [new.file.name.split("/")[1]]
    old.refresh_from_db()
    assert (old.status, old.file.name, Profile.objects.count()) == ("accepted", "", profiles)
    assert receive(packed(sample_measurements(1, 2, seed=4)), alice, "public", "again.tar.gz") == old, (
        "the same bytes are the same upload still"
    )


def test_servers_do_it_by_themselves():
    assert apply_retention in [chore.function for chore in registered_periodic_tasks()]
