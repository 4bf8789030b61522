from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from django.contrib.staticfiles.finders import FileSystemFinder
from django.core.files.storage import FileSystemStorage


class PlotlyFinder(FileSystemFinder):
    """vendor/plotly/plotly.min.js from the installed Python package: the version that made the figures draws them."""

    prefix = "vendor/plotly"
    file = "plotly.min.js"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        root = str(files("plotly") / "package_data")
        storage: Any = FileSystemStorage(location=root)
        storage.prefix = self.prefix
        self.locations = [(self.prefix, root)]
        self.storages = {root: storage}

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find_location(self, root: str, path: str, prefix: str | None = None) -> str | None:
        return super().find_location(root, path, prefix) if path.endswith("/" + self.file) else None

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[tuple[str, Any]]:
        yield from ((self.file, storage) for storage in self.storages.values())
