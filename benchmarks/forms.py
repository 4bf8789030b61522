"""Form for uploading results of the kit or files of other tools."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.template.defaultfilters import filesizeformat

from benchmarks.archive import ArchiveError
from benchmarks.foreign import RECOGNISED, as_one_file, known_platform
from benchmarks.formats import FORMATS
from benchmarks.formats.deliveries import MOST_FILES, ForeignReading
from benchmarks.models import Upload
from benchmarks.reading import read_sent_platform
from profiles.measurements import PlatformRecord, UnreadableError
from profiles.measurements.bounds import RANGES
from profiles.models import Platform

FORM_TITLES = {
    "google-benchmark": "Google Benchmark (JSON)",
    "hyperfine": "hyperfine (JSON of a scan over threads)",
    "extra-p": "Extra-P (text or JSON Lines)",
    "talp": "TALP (JSON, one file for each n)",
    "likwid": "LIKWID (CSV of likwid-perfctr, one file for each n)",
    "phoronix": "Phoronix Test Suite (composite.xml)",
    "csv": "A table of your own (CSV with a header)",
}
OF_OTHER_TOOLS = ("platform", "machine", "processor", "threads", "columns")
WAYS_TO_SAY_THE_MACHINE = ("platform", "platform_json", "machine")


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """A file field that accepts one or more files."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        files = data if isinstance(data, list | tuple) else [data]
        return [super(FilesField, self).clean(file, initial) for file in files or [None]]


class UploadForm(forms.Form):
    file = FilesField(
        label="Files", help_text="A tarball of the benchmark kit or mpet-profile (.tar.gz), or files of another tool."
    )
    form = forms.ChoiceField(
        label="Format",
        choices=[(RECOGNISED, "Detect automatically"), *((form, FORM_TITLES.get(form, form)) for form in FORMATS)],
        initial=RECOGNISED,
        required=False,
    )
    platform = forms.CharField(
        label="A machine in the database",
        required=False,
        max_length=200,
        help_text="The last part of the address of its page.",
    )
    machine = forms.CharField(label="Or another machine: name", required=False, max_length=200)
    processor = forms.CharField(label="Processor", required=False, max_length=200)
    threads = forms.IntegerField(
        label="Number of threads",
        required=False,
        min_value=int(RANGES["threads"].least),
        max_value=int(RANGES["threads"].most),
    )
    platform_json = forms.FileField(
        label="Or its platform.json",
        required=False,
        help_text="Full description of the machine; kit tarballs contain one.",
    )
    columns = forms.CharField(
        label="Columns of a table",
        required=False,
        max_length=2000,
        help_text="If they have other names: <code>workload=Benchmark, n=Threads, time_ms=Milliseconds</code>",
    )
    visibility = forms.ChoiceField(
        label="Who may see it",
        choices=[
            (Upload.Visibility.PRIVATE, "Private: only you see it, and only your predictions use it; publish it later"),
            (Upload.Visibility.PUBLIC, "Public: everybody sees it and predicts from it"),
        ],
        initial=Upload.Visibility.PRIVATE,
        widget=forms.RadioSelect,
    )

    licence = forms.ChoiceField(
        label="Licence",
        choices=Upload.Licence.choices,
        initial=Upload.Licence.AS_SOURCE,
        required=False,
        help_text="Terms of use for others; shown with the data.",
    )

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user

    def limit_bytes(self) -> int:
        """Return the maximum total size of the files."""
        return int(settings.UPLOAD_MAX_PACKED_BYTES)

    def clean_licence(self) -> str:
        return self.cleaned_data["licence"] or Upload.Licence.AS_SOURCE.value

    def clean_visibility(self) -> str:
        """Raise ValidationError if the field is given several times, because its meaning is ambiguous then. Browsers
        send one value."""
        values: Any = self.data
        given = values.getlist(self.add_prefix("visibility"))
        if len(given) > 1:
            raise forms.ValidationError(f"Given {len(given)} times; send public or private once.")
        return str(self.cleaned_data["visibility"])

    def clean_file(self) -> list[Any]:
        files: list[Any] = self.cleaned_data["file"]
        limit = self.limit_bytes()
        if len(files) > MOST_FILES:
            raise forms.ValidationError(f"There are {len(files)} files; at most {MOST_FILES} are accepted.")
        size_bytes = sum(file.size for file in files)
        if size_bytes > limit:
            has = "The file has" if len(files) == 1 else "The files have"
            raise forms.ValidationError(
                f"{has} {filesizeformat(size_bytes)}; at most {filesizeformat(limit)} are accepted."
            )
        return files

    def clean_platform(self) -> PlatformRecord | None:
        slug = self.cleaned_data["platform"].strip().rstrip("/").rpartition("/")[2]
        try:
            return known_platform(slug, self.user) if slug else None
        except Platform.DoesNotExist as error:
            raise forms.ValidationError("There is no such machine.") from error
        except UnreadableError as error:
            raise forms.ValidationError(str(error)) from error

    def clean_platform_json(self) -> PlatformRecord | None:
        file = self.cleaned_data["platform_json"]
        try:
            return read_sent_platform(file, file.name) if file else None
        except ArchiveError as error:
            raise forms.ValidationError(str(error)) from error

    def clean_columns(self) -> dict[str, str]:
        """Return a mapping from roles to column titles. Use the drop-downs of a preview if one was chosen, else the
        text field."""
        data = self.data if isinstance(self.data, QueryDict) else QueryDict()
        chosen = zip(data.getlist("column_role"), data.getlist("column_title"), strict=False)
        pairs = [f"{role}={title}" for role, title in chosen if role]
        pairs = pairs or [pair for pair in self.cleaned_data["columns"].split(",") if pair.strip()]
        columns = dict(_mapped(pair) for pair in pairs)
        if len(columns) < len(pairs):
            raise forms.ValidationError("A field is mapped twice.")
        return columns

    def clean(self) -> dict[str, Any]:
        """Add `sent`, the name, the content and the reading of the upload."""
        found: dict[str, Any] = self.cleaned_data
        if not self.errors:
            platform = self._platform(found)
            if not self.errors:
                reading = ForeignReading(found["form"] or RECOGNISED, platform, found["columns"])
                try:
                    found["sent"] = as_one_file([(file.name, file) for file in found["file"]], reading)
                except UnreadableError as error:
                    self.add_error("file", str(error))
        return found

    def _platform(self, found: Mapping[str, Any]) -> PlatformRecord | None:
        given = [name for name in WAYS_TO_SAY_THE_MACHINE if found[name]]
        if len(given) > 1:
            self.add_error(given[1], "Specify the machine in one way only.")
        elif given == ["machine"] and not (found["processor"] and found["threads"]):
            self.add_error("machine", "Also give its processor and number of threads.")
        elif (found["processor"] or found["threads"]) and given != ["machine"]:
            self.add_error("machine", "Give the name of the machine.")
        elif given == ["machine"]:
            return PlatformRecord(found["machine"], found["processor"], threads=found["threads"])
        return found["platform"] or found["platform_json"]


def _mapped(pair: str) -> tuple[str, str]:
    name, equals, title = pair.partition("=")
    if not equals or not title.strip():
        raise forms.ValidationError(f"“{pair.strip()}” is not field=column title.")
    return name.strip(), title.strip()
