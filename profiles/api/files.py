"""API views that return files: the public dump, and a profile in the formats of other tools."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from mpet_site.web.api import ApiView
from mpet_site.web.etags import etag_of, respond_unless_unchanged
from mpet_site.web.plain_json import nan_to_null
from mpet_site.web.renderers import ArchiveOfFilesRenderer, CSVRenderer, LinesRenderer, TextRenderer, csv_lines
from profiles.dump.files import DUMP_FORMS
from profiles.dump.published import newest_dump
from profiles.ingest.derivation import run_tables
from profiles.ingest.staging import FURTHER_COLUMNS
from profiles.measurements import PART_COLUMNS, RunTable
from profiles.models import Profile
from profiles.pages.page_cache import database_etag

EXTRA_P_PARAMETER = "n"
EXTRA_P_METRIC = "time"
FILE_RESPONSES = {200: OpenApiTypes.STR, 404: None}
RAW_RUN_COLUMNS = (
    *("workload", "n", "repeat", "pass", "time_s", "time_ns", *PART_COLUMNS),
    *FURTHER_COLUMNS,
)


class DumpFileSerializer(serializers.Serializer):
    format = serializers.ChoiceField(choices=DUMP_FORMS)
    name = serializers.CharField()
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    url = serializers.CharField()


class DumpSerializer(serializers.Serializer):
    revision = serializers.IntegerField(
        allow_null=True, help_text="Revision of the dump; null if there is no dump yet."
    )
    created = serializers.DateTimeField(allow_null=True)
    files = DumpFileSerializer(many=True)


class PublicDumpView(ApiView):
    """The newest dump of all public data, with one archive for each format."""

    @extend_schema(operation_id="dump_read", summary="The public dump", responses={200: DumpSerializer})
    def get(self, request: Request) -> HttpResponseBase:
        newest = newest_dump()
        document: dict[str, Any] = {"revision": None, "created": None, "files": []}
        if newest is not None:
            files = [
                file | {"url": reverse("api-dump-file", args=[file["format"]], request=request)}
                for file in newest.files
            ]
            document = {"revision": newest.revision, "created": newest.created, "files": files}
        data = DumpSerializer(document).data
        return respond_unless_unchanged(request, etag_of(repr(data)), lambda: Response(data))


class PublicDumpFile(ApiView):
    """The newest dump in one format (`csv`, `parquet` or `sqlite`), as a zip archive."""

    renderer_classes = (ArchiveOfFilesRenderer,)

    @extend_schema(
        operation_id="dump_file",
        summary="The public dump in one format",
        responses={200: OpenApiTypes.BINARY, 404: None},
    )
    def get(self, request: Request, form: str) -> HttpResponseBase:
        newest = newest_dump()
        path = None if newest is None else newest.archive(form)
        if newest is None or path is None:
            raise Http404
        name = path.name

        def build() -> HttpResponseBase:
            try:
                return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/zip")
            except FileNotFoundError as error:  # a newer dump has just replaced it
                raise Http404 from error

        return respond_unless_unchanged(request, etag_of(name, newest.created), build)


class ProfileFile(ApiView):
    """One profile as a file. Subclasses define the format."""

    renderer_classes: Any = ()
    suffix = ""

    def get(self, request: Request, id: Any) -> HttpResponseBase:
        profile = get_object_or_404(
            Profile.objects.visible_to(request.user).select_related("workload", "platform"), uid=id
        )

        def build() -> HttpResponseBase:
            runs = run_tables([profile.pk]).get(profile.pk)
            if runs is None:
                raise Http404
            media_type = f"{self.renderer_classes[0].media_type}; charset=utf-8"
            name = f"{profile.workload.slug}-{profile.platform.slug}{self.suffix}"
            headers = {"Content-Type": media_type, "Content-Disposition": f'attachment; filename="{name}"'}
            return HttpResponse(self.written(profile, runs), headers=headers)

        return respond_unless_unchanged(request, database_etag(request, self.suffix), build)

    def written(self, profile: Profile, runs: RunTable) -> str:
        raise NotImplementedError


@extend_schema_view(
    get=extend_schema(operation_id="profile_extra_p", summary="A profile for Extra-P", responses=FILE_RESPONSES)
)
class ProfileExtraP(ProfileFile):
    """The repeats at each n in Extra-P's text format. The parameter is n, the number of threads."""

    renderer_classes: Any = (TextRenderer,)
    suffix = ".extra-p.txt"

    def written(self, profile: Profile, runs: RunTable) -> str:
        return extra_p_text(profile.workload.name, runs)


