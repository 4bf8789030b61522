"""Reading of a results tarball: the container, the manifest, each member, and then their consistency."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import IO, Any

from benchmarks.archive.container import ArchiveProblems, Limits, Members, open_members, quoted
from benchmarks.archive.documents import Document, load_schema, parse_document, validate_document
from benchmarks.archive.runs import read_counters, read_runs
from benchmarks.archive.tables import RowAllowance, WorkloadIndex, read_rows
from profiles.measurements import CounterTable, Measurements, PlatformRecord, ProfileRecord, RunTable, WorkloadRecord
from profiles.measurements.bounds import bad_placement

RESULTS_SCHEMA = "mpet-results/1"
REQUIRED_MEMBERS = ("platform.json", "workloads.json", "runs.csv")
OPTIONAL_MEMBERS = ("counters.csv", "environment.json", "log.txt")
DEFAULT_LIMITS = Limits()
NAMES_LISTED = 10


def read_platform_file(content: IO[bytes], *, name: str) -> PlatformRecord:
    """Return the platform that a separate file (platform.json) describes. Raises ArchiveError."""
    problems = ArchiveProblems()
    document = parse_document(name, content.read(), Limits.json_bytes, problems)
    if document is not None and validate_document(name, document, "platform", problems):
        record = platform_record(name, document, problems)
    problems.raise_if_any()
    return record


def platform_record(name: str, document: Document, problems: ArchiveProblems) -> PlatformRecord:
    """Return the platform of a document that is valid by its schema. Add problems for an impossible topology."""
    _refuse_impossible_topology(name, document, problems)
    value = document.value
    record = {field.name: value.get(field.name) for field in fields(PlatformRecord)}
    for clock in ("base_mhz", "max_mhz"):
        record[clock] = float(record[clock]) if record[clock] else None  # some files have 0 for unknown
    record["placement"] = None if record["placement"] is None else tuple(map(int, record["placement"]))
    record |= {
        field: int(number)
        for field, number in record.items()
        if (isinstance(number, float) and field not in ("base_mhz", "max_mhz"))
    }
    return PlatformRecord(**record | {"cpu_model": record["cpu_model"] or ""})


def _refuse_impossible_topology(name: str, platform: Document, problems: ArchiveProblems) -> None:
    """Add a problem for each pair of counts that contradict each other, and for an impossible placement. Counts of 0
    are refused by the schema."""
    value = platform.value
    for low, high, strictly in (
        ("physical_cores", "threads", False),
        ("sockets", "physical_cores", False),
        ("numa_nodes", "physical_cores", False),
        ("n_max", "threads", False),
        ("n_nu", "n_ht", True),
        ("n_nu", "threads", False),
        ("n_ht", "threads", False),
    ):
        a, b = value.get(low), value.get(high)
        if a is not None and b is not None and (a >= b if strictly else a > b):
            reason = f"impossible topology: {low} = {a} is {'not less' if strictly else 'more'} than {high} = {b}"
            problems.add(name, platform.line([low]), reason)
    if complaint := bad_placement(value.get("placement"), value.get("threads")):
        problems.add(name, platform.line(["placement"]), complaint)


def read_archive(fileobj: IO[bytes], *, limits: Limits = DEFAULT_LIMITS) -> Measurements:
    """Return the measurements of an `mpet-results/1` tarball. Their `warnings` list what was unusual about its form.

    Raises ArchiveError, with as many problems as can be distinguished, for anything that docs/formats.md refuses.
    Memory is bounded by `limits`: members are streamed, and large ones are kept in unnamed temporary files.
    """
    problems = ArchiveProblems()
    texts = {
        **dict.fromkeys(("manifest.json", "platform.json", "workloads.json", "environment.json"), limits.json_bytes),
        **dict.fromkeys(("runs.csv", "counters.csv"), None),
        "log.txt": limits.log_bytes,
    }
    with open_members(fileobj, limits, texts, problems) as members:
        manifest = _read_manifest(members, limits, problems)
        return _Reading(members, manifest, limits, problems).measurements()


def _read_manifest(members: Members, limits: Limits, problems: ArchiveProblems) -> dict[str, Any]:
    """Return the manifest. Raises ArchiveError if it does not list exactly these members."""
    name = "manifest.json"
    if name not in members:
        problems.add(name, None, "is missing")
        problems.raise_if_any()
    document = parse_document(name, members[name].read(), limits.json_bytes, problems)
    problems.raise_if_any()
    assert document is not None  # noqa: S101
    value = document.value
    if isinstance(value, dict) and "schema" in value and value["schema"] != RESULTS_SCHEMA:
        problems.add(
            name, document.line(["schema"]), f"unknown schema {quoted(value['schema'])}, not {RESULTS_SCHEMA!r}"
        )
        problems.raise_if_any()
    validate_document(name, document, "manifest", problems)
    problems.raise_if_any()
    _compare_members(members, document, problems)
    problems.raise_if_any()
    manifest: dict[str, Any] = value
    return manifest


def _compare_members(members: Members, manifest: Document, problems: ArchiveProblems) -> None:
    listed = manifest.value["files"]
    for name in dict.fromkeys([*REQUIRED_MEMBERS, *listed]):
        if name not in members:
            line = manifest.line(["files", name]) if name in listed else None
            where = f", although line {line} of manifest.json lists it" if line else ""
            problems.add(name, None, f"is missing{where}")
    for name, member in members.items():
        entry = listed.get(name)
        if entry is None and name != "manifest.json":
            spelled = name if name.isprintable() else quoted(name)
            problems.add(spelled, None, "is not listed in manifest.json")
        elif entry is None:
            continue
        elif member.size != entry["bytes"]:
            problems.add(name, None, f"has {member.size} bytes, but manifest.json lists {entry['bytes']}")
        elif member.sha256 != entry["sha256"].lower():
            problems.add(name, None, f"has sha256 {member.sha256}, but manifest.json lists {entry['sha256']}")


class _Reading:
    """The state of reading a tarball with a valid container and manifest."""

    def __init__(self, members: Members, manifest: dict[str, Any], limits: Limits, problems: ArchiveProblems) -> None:
        self.members, self.manifest, self.limits, self.problems = members, manifest, limits, problems
        self.allowance = RowAllowance(limits.rows)
        self.warnings: list[str] = []
        self.first_n: list[int | None] = []  # of each workload in workloads.json
        self.fingerprint = ""

    def measurements(self) -> Measurements:
        platform = self._platform()
        workloads = self._workloads()
        index = WorkloadIndex(
            None if workloads is None else [workload.name for workload in workloads],
            [workload.size for workload in workloads or ()],
            self.first_n,
        )
        n_max = None if platform is None else platform.n_max or platform.threads
        runs = read_runs(self._rows("runs.csv", "runs"), index, n_max, self.problems)
        counters: dict[int, CounterTable] = {}
        if "counters.csv" in self.members:
            counters = read_counters(self._rows("counters.csv", "counters"), index, n_max, self.problems)
        environment, log = self._environment(), self._log()
        self.problems.raise_if_any()
        assert platform is not None  # noqa: S101
        assert workloads is not None  # noqa: S101
        self._warn_of_unused(workloads, runs, counters)
        generator = self.manifest["generator"]
        return Measurements(
            origin=self.manifest["origin"],
            time_kinds={},
            platforms=[platform],
            workloads=workloads,
            profiles=[ProfileRecord(0, number, table, counters.get(number)) for number, table in runs.items()],
            generator=f"{generator['name']} {generator['version']}".strip(),
            environment=environment,
            log=log,
            fingerprint=self.fingerprint,
            warnings=self.warnings,
        )

    def _rows(self, name: str, schema: str) -> Any:
        content = self.members[name].content
        assert content is not None  # noqa: S101
        return read_rows(name, content, schema, self.allowance, self.problems)

    def _document(self, name: str, schema: str) -> Document | None:
        document = parse_document(name, self.members[name].read(), self.limits.json_bytes, self.problems)
        if document is None or not validate_document(name, document, schema, self.problems):
            return None
        return document

    def _platform(self) -> PlatformRecord | None:
        document = self._document("platform.json", "platform")
        if document is None:
            return None
        self._warn_of_missing("platform.json", "platform", [document.value])
        self.fingerprint = document.value.get("fingerprint") or ""
        return platform_record("platform.json", document, self.problems)

    def _workloads(self) -> list[WorkloadRecord] | None:
        document = self._document("workloads.json", "workloads")
        if document is None:
            return None
        most = self.limits.workloads
        if len(document.value) > most:
            self.problems.add("workloads.json", document.line([most]), f"has more than {most} workloads")
            return None
        used_names: set[str] = set()
        for place, workload in enumerate(document.value):
            if workload["name"] in used_names:
                reason = f"{quoted(workload['name'])} occurs twice"
                self.problems.add("workloads.json", document.line([place, "name"]), reason, "duplicate")
            used_names.add(workload["name"])
        self._warn_of_missing("workloads.json", "workloads", document.value)
        self.first_n = [workload.get("first_n") for workload in document.value]
        names = [field.name for field in fields(WorkloadRecord)]
        records = [{name: workload.get(name) for name in names} for workload in document.value]
        for record in records:
            record["size"] = None if record["size"] is None else float(record["size"])
        return [WorkloadRecord(**record | {"strategy": record["strategy"] or "unknown"}) for record in records]

    def _warn_of_missing(self, name: str, schema: str, values: list[dict[str, Any]]) -> None:
        promised = load_schema(schema).get("items", load_schema(schema))["properties"]
        expected = [field for field, rule in promised.items() if "default" not in rule]
        missing = Counter(field for value in values for field in expected if field not in value)
        if missing:
            self.warnings.append(f"{name}: no {', '.join(missing)}; taken as null")

    def _environment(self) -> dict[str, Any] | None:
        if "environment.json" not in self.members:
            return None
        content = self.members["environment.json"].read()
        if len(content) > self.limits.json_bytes:
            self.warnings.append(f"environment.json: larger than {self.limits.json_bytes} bytes, not kept")
            return None
        document = parse_document("environment.json", content, self.limits.json_bytes, self.problems)
        if document is None:
            return None
        return document.value if isinstance(document.value, dict) else {"environment": document.value}

    def _log(self) -> str:
        if "log.txt" not in self.members:
            return ""
        content = self.members["log.txt"].read()
        if len(content) > self.limits.log_bytes:
            self.warnings.append(f"log.txt: only the first {self.limits.log_bytes} bytes are kept")
        return content[: self.limits.log_bytes].decode("utf-8", errors="replace").replace("\0", "\ufffd")

    def _warn_of_unused(
        self, workloads: list[WorkloadRecord], runs: dict[int, RunTable], counters: dict[int, CounterTable]
    ) -> None:
        idle = [workload.name for number, workload in enumerate(workloads) if number not in runs]
        if idle:
            self.warnings.append(f"workloads.json: no runs of {_listed(idle)}")
        stray = [workloads[number].name for number in counters if number not in runs]
        if stray:
            self.warnings.append(f"counters.csv: ignored for {_listed(stray)}: no runs")
        unsized = [
            workloads[number].name
            for number, table in runs.items()
            if table.size is not None and workloads[number].size is None
        ]
        if unsized:
            self.warnings.append(f"workloads.json: no size for {_listed(unsized)}, although their runs have sizes")
        unknown = [name for name in self.members if name not in {"manifest.json", *REQUIRED_MEMBERS, *OPTIONAL_MEMBERS}]
        if unknown:
            self.warnings.append(f"unknown members ignored: {_listed([quoted(name) for name in unknown])}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_LISTED} more" if len(names) > NAMES_LISTED else ""
    return f"{', '.join(names[:NAMES_LISTED])}{more}"
