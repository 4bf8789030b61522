"""Each distribution is pinned once: pip reads a name's first pin, whoever raises it may see the second."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_each_distribution_is_pinned_once() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    names = Counter(re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines if "==" in line)

    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) > 100
