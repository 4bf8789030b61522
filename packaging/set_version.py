"""Sets the one version that all distributions, the citation and the container image have.

python packaging/set_version.py 1.0.0
"""

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
# Where it stands, with what stands before it.
PLACES = {
    "pyproject.toml": '^version = "',
    "benchmarks/client/pyproject.toml": '^version = "',
    "benchmarks/client/src/mpet/__init__.py": '^__version__ = "',
    "packaging/mpet-core/pyproject.toml": '^version = "',
    "packaging/mpet-core/mpet_core/__init__.py": '^__version__ = "',
    "research/bench/pyproject.toml": '^version = "',
    "research/bench/mpet_bench/__init__.py": '^__version__ = "',
    "packaging/conda/mpet/recipe.yaml": "^  version: ",
    "packaging/conda/mpet-kit/recipe.yaml": "^  version: ",
    "packaging/spack/packages/py_mpet/package.py": '^    version\\("',
    "packaging/spack/packages/mpet_kit/package.py": '^    version\\("',
    ".zenodo.json": '^  "version": "',
    "CITATION.cff": "^version: ",
    "deploy/Containerfile": '^ +org\\.opencontainers\\.image\\.version="',
}


def versions() -> dict[str, str]:
    """The version that stands in each place."""
    found = {}
    for name, before in PLACES.items():
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        match = re.search(before + rf"(?P<version>{VERSION.pattern})", text, re.MULTILINE)
        if match is None:
            raise SystemExit(f"{name} has no version")
        found[name] = match["version"]
    return found


def main(version: str) -> None:
    if not VERSION.fullmatch(version):
        raise SystemExit(f"{version} is no version such as 1.0.0")
    for name, former in versions().items():
        path = REPOSITORY / name
        text = path.read_text(encoding="utf-8")
        changed = re.sub(f"({PLACES[name]}){re.escape(former)}", rf"\g<1>{version}", text, count=1, flags=re.MULTILINE)
        path.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
