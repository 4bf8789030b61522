"""The reader of the Phoronix Test Suite's composite.xml, which OpenBenchmarking.org shares: results of one system."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from benchmarks.formats.collecting import LONGEST_FIELD, SECONDS_PER_UNIT, Collected, ForeignFile, as_count, as_number
from profiles.measurements import PlatformRecord, TimeKind, WorkloadRecord
from profiles.measurements.bounds import DEEPEST_JSON

UNITS = {"seconds": "s", "second": "s", "sec": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
MOST_ELEMENTS = 50_000  # a result has about twenty
# These patterns are applied to results of `_field`, which have no runs of blanks and at most LONGEST_FIELD characters.
THREADS_NAMED = re.compile(
    r"(?:threads?|cores|cpus?|jobs) ?[:=]? ?(\d{1,5})(?!\d)|(?<!\S)-[tj] ?(\d{1,5})(?!\d)", re.IGNORECASE
)
SOCKETS_COUNTED = re.compile(r"(\d{1,9}) x ")
CORES_COUNTED = re.compile(r"(\d{1,9}) Cores?(?: / (\d{1,9}) Threads?)?\)")


class _TooLargeError(Exception):
    """A document with more elements, deeper elements or longer names than the reader accepts."""


class _BoundedBuilder(TreeBuilder):
    """A tree builder that limits the number of elements, their depth and the length of their names. This limits the
    memory: an empty element has four bytes of text but takes a hundred bytes of memory, and each name includes its
    namespace."""

    def __init__(self) -> None:
        super().__init__()
        self.count = self.depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.count += 1
        self.depth += 1
        if self.count > MOST_ELEMENTS:
            raise _TooLargeError(f"has more than {MOST_ELEMENTS} elements")
        if self.depth > DEEPEST_JSON:
            raise _TooLargeError(f"has elements nested more than {DEEPEST_JSON} deep")
        if len(tag) > LONGEST_FIELD:
            raise _TooLargeError(f"has an element whose name is longer than {LONGEST_FIELD} characters")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag)


def read_phoronix(collected: Collected, file: ForeignFile, columns: Mapping[str, str]) -> None:
    root = _root(collected, file)
    systems = root.findall("System")
    names = {_field(system, "Identifier") for system in systems}
    if len(names) > 1:
        collected.refuse(file, None, f"has results of {len(names)} systems; a file may have one")
    for system in systems[:1]:
        _describe_platform(collected, _field(system, "Hardware"), _field(system, "Identifier"))
    whole = None if collected.platform is None else collected.platform.n_max or collected.platform.threads
    for result in root.iterfind("Result"):
        _add_result(collected, file, result, whole)


def _root(collected: Collected, file: ForeignFile) -> Element:
    parser = DefusedXMLParser(target=_BoundedBuilder())
    try:
        parser.feed(collected.content(file))
        root: Element = parser.close()
    except ParseError as error:
        collected.refuse(file, error.position[0], f"is not valid XML: {error}")
    except _TooLargeError as error:
        collected.refuse(file, None, str(error))
    except (DefusedXmlException, ValueError, LookupError) as error:
        collected.refuse(file, None, f"cannot be read as XML: {type(error).__name__}")
    if root.tag != "PhoronixTestSuite":
        collected.refuse(file, 1, "is not a composite.xml of the Phoronix Test Suite")
    return root


def _text(element: Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _field(element: Element, path: str) -> str:
    """Return a short text on one line, without runs of blanks."""
    return " ".join(_text(element, path).split())[:LONGEST_FIELD]


def _describe_platform(collected: Collected, hardware: str, name: str) -> None:
    """Describe the platform from a text such as `Processor: 2 x AMD EPYC 7601 @ 2.20GHz (64 Cores / 128 Threads),
    Motherboard: ...`. Ignore texts of another form."""
    processor, _, counted = hardware.partition("Processor:")[2].strip().partition("(")
    several = SOCKETS_COUNTED.match(processor)
    model, _, clock = processor[several.end() if several else 0 :].partition("@")
    model, found = model.strip(), CORES_COUNTED.match(counted)
    cores = as_count(found[1]) if found else None
    threads = as_count(found[2]) if found and found[2] else cores
    sockets = as_count(several[1]) if several else 1
    if not model or "," in processor or cores is None or threads is None:
        return
    ghz = as_number(clock.strip().removesuffix("GHz"))
    collected.describe(
        PlatformRecord(
            name or model,
            model,
            sockets=sockets,
            physical_cores=cores,
            threads=threads,
            n_ht=cores if cores < threads else None,
            max_mhz=ghz * 1000 if ghz else None,
        )
    )


def _add_result(collected: Collected, file: ForeignFile, result: Element, whole: int | None) -> None:
    test, description = _field(result, "Identifier") or _field(result, "Title"), _field(result, "Description")
    threads = THREADS_NAMED.search(description) or THREADS_NAMED.search(_field(result, "Arguments"))
    n = next(filter(None, threads.groups())) if threads else whole
    if n is None:
        collected.left_out["results without a thread count, on a machine with an unknown one"] += 1
        return
    name, dash, version = test.rpartition("-")
    if not (dash and version and set(version) <= set("0123456789.")):
        name, version = test, ""
    setting = _without_threads(description) if threads else description
    workload = WorkloadRecord(
        *(name, name.rpartition("/")[2] or None),
        input=setting[:200] or None,
        version=(_field(result, "AppVersion") or version)[:50] or None,
    )
    scale = _field(result, "Scale")
    factor = SECONDS_PER_UNIT.get(UNITS.get(scale.casefold(), scale))
    fewer_is_better = _field(result, "Proportion").upper() != "HIB"
    kind: TimeKind = "relative" if factor is None or not fewer_is_better else "absolute"
    for value in _values(result):
        if value is None or value <= 0:
            collected.left_out["results without a positive number"] += 1
        else:
            time = value * (factor or 1.0) if fewer_is_better else 1 / value
            collected.add(workload, n, time, file=file, line=None, kind=kind)


def _without_threads(description: str) -> str:
    """Return the other settings (`NAME: VALUE`, separated by dashes), without the thread count.

    >>> _without_threads("Grid: 1500 - Threads: 2 - Rate")
    'Grid: 1500 - Rate'
    """
    settings = (THREADS_NAMED.sub("", setting).strip(" ,;-") for setting in description.split(" - "))
    return " - ".join(filter(None, settings))


def _values(result: Element) -> Iterator[float | None]:
    """Yield the value of every single run if the file has them, else the one value of the result."""
    for entry in result.iterfind("Data/Entry"):
        raw = [text for text in _text(entry, "RawString").split(":") if text]
        yield from (as_number(text) for text in raw or [_text(entry, "Value")])
