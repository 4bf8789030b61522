"""Serializers of uploads and of the guide to the kit."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any, ClassVar, TypedDict

from django.http import QueryDict
from django.urls import reverse
from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from benchmarks.archive import ArchiveError
from benchmarks.foreign import RECOGNISED, as_one_file, known_platform
from benchmarks.formats import FORMATS
from benchmarks.formats.deliveries import MOST_FILES, ForeignReading
from benchmarks.kit_guide import KitWorkload, Step
from benchmarks.models import Upload
from benchmarks.notes import notes_of
from benchmarks.reading import read_sent_platform
from mpet_site.web.fields import (
    FormBoolean,
    FormChoice,
    FormText,
    KnownFieldsSerializer,
    PlainChoice,
    fields_of,
    row_url,
    serializer_of,
)
from mpet_site.web.problems import InvalidRequest, PayloadTooLarge, invalid_request
from profiles.identity.descriptions import differences_in
from profiles.identity.programs import programs_by_source, region_labels
from profiles.measurements import UnreadableError
from profiles.models import Platform, Profile


class UploadError(TypedDict):
    member: str | None
    line: int | None
    reason: str


class UploadReport(TypedDict):
    errors: list[UploadError]
    warnings: list[str]


ReportSerializer = serializer_of(UploadReport)()

UploadDifferenceSerializer = inline_serializer(
    "UploadDifference",
    {
        "of": serializers.CharField(help_text="Kind of the row: platform or workload."),
        "slug": serializers.CharField(),
        "field": serializers.CharField(),
        "here": serializers.JSONField(help_text="Current value; null = unknown."),
        "value": serializers.JSONField(help_text="Value in this upload."),
    },
    many=True,
)

UploadProgramSerializer = inline_serializer(
    "UploadProgram",
    {
        "name": serializers.CharField(),
        "url": serializers.URLField(help_text="URL of the page with its predictions."),
        "labels": serializers.DictField(
            child=serializers.CharField(), help_text="Labels of renamed regions, per workload name."
        ),
    },
    many=True,
)

STAYS_PUBLIC = (
    "The only accepted value is public: a public upload cannot be made private again, because predictions that others "
    "made from it stay. DELETE removes it."
)


class _AllParts(serializers.Field):
    """A field that reads all form parts with its name as a list. It is empty if there is no such part, or no form
    data."""

    def get_value(self, dictionary: Any) -> Any:
        given = dictionary.getlist(str(self.field_name)) if isinstance(dictionary, QueryDict) else ()
        return given or serializers.empty


class ChoiceOnce(_AllParts, PlainChoice):
    """A choice that exactly one form part sets. Two parts are the error `repeated`, even if they are equal."""

    def to_internal_value(self, data: Any) -> Any:
        if len(data) > 1:
            self.fail("repeated", count=len(data))
        return super().to_internal_value(data[0])


class VisibilityField(ChoiceOnce):
    """The visibility of an upload. It is public only if exactly one form part contains `public`
    (docs/decisions/visibility.md)."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "repeated": "Given {count} times; send public or private once.",
        "empty": "Empty; send public or private.",
        "file": "A file; send public or private as text.",
    }

    def to_internal_value(self, data: Any) -> Any:
        if data == [""]:
            self.fail("empty")
        if len(data) == 1 and not isinstance(data[0], str):
            self.fail("file")
        return super().to_internal_value(data)


@extend_schema_field(
    {
        "type": "array",
        "items": {"type": "string", "format": "binary", "minLength": 1},
        "minItems": 1,
        "maxItems": MOST_FILES,
    }
)
class FilesPart(_AllParts, serializers.FileField):
    """One or several files, none of them empty. The form part is repeated for each file."""

    default_error_messages: ClassVar[dict[str, Any]] = {"too_many": "{count} files; at most {most} are accepted."}

    def to_internal_value(self, data: Any) -> Any:
        if len(data) > MOST_FILES:
            self.fail("too_many", count=len(data), most=MOST_FILES)
        return [super(FilesPart, self).to_internal_value(file) for file in data]


