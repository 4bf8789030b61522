"""Validated predictions in the public dump, with their errors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import transaction

from predictor.models import Prediction
from profiles.dump.files import DumpRow
from profiles.dump.rows import DumpedKeys, FurtherTable
from profiles.dump.tables import DumpColumn, DumpTable, required
from profiles.models import Profile

ANSWERS_PER_FETCH = 50


PREDICTIONS_TABLE = DumpTable(
    "predictions",
    "Predictions whose pair was measured later, with their errors",
    (
        required("prediction", "string", "UUID: /predictions/UUID/ on the site"),
        required("request_key", "string", "sha256 of the question, the method's version and the revision"),
        required("workload", "string", ""),
        required("target", "string", "platform"),
        required("method", "string", ""),
        required("method_version", "string", ""),
        required("revision", "integer", "revision of the database"),
        required("answer", "object", "the answer of the API, without id and url"),
        DumpColumn("source_uids", "array", "deliveries that the answer is based on"),
        required("created_at", "datetime", "time of the request"),
        required("settled_at", "datetime", "time of the validation"),
        DumpColumn("settled_by", "string", "UUID of the profile that measured it; null: withdrawn since"),
        required("settled_origin", "string", "measured or simulated"),
        required("is_blind", "boolean", "whether the pair had not been measured before"),
        DumpColumn("error_full", "number", "mean relative error over the measured n"),
        DumpColumn("error_t1", "number", "error of t(1)"),
        DumpColumn("error_scaling", "number", "error of t(n) / t(smallest n)"),
        DumpColumn("points", "integer", "measured n that have an interval"),
        DumpColumn("points_inside", "integer", "measured times inside the interval"),
    ),
    ("prediction",),
)
_NOT_AS_STORED = ("prediction", "settled_by")


def validated_prediction_rows(keys: DumpedKeys) -> Iterator[DumpRow]:
    """Yield the public validated predictions. The others are left out, because only the users who asked for them may
    know about them."""
    columns = [name for name in PREDICTIONS_TABLE.names if name not in _NOT_AS_STORED]
    rows = Prediction.objects.public().settled().order_by("pk")
    for uid, by, *rest in rows.values_list("uid", "settled_by__uid", *columns).iterator(ANSWERS_PER_FETCH):
        values = dict(zip(columns, rest, strict=True)) | {"prediction": str(uid), "settled_by": by and str(by)}
        yield tuple(values[name] for name in PREDICTIONS_TABLE.names)


def restore_predictions(rows: Iterator[DumpRow]) -> int:
    """Store the predictions that do not exist yet, by UUID or by request key. Returns their number."""
    count = 0
    while batch := list(islice(rows, ANSWERS_PER_FETCH)):
        count += _restore_batch([dict(zip(PREDICTIONS_TABLE.names, row, strict=True)) for row in batch])
    return count


@transaction.atomic
def _restore_batch(batch: list[dict[str, Any]]) -> int:
    there = Prediction.objects.filter(uid__in=[values["prediction"] for values in batch])
    existing = Prediction.objects.filter(request_key__in=[values["request_key"] for values in batch])
    uids = {str(uid) for uid in there.values_list("uid", flat=True)}
    keys = set(existing.values_list("request_key", flat=True))
    measured = Profile.objects.filter(uid__in=[values["settled_by"] for values in batch if values["settled_by"]])
    by_uid = {str(uid): key for uid, key in measured.values_list("uid", "pk")}
    new = [values for values in batch if values["prediction"] not in uids and values["request_key"] not in keys]
    made = []
    for values in new:
        columns = {name: value for name, value in values.items() if name not in _NOT_AS_STORED}
        by = by_uid.get(values["settled_by"] or "")
        made.append(Prediction(uid=values["prediction"], settled_by_id=by, **columns))
    Prediction.objects.bulk_create(made)
    for prediction, values in zip(made, new, strict=True):
        prediction.created_at = values["created_at"]  # bulk_create set it to now
    Prediction.objects.bulk_update(made, ["created_at"])
    return len(made)


VALIDATED_PREDICTIONS = FurtherTable(PREDICTIONS_TABLE, validated_prediction_rows, restore_predictions)
