"""One name for each maker of processors, however a machine spells it: no Django."""

from __future__ import annotations

from types import MappingProxyType

from profiles.identity.spelling import fold_spelling, normalise_spacing

# What processors, operating systems and catalogues call a maker, folded, by the name that is stored.
SPELLINGS = MappingProxyType(
    {
        "AMD": ("amd", "authenticamd", "amdinc", "advancedmicrodevices", "advancedmicrodevicesinc"),
        "Ampere": ("ampere", "amperecomputing"),
        "Apple": ("apple", "appleinc"),
        "Arm": ("arm", "armltd", "armlimited"),
        "Broadcom": ("broadcom", "broadcominc", "broadcomcorporation"),
        "Fujitsu": ("fujitsu", "fujitsultd", "fujitsulimited"),
        "HiSilicon": ("hisilicon", "hisilicontechnologies"),
        "Hygon": ("hygon", "hygongenuine"),
        "IBM": ("ibm", "ibms390", "internationalbusinessmachines"),
        "Intel": ("intel", "genuineintel", "intelcorporation", "intelcorp"),
        "NVIDIA": ("nvidia", "nvidiacorporation"),
        "Qualcomm": ("qualcomm", "qualcommtechnologies", "qualcommtechnologiesinc"),
        "SiFive": ("sifive", "sifiveinc"),
        "VIA": ("via", "centaurhauls", "viatechnologies"),
        "Zhaoxin": ("zhaoxin", "shanghai"),
    }
)
_NAME_OF_SPELLING = {spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings}


def canonical_vendor(text: str | None) -> str | None:
    """The maker's name; what is no known spelling stays as it is written.

    >>> canonical_vendor("GenuineIntel"), canonical_vendor("Intel(R) Corporation"), canonical_vendor("intel")
    ('Intel', 'Intel', 'Intel')
    >>> canonical_vendor("AuthenticAMD"), canonical_vendor("ACME  Silicon"), canonical_vendor(None)
    ('AMD', 'ACME Silicon', None)
    """
    if not text:
        return None
    return _NAME_OF_SPELLING.get(fold_spelling(text), normalise_spacing(text))