class FilesRequestSerializer(KnownFieldsSerializer):
    """A results tarball (mpet-results/1), or files that another tool wrote on one machine, as multipart form data."""

    file = FilesPart(help_text="Results tarball, or one or several files of another tool from one machine.")
    form = FormChoice(
        [RECOGNISED, *sorted(FORMATS)],
        required=False,
        help_text="Format of files of another tool; auto = detect the format. If omitted, the file is a results "
        "tarball.",
    )
    platform = FormText(
        required=False,
        max_length=200,
        help_text="Slug of the machine, for a file of another tool that does not name it.",
    )
    platform_json = FormText(
        required=False, max_length=100_000, help_text="Description of the machine, as platform.json of mpet-results/1."
    )
    columns = serializers.JSONField(
        required=False, help_text='Columns of a plain CSV, such as {"n": "Threads", "time_ms": "Milliseconds"}.'
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        of_tarball = [
            name for name in ("platform", "platform_json", "columns") if name in attrs and "form" not in attrs
        ]
        if of_tarball:
            reason = "Only for files of other tools: also send form."
            raise InvalidRequest([{"name": name, "reason": reason} for name in of_tarball])
        if "platform" in attrs and "platform_json" in attrs:
            raise invalid_request("platform_json", "Send platform or platform_json, not both.")
        return attrs

    def validate_columns(self, columns: Any) -> dict[str, str]:
        if not isinstance(columns, dict) or not all(isinstance(title, str) for title in columns.values()):
            raise serializers.ValidationError("Must be an object whose values are texts.")
        return columns

    def refuse_larger_than(self, limit: int) -> None:
        size_bytes = sum(file.size for file in self.validated_data["file"])
        if size_bytes > limit:
            raise PayloadTooLarge(f"The file has {size_bytes} bytes; at most {limit} are accepted.", limit_bytes=limit)

    def sent(self) -> tuple[str, IO[bytes], ForeignReading | None]:
        """Return the name, the content and the reading of the upload. The data must be valid. Raise InvalidRequest if
        the files cannot be read."""
        files = [(file.name, file) for file in self.validated_data["file"]]
        try:
            return as_one_file(files, self.reading())
        except UnreadableError as error:
            raise invalid_request("file", str(error)) from error

    def reading(self) -> ForeignReading | None:
        """Return how to read the files, or None for a results tarball. The data must be valid. Raise InvalidRequest if
        the platform is unknown or invalid."""
        sent, user = self.validated_data, self.context["request"].user
        if "form" not in sent:
            return None
        try:
            platform = known_platform(sent["platform"], user) if "platform" in sent else None
            if "platform_json" in sent:
                platform = read_sent_platform(BytesIO(sent["platform_json"].encode("utf-8", "replace")))
        except Platform.DoesNotExist as error:
            raise invalid_request("platform", "There is no such platform.") from error
        except ArchiveError as error:
            raise invalid_request("platform_json", str(error)) from error
        except UnreadableError as error:
            raise invalid_request("platform", str(error)) from error
        return ForeignReading(sent["form"], platform, sent.get("columns", {}))


class UploadRequestSerializer(FilesRequestSerializer):
    """A results tarball (mpet-results/1), or files that another tool wrote on one machine, as multipart form data."""

    visibility = VisibilityField(
        Upload.Visibility.choices,
        default=Upload.Visibility.PRIVATE,
        help_text="Who may read the upload; default: only you.",
    )
    licence = ChoiceOnce(
        Upload.Licence.choices,
        default=Upload.Licence.AS_SOURCE,
        help_text="Licence for other users, shown with the data.",
        error_messages={"repeated": "Given {count} times; send one licence."},
    )

    commit = FormText(
        required=False,
        max_length=64,
        help_text="Commit of the measured program in its own repository; visible to you only.",
    )
    branch = FormText(required=False, max_length=255, help_text="Branch of the commit; visible to you only.")
    preview = FormBoolean(
        default=False, help_text="Return how the files would be interpreted, without storing anything."
    )


UnderstoodSerializer = inline_serializer(
    "Understood",
    {
        "form": serializers.CharField(help_text="Format of the files; mpet-results for a results tarball."),
        "errors": inline_serializer("UnderstoodError", fields_of(UploadError), many=True),
        "warnings": serializers.ListField(child=serializers.CharField()),
        "platform": serializers.DictField(
            allow_null=True, help_text="Facts of the platform; null if there are errors."
        ),
        "workloads": inline_serializer(
            "UnderstoodWorkload",
            {
                "name": serializers.CharField(),
                **{name: serializers.CharField(allow_null=True) for name in ("version", "input", "runtime")},
                "time_kind": serializers.CharField(),
                "runs": serializers.IntegerField(),
                "n": serializers.ListField(child=serializers.IntegerField()),
                "time_s": serializers.ListField(child=serializers.FloatField(), help_text="Median time per n."),
            },
            many=True,
        ),
    },
)


@extend_schema_field({"type": "string", "pattern": "^public$"})
class PublicAlone(serializers.ChoiceField):
    """A choice with the single value `public`."""


class PublicationSerializer(KnownFieldsSerializer):
    """The request to publish an upload. `public` is the only value, because a public upload stays public until it is
    deleted."""

    visibility = PublicAlone([Upload.Visibility.PUBLIC.value], error_messages={"invalid_choice": STAYS_PUBLIC})


def is_owned(upload: Upload, context: Mapping[str, Any]) -> bool:
    user = context["request"].user
    return bool(user.is_authenticated and upload.owner_id == user.pk)


@extend_schema_field({"type": "string", "nullable": True})
class OwnersText(serializers.CharField):
    """A text that is null for everyone except the owner of the upload."""

    def get_attribute(self, instance: Upload) -> Any:
        return super().get_attribute(instance) if is_owned(instance, self.context) else None


UPLOAD_FIELDS = (
    "id",
    "url",
    "status",
    "visibility",
    "licence",
    "filename",
    "commit",
    "branch",
    "size_bytes",
    "sha256",
    "created_at",
    "finished_at",
)


class UploadSerializer(serializers.ModelSerializer):
    """One upload. Other users see that a public upload was accepted, its profiles, environment and log, and the address
    of its file, but not the name of the file."""

    id = serializers.UUIDField(source="uid", read_only=True)
    url = row_url("api-upload")
    filename = OwnersText(read_only=True)
    commit = OwnersText(read_only=True)
    branch = OwnersText(read_only=True)
    sha256 = OwnersText(read_only=True)
    file = serializers.SerializerMethodField(help_text="URL of the uploaded file; null if it is not stored.")
    environment = serializers.SerializerMethodField(
        help_text="Recorded environment of the machine: the first 65,536 characters of JSON text; null if there "
        "is none."
    )
    log = serializers.SerializerMethodField(
        help_text="Log of the measurement, at most as long as `environment`; null if there is none."
    )
    hidden = serializers.BooleanField(
        read_only=True, help_text="Whether a moderator hid the upload and its results from everybody."
    )
    report = serializers.SerializerMethodField()
    profiles = serializers.SerializerMethodField(help_text="IDs of the stored profiles.")
    programs = serializers.SerializerMethodField(
        help_text="Programs with regions in this upload, each with the page that ranks all platforms for it."
    )
    differences = serializers.SerializerMethodField(
        help_text="Differences from the stored platforms and workloads, which are not changed."
    )

    class Meta:
        model = Upload
        fields = (
            *UPLOAD_FIELDS,
            "file",
            "environment",
            "log",
            "hidden",
            "report",
            "profiles",
            "programs",
            "differences",
        )
        read_only_fields = fields

    def get_file(self, upload: Upload) -> str | None:
        if upload.status != Upload.Status.ACCEPTED or not upload.file_is_there:
            return None
        return str(self.context["request"].build_absolute_uri(reverse("api-upload-file", args=[upload.uid])))

    def get_environment(self, upload: Upload) -> str | None:
        notes = notes_of(upload.source)
        return notes.environment or None if notes else None

    def get_log(self, upload: Upload) -> str | None:
        notes = notes_of(upload.source)
        return notes.log or None if notes else None

    @extend_schema_field(ReportSerializer)
    def get_report(self, upload: Upload) -> dict[str, Any]:
        report = {"errors": [], "warnings": []} | upload.report
        return report if is_owned(upload, self.context) else {name: report[name] for name in ("errors", "warnings")}

    @extend_schema_field(serializers.ListField(child=serializers.UUIDField()))
    def get_profiles(self, upload: Upload) -> list[str]:
        if upload.source_id is None:
            return []
        profiles = Profile.objects.visible_to(self.context["request"].user).filter(source=upload.source_id)
        return [str(uid) for uid in profiles.order_by("pk").values_list("uid", flat=True)]

    @extend_schema_field(UploadProgramSerializer)
    def get_programs(self, upload: Upload) -> list[dict[str, Any]]:
        if upload.source_id is None:
            return []
        request = self.context["request"]
        programs = programs_by_source([upload.source_id], request.user).get(upload.source_id, [])
        return [
            {
                "name": program.name,
                "url": request.build_absolute_uri(reverse("program", args=program.address)),
                "labels": {
                    f"{program.name}/{section}": label
                    for section, label in region_labels(upload.owner_id, program.name).items()
                },
            }
            for program in programs
        ]

    @extend_schema_field(UploadDifferenceSerializer)
    def get_differences(self, upload: Upload) -> list[dict[str, Any]]:
        if upload.source is None:
            return []
        found = differences_in(upload.source, self.context["request"].user)
        return [
            {"of": one.row._meta.model_name, "slug": one.row.slug, "field": one.field}
            | {"here": one.here, "value": one.value}
            for one in found
        ]


class UploadRowSerializer(serializers.ModelSerializer):
    """One row in the list of the user's own uploads. `report` and `profiles` are at its `url`."""

    id = serializers.UUIDField(source="uid", read_only=True)
    url = row_url("api-upload")
    hidden = serializers.BooleanField(read_only=True)
    profile_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = Upload
        fields = (*UPLOAD_FIELDS, "hidden", "profile_count")
        read_only_fields = fields


class StressNgVersionSerializer(serializers.Serializer):
    version = serializers.CharField()
    platforms = serializers.IntegerField(help_text="Number of platforms with its results.")


class BuiltKitSerializer(serializers.Serializer):
    architecture = serializers.CharField()
    url = serializers.URLField(help_text="URL of its programs as a tarball.")
    sha256 = serializers.CharField()
    size_bytes = serializers.IntegerField()


class KitGuideSerializer(serializers.Serializer):
    version = serializers.CharField()
    url = serializers.URLField(help_text="URL of the kit as a tarball.")
    built = BuiltKitSerializer(many=True, help_text="Static programs for machines without a compiler, if available.")
    steps = inline_serializer("KitStep", fields_of(Step), many=True)
    workloads = serializer_of(KitWorkload)(many=True)
    stress_ng_versions = StressNgVersionSerializer(many=True)