@extend_schema_view(
    get=extend_schema(
        operation_id="profile_extra_p_lines", summary="A profile for Extra-P, as JSON Lines", responses=FILE_RESPONSES
    )
)
class ProfileExtraPLines(ProfileFile):
    """The repeats at each n in Extra-P's JSON Lines format, one line per run."""

    renderer_classes: Any = (LinesRenderer,)
    suffix = ".extra-p.jsonl"

    def written(self, profile: Profile, runs: RunTable) -> str:
        objects = (
            {
                "params": {EXTRA_P_PARAMETER: n},
                "callpath": profile.workload.name,
                "metric": EXTRA_P_METRIC,
                "value": time_s,
            }
            for n, times in repeats_by_n(runs).items()
            for time_s in times
        )
        return "".join(json.dumps(line) + "\n" for line in objects)


@extend_schema_view(
    get=extend_schema(operation_id="profile_runs", summary="The raw runs of a profile", responses=FILE_RESPONSES)
)
class ProfileRuns(ProfileFile):
    """All measured runs, including variations."""

    renderer_classes: Any = (CSVRenderer,)
    suffix = ".runs.csv"

    def written(self, profile: Profile, runs: RunTable) -> str:
        return "".join(csv_lines(RAW_RUN_COLUMNS, raw_run_rows(profile.workload.name, runs)))


def repeats_by_n(runs: RunTable) -> dict[int, list[float]]:
    """Return the times in seconds at each n from which t(n) is the median.

    These are the clean runs, or the profile runs at an n without clean runs. Variations are not included.
    """
    own_runs = runs.own
    clean: dict[int, list[float]] = defaultdict(list)
    profiled: dict[int, list[float]] = defaultdict(list)
    rows = zip(own_runs.n.tolist(), own_runs.is_profile_pass.tolist(), own_runs.time_s.tolist(), strict=True)
    for n, is_profile_pass, time_s in rows:
        (profiled if is_profile_pass else clean)[n].append(time_s)
    return {n: clean.get(n) or profiled[n] for n in sorted({*clean, *profiled})}


def extra_p_text(region: str, runs: RunTable) -> str:
    """Return the runs in Extra-P's text format, with one line of repeats for each n.

    >>> import numpy as np
    >>> runs = RunTable(np.array([1, 1, 2]), np.array([1, 2, 1]), np.zeros(3, bool), np.array([2.0, 2.25, 1.0]))
    >>> print(extra_p_text("sort main", runs), end="")
    PARAMETER n
    POINTS 1 2
    REGION sort_main
    METRIC time
    DATA 2.0 2.25
    DATA 1.0
    """
    repeats = repeats_by_n(runs)
    lines = [
        f"PARAMETER {EXTRA_P_PARAMETER}",
        f"POINTS {' '.join(map(str, repeats))}",
        f"REGION {'_'.join(region.split())}",
        f"METRIC {EXTRA_P_METRIC}",
        *(f"DATA {' '.join(map(repr, times))}" for times in repeats.values()),
    ]
    return "\n".join(lines) + "\n"


def raw_run_rows(workload: str, runs: RunTable) -> Iterator[Mapping[str, object]]:
    """Yield all measured runs, including variations. Values that were not measured are None."""
    for row in range(len(runs)):
        is_profile_pass = bool(runs.is_profile_pass[row])
        parts = runs.parts_ns[row].tolist() if is_profile_pass and runs.parts_ns is not None else [None] * 7
        exact = None if runs.time_ns is None else int(runs.time_ns[row])
        optional = {
            name: None if (column := getattr(runs, name)) is None else nan_to_null(column[row])
            for name in FURTHER_COLUMNS
        }
        yield {
            "workload": workload,
            "n": int(runs.n[row]),
            "repeat": int(runs.repeat[row]),
            "pass": "profile" if is_profile_pass else "clean",
            "time_s": float(runs.time_s[row]),
            "time_ns": exact,
            **dict(zip(PART_COLUMNS, parts, strict=True)),
            **optional,
        }
