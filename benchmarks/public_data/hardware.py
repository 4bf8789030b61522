"""Platform facts from the output of Linux tools: lscpu and lshw as JSON, lstopo as XML.

The table of x86 server processors uses the names of the kit's table (topology/microarchitecture.cpp), which is larger.
tests/benchmarks/public_data/test_hardware.py compares the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException, ElementTree

from benchmarks.public_data.interface import RefusedFolder
from profiles.measurements import PlatformRecord
from profiles.measurements.datasets import impossible_topology

ANY = 255

X86_MODELS = (  # vendor, family, first model, last model, last stepping, name; the first match counts
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
BYTES_OF_LEVEL = {"l1d_bytes": "L1d cache", "l2_bytes": "L2 cache", "l3_bytes": "L3 cache"}
CACHE_OF_LEVEL = {"l1d_bytes": "L1Cache", "l2_bytes": "L2Cache", "l3_bytes": "L3Cache"}


def x86_microarchitecture(vendor: str, family: int | None, model: int | None, stepping: int | None) -> str | None:
    """Return the name of the microarchitecture of an x86 processor, or None if it is unknown.

    >>> x86_microarchitecture("GenuineIntel", 6, 85, 7), x86_microarchitecture("GenuineIntel", 6, None, None)
    ('Cascade Lake', None)
    """
    if family is None or model is None:
        return None
    for of_vendor, of_family, first, last, last_stepping, name in X86_MODELS:
        if (vendor, family) == (of_vendor, of_family) and first <= model <= last and (stepping or 0) <= last_stepping:
            return name
    return None


def read_json(files: Mapping[str, bytes], member: str) -> Any:
    """Parse a JSON file. Raise RefusedFolder if it is missing or invalid."""
    if member not in files:
        raise RefusedFolder(f"no {member}")
    try:
        return json.loads(files[member])
    except (ValueError, RecursionError) as error:
        raise RefusedFolder(f"{member} is not valid JSON") from error


def read_lscpu(files: Mapping[str, bytes], member: str) -> dict[str, str]:
    """Return the fields in the output of `lscpu --json` by name. Raise RefusedFolder if the output is missing or
    invalid."""
    rows = read_json(files, member)
    rows = rows.get("lscpu") if isinstance(rows, dict) else None
    if not isinstance(rows, list):
        raise RefusedFolder(f"{member} is not output of lscpu")
    named = [row for row in rows if isinstance(row, dict) and isinstance(row.get("data"), str)]
    return {str(row.get("field", "")).rstrip(":"): row["data"].strip() for row in named}


def read_lscpu_text(text: str) -> dict[str, str]:
    """Return the fields in the plain text output of `lscpu`, with the names and the bytes of `lscpu --json --bytes`.

    >>> read_lscpu_text("CPU(s):   4" + chr(10) + "  L1d:    1.5 MiB (48 instances)")
    {'CPU(s)': '4', 'L1d cache': '1572864'}
    """
    lines = (line.partition(":") for line in text.splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, _, value in lines}
    for label in BYTES_OF_LEVEL.values():
        if size_bytes := bytes_in(fields.pop(label.removesuffix(" cache"), "")):
            fields[label] = str(size_bytes)
    return fields


def bytes_in(text: str) -> int | None:
    """Return the size in bytes with which a text begins, or None. kB and KiB both mean 1024 bytes, as in lscpu and
    LIKWID.

    >>> bytes_in("1.25 MB"), bytes_in("48 KiB"), bytes_in("unknown")
    (1310720, 49152, None)
    """
    found = re.match(r"(\d{1,9}(?:\.\d{1,6})?) ?([kKMG])i?B\b", text)
    return round(float(found[1]) * 1024 ** ("KMG".index(found[2].upper()) + 1)) if found else None


def read_lstopo(files: Mapping[str, bytes], member: str) -> dict[str, int]:
    """Return the counts and sizes in lstopo's XML: threads, physical_cores, numa_nodes, sockets, memory_bytes and
    caches. Return an empty dict if the file is missing or cannot be read, because lscpu has most of them, too."""
    try:
        root = ElementTree.fromstring(files.get(member, b""))
    except (ParseError, DefusedXmlException, ValueError):
        return {}
    objects = list(root.iter("object"))
    counted = {"threads": "PU", "physical_cores": "Core", "numa_nodes": "NUMANode", "sockets": "Package"}
    found = {name: sum(one.get("type") == kind for one in objects) for name, kind in counted.items()}
    for name, kind in CACHE_OF_LEVEL.items():
        found[name] = sum(_number(one, "cache_size") for one in objects if one.get("type") == kind)
    found["memory_bytes"] = sum(_number(one, "local_memory") for one in objects)
    return {name: value for name, value in found.items() if value > 0}


def _number(element: Element, attribute: str) -> int:
    return leading_integer(element.get(attribute, "")) or 0


def lshw_memory_bytes(files: Mapping[str, bytes], member: str) -> int | None:
    """Return the size of the system memory in the output of `lshw -json`, or None."""
    try:
        remaining = [json.loads(files.get(member, b""))]
    except (ValueError, RecursionError):
        return None
    while remaining:
        node = remaining.pop()
        if isinstance(node, list):
            remaining += node
        elif isinstance(node, dict):
            if node.get("id") == "memory" and isinstance(node.get("size"), int) and node.get("units") == "bytes":
                return int(node["size"]) or None
            remaining.append(node.get("children"))
    return None


def leading_integer(text: str | None) -> int | None:
    """Return the number with which a text begins, or None.

    >>> leading_integer("1048576 (16 instances)"), leading_integer("unknown"), leading_integer(None)
    (1048576, None, None)
    """
    found = re.match(r"\d{1,18}", text or "")
    return int(found.group()) if found else None


def clock_in(text: str) -> float | None:
    """Return the clock in MHz that the name of a processor or a line contains, or None.

    >>> clock_in("Intel(R) Xeon(R) CPU @ 2.20GHz"), clock_in("Neoverse-V1")
    (2200.0, None)
    """
    found = re.search(r"(\d{1,5}(?:\.\d{1,6})?) ?([GM])Hz", text)
    return None if found is None else float(found[1]) * (1000 if found[2] == "G" else 1)


def read_platform(name: str, lscpu: Mapping[str, str], lstopo: Mapping[str, int]) -> PlatformRecord:
    """Return a platform from the fields of lscpu, and from lstopo if lscpu has no value. Raise RefusedFolder if the two
    contradict each other or the topology is impossible."""
    model = lscpu.get("Model name", "")
    threads = leading_integer(lscpu.get("CPU(s)"))
    if not model or not threads:
        raise RefusedFolder("lscpu names no processor")
    if lstopo.get("threads", threads) != threads:
        raise RefusedFolder("lscpu and lstopo see different numbers of threads")
    sockets = leading_integer(lscpu.get("Socket(s)")) or lstopo.get("sockets")
    per_core = leading_integer(lscpu.get("Thread(s) per core"))
    cores = threads // per_core if per_core else lstopo.get("physical_cores")
    numa_nodes = leading_integer(lscpu.get("NUMA node(s)")) or lstopo.get("numa_nodes")
    caches: dict[str, Any] = {
        level: leading_integer(lscpu.get(label)) or lstopo.get(level) for level, label in BYTES_OF_LEVEL.items()
    }
    # Threads first fill the cores, NUMA node by NUMA node, and then the SMT siblings, as in the kit.
    places = cores or threads
    platform = PlatformRecord(
        name=name,
        cpu_model=model,
        vendor=lscpu.get("Vendor ID"),
        architecture=lscpu.get("Architecture"),
        microarchitecture=_microarchitecture(model, lscpu),
        word_bits=64 if "64-bit" in lscpu.get("CPU op-mode(s)", "") else None,
        device_class="server",
        sockets=sockets,
        numa_nodes=numa_nodes,
        physical_cores=cores,
        threads=threads,
        n_nu=places // numa_nodes if numa_nodes and 1 < numa_nodes <= places else None,
        n_ht=cores if cores and cores < threads else None,
        n_max=threads,
        base_mhz=clock_in(model),
        max_mhz=leading_integer(lscpu.get("CPU max MHz")),
        memory_bytes=lstopo.get("memory_bytes"),
        virtualised=True if lscpu.get("Hypervisor vendor") else None,
        **caches,
    )
    if impossible_topology(platform) is not None:
        raise RefusedFolder("an impossible topology")
    return platform


def _microarchitecture(model: str, lscpu: Mapping[str, str]) -> str | None:
    """Return the model name of Arm cores. Identify x86 processors by family, model and stepping."""
    if lscpu.get("Architecture") in ("aarch64", "armv7l"):
        return model
    numbers = (leading_integer(lscpu.get(name)) for name in ("CPU family", "Model", "Stepping"))
    return x86_microarchitecture(lscpu.get("Vendor ID", ""), *numbers)
