"""x86 server processors by family, model and stepping. The kit's table (topology/microarchitecture.cpp) has the same
names and more processors; tests/benchmarks/public_data/test_microarchitectures.py compares the two."""

from __future__ import annotations

ANY = 255

X86_MODELS = (  # vendor, family, first model, last model, last stepping, name: the first that fits counts
    ("GenuineIntel", 6, 45, 45, ANY, "Sandy Bridge-EP"),
    ("GenuineIntel", 6, 62, 62, ANY, "Ivy Bridge-EP"),
    ("GenuineIntel", 6, 60, 60, ANY, "Haswell"),
    ("GenuineIntel", 6, 63, 63, ANY, "Haswell-EP"),
    ("GenuineIntel", 6, 61, 61, ANY, "Broadwell"),
    ("GenuineIntel", 6, 79, 79, ANY, "Broadwell-EP"),
    ("GenuineIntel", 6, 94, 94, ANY, "Skylake"),
    ("GenuineIntel", 6, 85, 85, 4, "Skylake-SP"),
    ("GenuineIntel", 6, 85, 85, 7, "Cascade Lake"),
    ("GenuineIntel", 6, 85, 85, 11, "Cooper Lake"),
    ("GenuineIntel", 6, 158, 158, 13, "Coffee Lake"),
    ("GenuineIntel", 6, 106, 106, ANY, "Ice Lake-SP"),
    ("GenuineIntel", 6, 143, 143, ANY, "Sapphire Rapids"),
    ("GenuineIntel", 6, 207, 207, ANY, "Emerald Rapids"),
    ("GenuineIntel", 6, 173, 174, ANY, "Granite Rapids"),
    ("GenuineIntel", 6, 175, 175, ANY, "Sierra Forest"),
    ("AuthenticAMD", 23, 8, 8, ANY, "Zen+"),
    ("AuthenticAMD", 23, 0, 47, ANY, "Zen1"),
    ("AuthenticAMD", 23, 48, 79, ANY, "Zen2"),
    ("AuthenticAMD", 23, 144, 175, ANY, "Zen2"),
    ("AuthenticAMD", 25, 0, 15, ANY, "Zen3"),
    ("AuthenticAMD", 25, 32, 95, ANY, "Zen3"),
    ("AuthenticAMD", 25, 16, 31, ANY, "Zen4"),
    ("AuthenticAMD", 25, 96, 175, ANY, "Zen4"),
    ("AuthenticAMD", 26, 0, 47, ANY, "Zen5"),
    ("AuthenticAMD", 26, 64, 79, ANY, "Zen5"),
)


def x86_microarchitecture(vendor: str, family: int | None, model: int | None, stepping: int | None) -> str | None:
    """
    >>> x86_microarchitecture("GenuineIntel", 6, 85, 7), x86_microarchitecture("GenuineIntel", 6, None, None)
    ('Cascade Lake', None)
    """
    if family is None or model is None:
        return None
    for of_vendor, of_family, first, last, last_stepping, name in X86_MODELS:
        if (vendor, family) == (of_vendor, of_family) and first <= model <= last and (stepping or 0) <= last_stepping:
            return name
    return None
