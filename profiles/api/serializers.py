"""Serializers of platforms, workloads and profiles."""

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from mpet_site.web.fields import numbers, serializer_of
from profiles.identity.descriptions import Difference, differences_of
from profiles.ingest.derivation import stored_spreads
from profiles.measurements import PlatformRecord, WorkloadRecord
from profiles.models import Platform, Price, Profile, Source, Workload
from profiles.pages.ceilings import LimitsReader, roofline_of
from profiles.pages.columns import DELIVERIES_NAMED
from profiles.prices.tables import prices_for
from profiles.scaling.features import stored_features
from profiles.scaling.limits import LimitsDocument
from profiles.scaling.names import CURVE_NAMES, ELEMENTS, FEATURE_NAMES
from profiles.scaling.quality import RepeatSpread
from profiles.scaling.runs import stored_curves

# The columns that deliveries describe. Only the response for a single platform has `placement`, which may be long.
SERIALIZED_PLATFORM_FIELDS = tuple(
    field.name for field in fields(PlatformRecord) if field.name not in ("name", "placement")
)
SERIALIZED_WORKLOAD_FIELDS = tuple(field.name for field in fields(WorkloadRecord))
CURVE_ROWS = ("time_s", *CURVE_NAMES)  # the rows of ScalingCurves.values and CurveTable.values


class _OwnedSerializer(serializers.ModelSerializer):
    private = serializers.SerializerMethodField(help_text="Whether only its owner can read it.")
    profiles = serializers.IntegerField(
        source="profile_count", read_only=True, help_text="Number of its profiles that you may read."
    )

    origin = serializers.SerializerMethodField(
        help_text="Origin of its profiles that you may read: measured, simulated, emulated or mixed; null if "
        "there are none."
    )

    def get_private(self, row: Any) -> bool:
        return row.private_to_id is not None

    def get_origin(self, row: Any) -> str | None:
        return row.first_origin if row.first_origin == row.last_origin else "mixed"


class PlatformSerializer(_OwnedSerializer):
    provider = serializers.CharField(
        read_only=True,
        allow_null=True,
        help_text="Part of the name before the first slash, such as aws of aws/c7a.large.",
    )

    class Meta:
        model = Platform
        fields: tuple[str, ...] = (
            "slug",
            "name",
            "provider",
            *SERIALIZED_PLATFORM_FIELDS,
            "private",
            "profiles",
            "origin",
        )
        read_only_fields = fields


def ceilings_serializer(name: str, *keys: str, unit: str) -> serializers.Serializer:
    fields: dict[str, serializers.Field] = {key: serializers.IntegerField() for key in keys}
    return inline_serializer(name, fields | {unit: serializers.FloatField()}, many=True)


RooflineSerializer = inline_serializer(
    "Roofline",
    {
        "peak_flops": ceilings_serializer("PeakFlops", "n", unit="flop_per_s"),
        "bandwidth": ceilings_serializer("Bandwidth", "n", unit="bytes_per_s"),
        "handover": ceilings_serializer("Handover", "from", "to", unit="one_way_ps"),
        "lock_handover": ceilings_serializer("LockHandover", "n", unit="ps"),
    },
    allow_null=True,
    help_text="Values of the newest source that measured them; null if there is none.",
)


LoadSerializer = inline_serializer(
    "Load",
    {"judged_runs": serializers.IntegerField(), "disturbed_runs": serializers.IntegerField()},
    allow_null=True,
    help_text="Number of its runs that other programs disturbed, of the runs that were checked; null if "
    "none was checked.",
)


class DeliverySerializer(serializers.ModelSerializer):
    id = serializers.UUIDField(source="uid", read_only=True)
    upload = serializers.UUIDField(source="upload.uid", read_only=True, default=None, allow_null=True)
    delivered = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = Source
        fields = ("id", "upload", "delivered")


class DifferenceSerializer(serializers.Serializer):
    field = serializers.CharField(help_text="Field of the platform or workload.")
    here = serializers.JSONField(help_text="Current value; null = unknown. Long values are shortened, here and below.")
    value = serializers.JSONField(help_text="Value in the sources.")
    count = serializers.SerializerMethodField(help_text="Number of the newest sources with this value.")
    deliveries = serializers.SerializerMethodField(help_text="Newest of these sources.")

    def get_count(self, difference: Difference) -> int:
        return len(difference.sources)

    @extend_schema_field(DeliverySerializer(many=True))
    def get_deliveries(self, difference: Difference) -> list[dict[str, Any]]:
        return list(DeliverySerializer(difference.sources[:DELIVERIES_NAMED], many=True).data)


