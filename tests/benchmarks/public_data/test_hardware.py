import re

import pytest

from benchmarks.public_data.hardware import ANY, X86_MODELS, x86_microarchitecture
from tests.paths import ROOT

VENDORS = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}
ROW = re.compile(r"\{(intel|amd), (0x\w+|\d+), (0x\w+), (0x\w+), (any|\d+), \"([^\"]+)\"")


def kit_rows():
    text = (ROOT / "benchmarks/kit/topology/microarchitecture.cpp").read_text(encoding="utf-8")
    for vendor, family, first, last, stepping, name in ROW.findall(text):
        limit = ANY if stepping == "any" else int(stepping)
        yield vendor, int(family, 0), int(first, 0), int(last, 0), limit, name


def in_kit(vendor, family, model, stepping):
    for of_vendor, of_family, first, last, limit, name in kit_rows():
        if (of_vendor, of_family) == (VENDORS[vendor], family) and first <= model <= last and stepping <= limit:
            return name
    return None


@pytest.mark.parametrize("row", X86_MODELS)
def test_every_name_is_that_of_the_kit(row):
    vendor, family, first, last, stepping, name = row
    assert len(list(kit_rows())) > 60
    for model in (first, last):
        limit = 0 if stepping == ANY else stepping
        assert in_kit(vendor, family, model, limit) == name == x86_microarchitecture(vendor, family, model, limit)
