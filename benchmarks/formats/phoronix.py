"""Phoronix Test Suite's composite.xml, which OpenBenchmarking.org shares: results of one system."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException, ElementTree

from benchmarks.formats.collecting import MOST_DOCUMENT_BYTES, SECONDS_PER_UNIT, Collected, ForeignFile, as_number
from profiles.measurements import PlatformRecord, TimeKind, WorkloadRecord

UNITS = {"seconds": "s", "second": "s", "sec": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
THREADS_NAMED = re.compile(r"(?:threads?|cores|cpus?|jobs)\s*[:=]?\s*(\d{1,5})|(?<!\S)-[tj]\s*(\d{1,5})", re.IGNORECASE)
PROCESSOR = re.compile(
    r"Processor: *(?:(?P<sockets>\d+) x )?(?P<model>[^,(@]+?)(?: @ (?P<ghz>[\d.]+)GHz)?"
    r" *\((?P<cores>\d+) Cores?(?: / (?P<threads>\d+) Threads?)?\)"
)


def read_phoronix(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    root = _root(collected, file)
    systems = [_text(system, "Identifier") for system in root.iter("System")]
    if len(set(systems)) > 1:
        collected.refuse(file, None, f"has the results of {len(set(systems))} systems: one file, one machine")
    for system in root.iter("System"):
        _describe_platform(collected, _text(system, "Hardware"), _text(system, "Identifier"))
    whole = None if collected.platform is None else collected.platform.n_max or collected.platform.threads
    for place, result in enumerate(root.iter("Result"), start=1):
        _add_result(collected, file, result, place, whole)


def _root(collected: Collected, file: ForeignFile) -> Element:
    if len(file.content) > 4 * MOST_DOCUMENT_BYTES:
        collected.refuse(file, None, f"is larger than {4 * MOST_DOCUMENT_BYTES} bytes")
    try:
        root: Element = ElementTree.fromstring(file.content)
    except ParseError as error:
        collected.refuse(file, error.position[0], f"is not valid XML: {error}")
    except (DefusedXmlException, ValueError, LookupError) as error:
        collected.refuse(file, None, f"is not XML that is read: {type(error).__name__}")
    if root.tag != "PhoronixTestSuite":
        collected.refuse(file, 1, "is not a composite.xml of the Phoronix Test Suite")
    return root


def _text(element: Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _describe_platform(collected: Collected, hardware: str, name: str) -> None:
    found = PROCESSOR.search(hardware)
    if found is None:
        return
    cores = int(found["cores"])
    threads = int(found["threads"] or cores)
    model = found["model"].strip()
    collected.describe(
        PlatformRecord(
            name or model,
            model,
            sockets=int(found["sockets"] or 1),
            physical_cores=cores,
            threads=threads,
            n_ht=cores if cores < threads else None,
            max_mhz=float(found["ghz"]) * 1000 if found["ghz"] else None,
        )
    )


def _add_result(collected: Collected, file: ForeignFile, result: Element, place: int, whole: int | None) -> None:
    test, description = _text(result, "Identifier") or _text(result, "Title"), _text(result, "Description")
    threads = THREADS_NAMED.search(f"{description} {_text(result, 'Arguments')}")
    n = next(filter(None, threads.groups())) if threads else whole
    if n is None:
        collected.left_out["results that say no number of threads, on a machine whose number is unknown"] += 1
        return
    name, _, version = test.rpartition("-") if re.search(r"-[\d.]+$", test) else (test, "", "")
    setting = _without_threads(description) if threads else description
    workload = WorkloadRecord(
        *(name, name.rpartition("/")[2] or None),
        input=setting[:200] or None,
        version=(_text(result, "AppVersion") or version)[:50] or None,
    )
    kind, factor = _scale(_text(result, "Scale"))
    fewer_is_better = _text(result, "Proportion").upper() != "HIB"
    for value in _values(result):
        usable = value is not None and value > 0
        time = None if not usable or value is None else value * factor if fewer_is_better else 1 / value
        if time is None:
            collected.left_out["results without a positive number"] += 1
        else:
            in_seconds = kind == "absolute" and fewer_is_better
            collected.add(workload, n, time, file=file, line=None, kind="absolute" if in_seconds else "relative")


def _without_threads(description: str) -> str:
    """The settings that are left, `NAME: VALUE` with dashes between them.

    >>> _without_threads("Grid: 1500 - Threads: 2 - Rate")
    'Grid: 1500 - Rate'
    """
    settings = (THREADS_NAMED.sub("", setting).strip(" ,;-") for setting in re.split(r"\s-\s", description))
    return " - ".join(filter(None, settings))


def _scale(scale: str) -> tuple[TimeKind, float]:
    unit = UNITS.get(scale.casefold(), scale)
    return ("absolute", SECONDS_PER_UNIT[unit]) if unit in SECONDS_PER_UNIT else ("relative", 1.0)


def _values(result: Element) -> Iterator[float | None]:
    """Every single run where the file has them, else the one value."""
    for entry in result.iter("Entry"):
        raw = [text for text in _text(entry, "RawString").split(":") if text]
        yield from (as_number(text) for text in raw or [_text(entry, "Value")])
