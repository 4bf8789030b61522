"""Templates are indented for people. The indentation is not sent: it would nearly double what a page weighs."""

import re
from typing import Any

from django.template.loaders.app_directories import Loader as AppDirectories
from django.template.loaders.filesystem import Loader as FileSystem

PREFORMATTED = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)


def strip_indentation(source: str) -> str:
    """Lines stay lines, so that an error names the right one."""
    parts = PREFORMATTED.split(source)
    return "".join(part if PREFORMATTED.match(part) else INDENTATION.sub("", part) for part in parts)


class Unindented:
    def get_contents(self, origin: Any) -> str:
        contents: str = super().get_contents(origin)  # type: ignore[misc]
        return strip_indentation(contents) if origin.name.endswith(".html") else contents


class UnindentedFiles(Unindented, FileSystem):
    pass


class UnindentedApps(Unindented, AppDirectories):
    pass
