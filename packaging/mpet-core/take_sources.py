"""Takes the modules of the core into wheel and sdist as they are in the repository, below `mpet_core`:
`predictor.core.x` becomes `mpet_core.predictor.core.x`, and nothing else of them changes. No copy is kept. An sdist has
them, so that a wheel that is built of it takes none."""

import ast
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REPOSITORY = Path(__file__).resolve().parents[2]
ENTRANCES = (
    "predictor.core.public_dump",
    "predictor.core.regressor",
    "predictor.core.evaluate",
    "predictor.core.scenarios",
)
PACKAGES = ("predictor", "profiles")
IMPORTS = re.compile(r"^(\s*(?:>>> |\.\.\. )?(?:from|import) )(predictor|profiles)(?=[. ])", re.MULTILINE)


def source_of(module: str) -> Path | None:
    """The file of a module of the repository; None where the name is something inside a module."""
    path = REPOSITORY.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def imported_by(source: str) -> Iterator[str]:
    """The names of ours that it imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in PACKAGES)


def needed_modules(entrances: tuple[str, ...] = ENTRANCES) -> dict[str, Path]:
    """Those that the entrances import, directly or not, with the packages that they are in."""
    needed: dict[str, Path] = {}
    waiting = list(entrances)
    while waiting:
        module = waiting.pop()
        source = source_of(module)
        if source is None or module in needed:
            continue
        needed[module] = source
        waiting += [module.rpartition(".")[0], *imported_by(source.read_text(encoding="utf-8"))]
    return needed


def relocated(source: str) -> str:
    """The source with its imports of ours below `mpet_core`.

    >>> relocated("from predictor.core import methods")
    'from mpet_core.predictor.core import methods'
    """
    return IMPORTS.sub(r"\1mpet_core.\2", source)


class TakeSources(BuildHookInterface):
    """Hatchling calls it before it packs a wheel or an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.taken = tempfile.TemporaryDirectory()
        for source in needed_modules().values():
            inside = source.relative_to(REPOSITORY)
            target = Path(self.taken.name) / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(relocated(source.read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(target)] = f"mpet_core/{inside}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.taken.cleanup()