class _DescribedSerializer(_OwnedSerializer):
    differences = serializers.SerializerMethodField(
        help_text="Different values in sources that you may read, newest first. They do not change the row."
    )

    @extend_schema_field(DifferenceSerializer(many=True))
    def get_differences(self, row: Any) -> list[dict[str, Any]]:
        return list(DifferenceSerializer(differences_of(row, self.context["request"].user), many=True).data)


class PriceSerializer(serializers.ModelSerializer):
    """The price of a platform. `amount` is a decimal number as text."""

    platform: Any = serializers.SlugRelatedField("slug", read_only=True)
    basis = serializers.ChoiceField(
        Price.Basis.choices,
        read_only=True,
        help_text="published, own (your own price), or factor (published price times your factor).",
    )

    class Meta:
        model = Price
        fields = ("platform", "amount", "currency", "per", "region", "kind", "source", "date", "basis")
        read_only_fields = fields


class OwnPricesSerializer(serializers.Serializer):
    factor = serializers.DecimalField(
        max_digits=7, decimal_places=4, help_text="Factor on published prices; 0.7 is a discount of 30 %."
    )
    prices = PriceSerializer(many=True)


class PlatformDetailSerializer(_DescribedSerializer, PlatformSerializer):
    placement = serializers.ListField(
        child=serializers.IntegerField(),
        read_only=True,
        allow_null=True,
        help_text="CPU numbers in the order in which threads fill them; not included in lists.",
    )
    roofline = serializers.SerializerMethodField()
    load = serializers.SerializerMethodField()
    prices = serializers.SerializerMethodField(
        help_text="Newest price of each kind, region and currency, with your own prices applied."
    )

    class Meta(PlatformSerializer.Meta):
        fields = (*PlatformSerializer.Meta.fields, "placement", "roofline", "load", "prices", "differences")
        read_only_fields = fields

    @extend_schema_field(RooflineSerializer)
    def get_roofline(self, platform: Platform) -> dict[str, Any] | None:
        roofline = roofline_of(platform, self.context["request"].user)
        return None if roofline is None else roofline.document

    @extend_schema_field(PriceSerializer(many=True))
    def get_prices(self, platform: Platform) -> Any:
        return PriceSerializer(prices_for(self.context["request"].user, platform=platform), many=True).data

    @extend_schema_field(LoadSerializer)
    def get_load(self, platform: Platform) -> dict[str, int] | None:
        return Profile.objects.load_on(platform, self.context["request"].user)


class WorkloadSerializer(_OwnedSerializer):
    class Meta:
        model = Workload
        fields: tuple[str, ...] = ("slug", *SERIALIZED_WORKLOAD_FIELDS, "time_kind", "private", "profiles", "origin")
        read_only_fields = fields


class WorkloadDetailSerializer(_DescribedSerializer, WorkloadSerializer):
    class Meta(WorkloadSerializer.Meta):
        fields = (*WorkloadSerializer.Meta.fields, "differences")
        read_only_fields = fields


CurvesSerializer = inline_serializer(
    "Curves",
    {"n": serializers.ListField(child=serializers.IntegerField())}
    | {name: numbers(help_text="One value per n; null = invalid.") for name in CURVE_ROWS},
)
SPREAD_NUMBERS = ("deviation_s", "low_quartile_s", "high_quartile_s")
SPREAD_COUNTS = ("n", "count", "disturbed_count")
SpreadSerializer = inline_serializer(
    "Spread",
    {
        "n": serializers.ListField(child=serializers.IntegerField()),
        "count": serializers.ListField(
            child=serializers.IntegerField(), help_text="Number of runs of which t(n) is the median."
        ),
        "disturbed_count": serializers.ListField(
            child=serializers.IntegerField(allow_null=True),
            help_text="Number of these runs that other programs disturbed; null if they were not checked.",
        ),
        "deviation_s": numbers(help_text="Sample standard deviation in seconds; null for a single run."),
    }
    | {name: numbers(help_text="Quartile of the runs.") for name in SPREAD_NUMBERS[1:]},
    allow_null=True,
    help_text="Spread of the repeats at each n; null if the profile has no runs or more than 20,000.",
)
Fit = type(inline_serializer("Fit", {name: serializers.FloatField(allow_null=True) for name in (*ELEMENTS, "rms")}))
FitsSerializer = inline_serializer("Fits", {curve: Fit() for curve in CURVE_NAMES})
FeaturesSerializer = inline_serializer(
    "Features",
    {
        "names": serializers.ListField(child=serializers.CharField(), min_length=84, max_length=84),
        "values": numbers(min_length=84, max_length=84, help_text="Values of the features; null = invalid."),
    },
)
SOURCE_TEXTS = ("kind", "label", "licence", "citation", "note")
SourceSerializer = inline_serializer(
    "Source", {"id": serializers.UUIDField()} | {name: serializers.CharField() for name in SOURCE_TEXTS}
)


