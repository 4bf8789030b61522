"""Comparison of descriptions of machines and workloads (exact, up to spelling, nearly equal), and names of vendors.

The functions accept any object with the attributes of a PlatformRecord or a WorkloadRecord, both records and rows. This
module does not import Django.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from functools import lru_cache
from types import MappingProxyType
from typing import Any

TOPOLOGY_COLUMNS = ("architecture", "sockets", "numa_nodes", "physical_cores", "threads", "n_nu", "n_ht")
IDENTIFYING_PLATFORM_TEXTS = ("cpu_model", "name")
IDENTIFYING_WORKLOAD_TEXTS = ("name", "version", "input", "runtime")

FOLDED_KEPT = 4096  # number of cached texts: architectures and processors are few, machine names are many

_MARKS = re.compile(r"\((?:r|tm)\)|[®™]", re.IGNORECASE)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:[^\w+#]|_)+(?=\d)")
# Stored name of each vendor -> names used by processors, operating systems and catalogues, with folded spelling.
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


def normalise_spacing(text: str) -> str:
    """Return the text as it is stored and compared: in Unicode's composed form (NFC), without superfluous spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


@lru_cache(FOLDED_KEPT)
def fold_spelling(text: str) -> str:
    """Return the text without differences in spelling: case, spaces, punctuation, (R) and (TM).

    Numbers remain separate, so that 2.4 is not 24. The signs + and # remain, so that C++ is not C. A text that consists
    of punctuation only is returned in lower case.

    >>> written = "Intel(R) Xeon(R) CPU E5-2630 V3 @ 2.40GHz"
    >>> fold_spelling(written) == fold_spelling("intel xeon cpu e5 2630 v3 @2.40 ghz")
    True
    >>> fold_spelling("2.4 GHz")
    '2.4ghz'
    """
    folded = unicodedata.normalize("NFKC", _MARKS.sub("", text)).casefold()
    folded = _BETWEEN_DIGITS.sub(".", folded)
    letters = re.sub(r"[^\w+#.]|_", "", folded)
    letters = re.sub(r"(?<!\d)\.|\.(?!\d)", "", letters)
    return letters or normalise_spacing(text).casefold()


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _texts(described: Any, names: tuple[str, ...], write: Any) -> list[str | None]:
    return [write(text) if (text := getattr(described, name)) else None for name in names]


def topology_key(platform: Any) -> tuple[Any, ...]:
    """Return the architecture and the counts. Machines that differ in these are never near misses of each other."""
    architecture, *counts = (getattr(platform, name) for name in TOPOLOGY_COLUMNS)
    return (fold_spelling(architecture) if architecture else None, *counts)


def platform_identity(platform: Any) -> str:
    """Return the SHA-256 of the processor's name, the topology and the machine's name."""
    _, *counts = topology_key(platform)
    return _digest([*_texts(platform, ("cpu_model", "architecture", "name"), normalise_spacing), *counts])


def distinct_identity(identity: str, distinction: str) -> str:
    """Return the SHA-256 for a machine that has the same name and topology as another machine."""
    return _digest([identity, distinction])


def platform_spelling(platform: Any) -> str:
    return _digest([*_texts(platform, IDENTIFYING_PLATFORM_TEXTS, fold_spelling), *topology_key(platform)])


def workload_identity(workload: Any) -> str:
    """Return the SHA-256 of name, version, input and runtime."""
    return _digest(_texts(workload, IDENTIFYING_WORKLOAD_TEXTS, normalise_spacing))


def workload_spelling(workload: Any) -> str:
    return _digest(_texts(workload, IDENTIFYING_WORKLOAD_TEXTS, fold_spelling))


def _numbers(described: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(number for name in names for number in re.findall(r"\d+", getattr(described, name) or ""))


def platform_kin(platform: Any) -> tuple[Any, ...]:
    """Return what near misses have in common: the topology, and the numbers in the names."""
    return (*topology_key(platform), _numbers(platform, IDENTIFYING_PLATFORM_TEXTS))


def workload_kin(workload: Any) -> tuple[Any, ...]:
    """Return what near misses have in common: version, input, and the numbers in the name."""
    return (*_texts(workload, ("version", "input"), fold_spelling), _numbers(workload, ("name",)))


def folded_text(described: Any, names: tuple[str, ...]) -> str:
    """Return these texts of a description joined into one, for near misses."""
    return " ".join(fold_spelling(getattr(described, name) or "") for name in names)


def canonical_vendor(text: str | None) -> str | None:
    """Return the stored name of a vendor. An unknown spelling is returned as it is written.

    >>> canonical_vendor("GenuineIntel"), canonical_vendor("Intel(R) Corporation"), canonical_vendor("intel")
    ('Intel', 'Intel', 'Intel')
    >>> canonical_vendor("AuthenticAMD"), canonical_vendor("ACME  Silicon"), canonical_vendor(None)
    ('AMD', 'ACME Silicon', None)
    """
    if not text:
        return None
    return _NAME_OF_SPELLING.get(fold_spelling(text), normalise_spacing(text))
