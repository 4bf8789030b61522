"""In which year processors of a microarchitecture came to market, for the sentence about a machine."""

from __future__ import annotations

import re

# Desktop and mobile processors, and servers where these came later.
YEARS = {
    "k10": 2007,
    "nehalem": 2008,
    "westmere": 2010,
    "sandybridge": 2011,
    "bulldozer": 2011,
    "ivybridge": 2012,
    "piledriver": 2012,
    "haswell": 2013,
    "broadwell": 2014,
    "skylake": 2015,
    "kabylake": 2016,
    "coffeelake": 2017,
    "zen": 2017,
    "zen+": 2018,
    "cascadelake": 2019,
    "icelake": 2019,
    "zen2": 2019,
    "zen3": 2020,
    "alderlake": 2021,
    "zen4": 2022,
    "sapphirerapids": 2023,
    "emeraldrapids": 2023,
    "graniterapids": 2024,
    "sierraforest": 2024,
    "zen5": 2024,
}
SERVER_YEARS = {
    "nehalem": 2009,
    "sandybridge": 2012,
    "ivybridge": 2013,
    "haswell": 2014,
    "broadwell": 2016,
    "skylake": 2017,
    "icelake": 2021,
    "zen3": 2021,
}


def year_of(microarchitecture: str | None, device_class: str | None) -> int | None:
    """None where it is not known.

    >>> year_of("Ice Lake-SP", "server"), year_of("Zen 4", None), year_of("Cortex-A53", "embedded")
    (2021, 2022, None)
    """
    key = re.sub(r"[ _-]|\b(sp|ep|x|c)$", "", (microarchitecture or "").lower().replace("-", " "))
    server = SERVER_YEARS.get(key) if device_class == "server" else None
    return server or YEARS.get(key)
