"""Writes the Action as a repository of its own, with the client pinned to this version from the package index.

python packaging/split_action.py DIR
"""

import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from set_version import REPOSITORY, versions

OWN_CLIENT = "$GITHUB_ACTION_PATH/../benchmarks/client"


def main(folder: str) -> None:
    target = Path(folder)
    if target.exists() and any(entry.name != ".git" for entry in target.iterdir()):
        raise SystemExit(f"{target} is not empty")
    target.mkdir(parents=True, exist_ok=True)
    version = versions()["benchmarks/client/pyproject.toml"]
    action = (REPOSITORY / "action" / "action.yml").read_text(encoding="utf-8")
    if action.count(OWN_CLIENT) != 1:
        raise SystemExit(f"action.yml does not install {OWN_CLIENT}")
    (target / "action.yml").write_text(action.replace(OWN_CLIENT, f"mpet=={version}"), encoding="utf-8")
    readme = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
    readme = readme.replace("OWNER/REPOSITORY/action@", "OWNER/REPOSITORY@")
    # Links to other pages of the documentation lead nowhere in a repository of its own: their text remains.
    readme = re.sub(r"\[([^\]]*)\]\((?!https?://|#)[^)]*\)", r"\1", readme)
    (target / "README.md").write_text(readme, encoding="utf-8")
    shutil.copyfile(REPOSITORY / "LICENSE", target / "LICENSE")


if __name__ == "__main__":
    main(*sys.argv[1:])
