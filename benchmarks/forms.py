"""The form that takes a results tarball."""

from typing import Any

from django import forms
from django.conf import settings
from django.template.defaultfilters import filesizeformat

from benchmarks.models import Upload


class UploadForm(forms.Form):
    file = forms.FileField(
        label="Results of the benchmark kit",
        help_text="A tarball in the format mpet-results/1, as the kit writes it (.tar.gz).",
        widget=forms.ClearableFileInput(attrs={"accept": ".tar.gz,.tgz,application/gzip"}),
    )
    visibility = forms.ChoiceField(
        label="Who may see it",
        choices=[
            (Upload.Visibility.PUBLIC, "Public: everybody sees it and predicts from it"),
            (Upload.Visibility.PRIVATE, "Private: only you see it, and only your predictions use it"),
        ],
        initial=Upload.Visibility.PUBLIC,
        widget=forms.RadioSelect,
    )

    licence = forms.ChoiceField(
        label="Licence",
        choices=Upload.Licence.choices,
        initial=Upload.Licence.AS_SOURCE,
        required=False,
        help_text="Under which others may use it; shown wherever its numbers are.",
    )

    def clean_licence(self) -> str:
        return self.cleaned_data["licence"] or Upload.Licence.AS_SOURCE.value

    def clean_visibility(self) -> str:
        """Said once: the browser sends one value, and whoever sends two means nothing that we know."""
        values: Any = self.data
        given = values.getlist(self.add_prefix("visibility"))
        if len(given) > 1:
            raise forms.ValidationError(f"It is given {len(given)} times; say public or private once.")
        return str(self.cleaned_data["visibility"])

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > settings.UPLOAD_MAX_PACKED_BYTES:
            limit = filesizeformat(settings.UPLOAD_MAX_PACKED_BYTES)
            raise forms.ValidationError(f"The file has {filesizeformat(file.size)}; at most {limit} are taken.")
        return file