class ProfileRowSerializer(serializers.ModelSerializer):
    """The plain columns of a profile, as in CSV."""

    id = serializers.UUIDField(source="uid", read_only=True)
    platform: Any = serializers.SlugRelatedField("slug", read_only=True)
    workload: Any = serializers.SlugRelatedField("slug", read_only=True)
    time_kind = serializers.CharField(source="workload.time_kind", read_only=True)
    private = serializers.SerializerMethodField()
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)
    upload = serializers.SerializerMethodField(
        help_text="Upload that contained the profile; null for datasets and the simulator."
    )
    source_label = serializers.CharField(source="source.label", read_only=True)
    licence = serializers.CharField(source="source.licence", read_only=True)

    class Meta:
        model = Profile
        fields: tuple[str, ...] = (
            "id",
            "platform",
            "workload",
            "origin",
            "decomposed",
            "time_kind",
            "t1_s",
            "t1_is_stand_in",
            "n_measured",
            "n_min",
            "n_largest",
            "fit_error",
            "run_count",
            "disturbed_count",
            "standard_error",
            "warnings",
            "outlier_reason",
            "upload",
            "private",
            "source_label",
            "licence",
        )
        read_only_fields = fields

    def get_private(self, profile: Profile) -> bool:
        return profile.private_to_id is not None

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_upload(self, profile: Profile) -> str | None:
        upload = getattr(profile.source, "upload", None)
        return str(upload.uid) if upload else None


class ProfileSerializer(ProfileRowSerializer):
    curves = serializers.SerializerMethodField()
    fits = serializers.SerializerMethodField()
    features = serializers.SerializerMethodField()
    source: Any = serializers.SerializerMethodField()

    class Meta(ProfileRowSerializer.Meta):
        fields = (
            *(name for name in ProfileRowSerializer.Meta.fields if name not in {"source_label", "licence"}),
            "curves",
            "fits",
            "features",
            "source",
        )
        read_only_fields = fields

    @extend_schema_field(CurvesSerializer)
    def get_curves(self, profile: Profile) -> dict[str, Any]:
        curves = stored_curves(profile)
        if curves is None:
            return {name: [] for name in ("n", *CURVE_ROWS)}
        return {"n": curves.n.tolist()} | dict(zip(CURVE_ROWS, curves.values.tolist(), strict=True))

    @extend_schema_field(FitsSerializer)
    def get_fits(self, profile: Profile) -> dict[str, dict[str, float]]:
        values, rms = stored_features(profile)
        table = np.column_stack([values.reshape(len(CURVE_NAMES), len(ELEMENTS)), rms]).tolist()
        return {
            curve: dict(zip((*ELEMENTS, "rms"), row, strict=True))
            for curve, row in zip(CURVE_NAMES, table, strict=True)
        }

    @extend_schema_field(FeaturesSerializer)
    def get_features(self, profile: Profile) -> dict[str, Any]:
        return {"names": list(FEATURE_NAMES), "values": stored_features(profile)[0].tolist()}

    @extend_schema_field(SourceSerializer)
    def get_source(self, profile: Profile) -> dict[str, str]:
        return {"id": str(profile.source.uid)} | {name: getattr(profile.source, name) for name in SOURCE_TEXTS}


class ProfileDetails(LimitsReader):
    """Data from the runs and counters of several profiles, read for all of them at once on first access."""

    @cached_property
    def spreads(self) -> dict[int, RepeatSpread]:
        return stored_spreads(self.profiles)


class ProfileDetailSerializer(ProfileSerializer):
    """A profile with data from its runs, which lists do not have."""

    spread = serializers.SerializerMethodField()
    limits = serializers.SerializerMethodField(help_text="What limits the profile; not included in lists.")

    class Meta(ProfileSerializer.Meta):
        fields = (*ProfileSerializer.Meta.fields, "spread", "limits")
        read_only_fields = fields

    @extend_schema_field(SpreadSerializer)
    def get_spread(self, profile: Profile) -> dict[str, list[Any]] | None:
        spread = self.details_of(profile).spreads.get(profile.pk)
        if spread is None:
            return None
        columns = {name: getattr(spread, name).tolist() for name in (*SPREAD_COUNTS, *SPREAD_NUMBERS)}
        columns["disturbed_count"] = [None if count < 0 else count for count in columns["disturbed_count"]]
        return columns

    @extend_schema_field(serializer_of(LimitsDocument)(allow_null=True))
    def get_limits(self, profile: Profile) -> dict[str, Any] | None:
        curves = stored_curves(profile)
        return None if curves is None else self.details_of(profile).limits_of(profile, curves.thinned)

    def details_of(self, profile: Profile) -> ProfileDetails:
        """Return the details that several profiles share in the context, or new ones of this profile."""
        return self.context.get("details") or ProfileDetails([profile], self.context["request"].user)
