"""Mutated tarballs: good ones with changed bytes, container, members, manifest, documents, cells or meaning."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import tarfile
from collections.abc import Callable
from functools import cache

from benchmarks.archive.runs import PART_COLUMNS
from lab.hostile.values import FLOATS, INTEGERS, change_document, hostile_cell
from tests.benchmarks.tarballs import TOP, add, entry, files_of, pack, packed, with_manifest
from tests.paths import ROOT
from tests.samples import sample_measurements, varied_measurements

Files = dict[str, bytes]
Rows = list[list[str]]
TIME_PARTS = ("time_ns", *PART_COLUMNS)
LARGEST_NS = 2**63 - 1
THREADS = (16, 17, 64, 256, 1024, 4096, 65_535, 65_536, 65_537, 1_000_000, 3_000_000, 2**31 - 1, 2**31)


@cache
def good_tarballs() -> tuple[bytes, ...]:
    """Return the tarballs to mutate: small ones of every kind, and one that the kit wrote on a real machine."""
    made = (
        sample_measurements(1, 2, environment={"LANG": "C"}, log="all well\n"),
        sample_measurements(1, 1, seed=1, counters=False),
        sample_measurements(1, 3, seed=2, decomposed=False),
        varied_measurements(seed=3),
    )
    kit = sorted((ROOT / "benchmarks" / "reference").glob("*.tar.gz"))
    return (*map(packed, made), kit[-1].read_bytes())


def tarball_of(files: Files, top: str = TOP, also: Callable[[tarfile.TarFile], None] | None = None) -> bytes:
    """Pack the files reproducibly: the four bytes of the gzip header with the time are set to 0."""
    content = pack(files, top, also)
    return content[:4] + bytes(4) + content[8:]


def fresh_files(rng: random.Random) -> Files:
    """Return the members of a good tarball with a random log and other facts of the platform. No two are equal."""
    files = dict(files_of(rng.choices(good_tarballs(), (8, 4, 4, 3, 1))[0]))
    platform = json.loads(files["platform.json"])
    if rng.random() < 0.7:
        platform |= {"name": f"machine-{rng.getrandbits(32):08x}", "cpu_model": f"CPU {rng.getrandbits(24):06x}"}
    else:  # an existing platform with differing facts
        platform["kernel"] = f"Linux {rng.getrandbits(16)}"
    files["platform.json"] = json.dumps(platform).encode()
    files["log.txt"] = f"{rng.getrandbits(64):016x}\n".encode()
    return with_manifest(files)


def mutated_tarball(rng: random.Random) -> tuple[str, str, bytes]:
    """Return the family of the mutation, a description of the change, and the tarball."""
    family = rng.choices(list(FAMILIES), [weight for weight, _ in FAMILIES.values()])[0]
    done, content = FAMILIES[family][1](rng, fresh_files(rng))
    return family, done, content


def change_bytes(rng: random.Random, files: Files) -> tuple[str, bytes]:
    content = bytearray(tarball_of(files))
    kind = rng.choice(("flip", "cut", "insert", "double", "zero", "append", "head"))
    place, length = rng.randrange(len(content)), rng.choice((1, 8, 100, 5000))
    if kind == "flip":
        for _ in range(rng.choice((1, 1, 10))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[place:]
    elif kind == "insert":
        content[place:place] = rng.randbytes(length)
    elif kind == "double":
        content *= 2
    elif kind == "zero":
        content[place : place + length] = bytes(len(content[place : place + length]))
    elif kind == "append":
        content += rng.randbytes(length)
    else:
        content[: rng.choice((1, 2, 10))] = rng.randbytes(10)
    return f"{kind} at {place}", bytes(content)


def change_tar(rng: random.Random, files: Files) -> tuple[str, bytes]:
    """Change the tar file inside a valid gzip file."""
    content = bytearray(gzip.decompress(tarball_of(files)))
    block = 512 * rng.randrange(len(content) // 512)
    kind = rng.choice(("header byte", "size", "checksum", "cut", "swap blocks", "trailing", "zero block", "not tar"))
    if kind == "header byte":
        content[block + rng.randrange(512)] = rng.randrange(256)
    elif kind == "size":
        content[block + 124 : block + 136] = rng.choice((b"77777777777\0", b"\x80" + b"\xff" * 11, b"-0000000001\0"))
    elif kind == "checksum":
        content[block + 148 : block + 156] = b"0000000\0"
    elif kind == "cut":
        del content[block + rng.choice((0, 1, 511)) :]
    elif kind == "swap blocks":
        content[block : block + 512], content[:512] = content[:512], content[block : block + 512]
    elif kind == "trailing":
        content += rng.randbytes(700)
    elif kind == "zero block":
        content[block : block + 512] = bytes(512)
    else:
        content = bytearray(rng.randbytes(2000))
    return f"{kind} at {block}", gzip.compress(bytes(content), mtime=0)


def change_members(rng: random.Random, files: Files) -> tuple[str, bytes]:
    """Remove, empty or reorder members, change the top folder, or add a stray member."""
    names = list(files)
    kind = rng.choice(("type", "name", "missing", "twice", "folder", "many", "nested", "pax", "empty", "top", "order"))
    if kind == "missing":
        del files[rng.choice(names)]
        return kind, tarball_of(with_manifest(files) if "manifest.json" in files and rng.random() < 0.3 else files)
    if kind == "empty":
        files[rng.choice(names)] = b""
        return kind, tarball_of(with_manifest(files) if files["manifest.json"] else files)
    if kind == "top":
        top = rng.choice(("", ".", "a/b", "..", "/", "x" * 120, "é", "a\nb"))
        return f"top {top[:10]!r}", tarball_of(files, top)
    if kind == "order":
        rng.shuffle(names)
        return kind, tarball_of({name: files[name] for name in names})
    return _with_stray_member(rng, files, kind)


def _with_stray_member(rng: random.Random, files: Files, kind: str) -> tuple[str, bytes]:
    name = rng.choice(list(files))
    types = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, b"V", b"\xff")
    type_ = rng.choice(types)
    bad_names = (
        "/etc/passwd",
        "../x",
        "a/../../x",
        "",
        "a\0b",
        "x" * 300,
        "\udcff",
        "a\nb",
        "mpet-results",
        "./log.txt",
    )
    bad = rng.choice(bad_names)

    def also(tar: tarfile.TarFile) -> None:
        if kind == "type":
            add(tar, "mpet-results/extra", type=type_, linkname=rng.choice(("/etc/passwd", "runs.csv", "..")))
        elif kind == "name":
            add(tar, bad, b"x")
        elif kind == "twice":
            add(tar, f"mpet-results/{name}", files[name])
        elif kind == "folder":
            add(tar, rng.choice(("other", "mpet-results/deep", "mpet-results")), type=tarfile.DIRTYPE)
        elif kind == "many":
            for number in range(rng.choice((20, 300, 11_000))):
                add(tar, f"mpet-results/{number}")
        elif kind == "nested":
            add(tar, "mpet-results/deep/runs.csv", files["runs.csv"])
        else:
            add(tar, "mpet-results/extra", b"x", pax_headers={"size": "-1", "path": "\udcff", "GNU.sparse.major": "1"})

    try:
        return f"{kind} {bad[:10]!r}" if kind == "name" else kind, tarball_of(files, also=also)
    except ValueError:  # tarfile refuses to write the member
        return f"{kind} as bytes", change_bytes(rng, files)[1]


def change_manifest(rng: random.Random, files: Files) -> tuple[str, bytes]:
    manifest = json.loads(files["manifest.json"])
    kind = rng.choice(("document", "document", "schema", "origin", "created", "hash", "bytes", "listed"))
    name = rng.choice(list(manifest["files"]))
    if kind == "schema":
        manifest["schema"] = rng.choice(("mpet-results/2", "mpet-results/1 ", "", None, 1, "mpet-dataset/1"))
    elif kind == "origin":
        manifest["origin"] = rng.choice(("measured", "simulated", "emulated", "Measured", "", None, ["measured"]))
    elif kind == "created":
        manifest["created"] = rng.choice(("", "yesterday", "9999-99-99T00:00:00Z", "0000-01-01", 0, "2026-11-20T10:00"))
    elif kind == "hash":
        manifest["files"][name]["sha256"] = rng.choice(("0" * 64, "", "f" * 63, None, 7))
    elif kind == "bytes":
        manifest["files"][name]["bytes"] = rng.choice((0, -1, 2**63, 1.5, "7", True))
    elif kind == "listed":
        manifest["files"][rng.choice(("ghost", "manifest.json", "", "../x", "x" * 999))] = entry(b"x")
    else:
        kind, text = change_document(rng, manifest)
        return kind, tarball_of(files | {"manifest.json": text.encode(errors="surrogatepass")})
    return f"{kind} of {name}", tarball_of(files | {"manifest.json": json.dumps(manifest).encode()})


def change_json(rng: random.Random, files: Files) -> tuple[str, bytes]:
    """Change a JSON document, and write a manifest that matches it."""
    name = rng.choice(("platform.json", "platform.json", "workloads.json", "workloads.json", "environment.json"))
    document = json.loads(files.get(name, b"{}"))
    if rng.random() < 0.1:
        text, done = rng.choice(("", "[", "nul", "\ufeff{}", "{}{}", "[]", "7", '"x"', "[" * 30_000)), "whole"
    else:
        done, text = change_document(rng, document)
    content = text.encode(errors="surrogatepass")
    if rng.random() < 0.05:
        done, content = f"{done}; no UTF-8", content[: len(content) // 2] + b"\xff\xfe" + content[len(content) // 2 :]
    return f"{name}: {done}", tarball_of(with_manifest(files | {name: content}))


def change_topology(rng: random.Random, files: Files) -> tuple[str, bytes]:
    """Change the topology to unlikely numbers, which are consistent in most cases."""
    platform = json.loads(files["platform.json"])
    threads = rng.choice(THREADS)
    platform["threads"] = platform["n_max"] = threads
    platform["physical_cores"] = rng.choice((threads, max(threads // 2, 1), 1, 4))
    platform["sockets"] = rng.choice((1, 1, 2, platform["physical_cores"]))
    platform["numa_nodes"] = rng.choice((None, 1, 2, platform["physical_cores"]))
    platform["n_nu"] = rng.choice((None, None, 1, 2, threads // 4, threads - 1, threads))
    platform["n_ht"] = rng.choice((None, None, 2, 3, threads // 2, threads))
    platform["placement"] = rng.choice(
        (None, None, [], list(range(min(threads, 5000))), [0] * 16, [threads] * 4, [2**31] * 3, [0] * 100_000)
    )
    platform["n_max"] = rng.choice((threads, threads, None, 1, 16))
    sizes = (None, 0, 1, 32_768, 2**40, 2**60, 2**60 + 1, 2**63 - 1, 2**63)
    for name in ("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes"):
        if rng.random() < 0.3:
            platform[name] = rng.choice(sizes)
    for name in ("base_mhz", "max_mhz"):
        if rng.random() < 0.3:
            platform[name] = rng.choice((None, 0, 5e-324, 0.001, 1, 100_000, 100_001, 1e9, 1.7e308))
    platform["word_bits"] = rng.choice((64, 32, 1, 2**31 - 1, None))
    files["platform.json"] = json.dumps(platform).encode()
    return f"{threads} threads, {platform['physical_cores']} cores", tarball_of(with_manifest(files))


def change_cells(rng: random.Random, files: Files) -> tuple[str, bytes]:
    """Change cells, rows and columns of a CSV file, and write a manifest that matches it."""
    name = rng.choice([one for one in ("runs.csv", "runs.csv", "counters.csv") if one in files])
    table = list(csv.reader(io.StringIO(files[name].decode(), newline="")))
    if len(table) < 2:
        name, table = "runs.csv", list(csv.reader(io.StringIO(files["runs.csv"].decode(), newline="")))
    changes = [rng.choice(CELL_CHANGES)(rng, table) for _ in range(rng.choice((1, 1, 1, 2, 5))) if len(table) > 1]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=rng.choice(("\n", "\n", "\r\n", "\r"))).writerows(table)
    content = text.getvalue().encode(errors="surrogatepass")
    if rng.random() < 0.15:
        kind, content = _damage_text(rng, content)
        changes.append(kind)
    return f"{name}: {'; '.join(changes)}", tarball_of(with_manifest(files | {name: content}))


def _change_cell(rng: random.Random, table: Rows) -> str:
    row, column, cell = rng.randrange(1, len(table)), rng.randrange(len(table[0])), hostile_cell(rng)
    table[row][column : column + 1] = [cell]
    return f"{table[0][column]} of row {row} = {cell[:30]!r}"


def _change_column(rng: random.Random, table: Rows) -> str:
    column, cell = rng.randrange(len(table[0])), hostile_cell(rng)
    for row in table[1:]:
        row[column : column + 1] = [cell]
    return f"all {table[0][column]} = {cell[:30]!r}"


def _change_rows(rng: random.Random, table: Rows) -> str:
    kind = rng.choice(("drop", "drop many", "duplicate", "swap", "only header", "no header", "repeat header", "short"))
    row = rng.randrange(1, len(table))
    if kind == "drop":
        del table[row]
    elif kind == "drop many":
        table[1:] = [one for one in table[1:] if rng.random() < 0.4] or table[1:2]
    elif kind == "duplicate":
        table.insert(rng.randrange(1, len(table)), list(table[row]))
    elif kind == "swap":
        rng.shuffle(table[1:])
    elif kind == "only header":
        del table[2:]
        table[1] = list(table[0])
    elif kind == "no header":
        table[0] = list(table[1])
    elif kind == "repeat header":
        table.insert(row, list(table[0]))
    else:
        table[row] = table[row][: rng.randrange(len(table[row]))]
    return f"{kind} at {row}"


def _change_header(rng: random.Random, table: Rows) -> str:
    column = rng.randrange(len(table[0]))
    kind = rng.choice(("rename", "twice", "extra", "remove"))
    if kind == "rename":
        table[0][column] = hostile_cell(rng)
    elif kind == "twice":
        table[0][column] = rng.choice(table[0])
    elif kind == "extra":
        for row in table:
            row.append(hostile_cell(rng))
    else:
        for row in table:
            del row[column : column + 1]
    return f"header: {kind} {column}"


def _many_rows(rng: random.Random, table: Rows) -> str:
    """Add very many rows with different values of `repeat`, so that they are not duplicates."""
    count = rng.choice((2_000, 20_000, 60_000))
    if "repeat" in table[0]:
        place = table[0].index("repeat")
        table += [
            [*one[:place], str(1000 + number), *one[place + 1 :]] for number in range(count) for one in table[1:2]
        ]
    return f"{count} more rows"


CELL_CHANGES = (
    *(_change_cell,) * 8, *(_change_column,) * 3, *(_change_rows,) * 4, _change_header, _change_header, _many_rows,
)  # fmt: skip


def _damage_text(rng: random.Random, content: bytes) -> tuple[str, bytes]:
    kind = rng.choice(("quote", "NUL", "UTF-8", "long line", "blank lines", "UTF-16", "BOM"))
    place = rng.randrange(len(content))
    if kind == "UTF-16":
        return kind, content.decode(errors="replace").encode("utf-16")
    if kind == "BOM":
        return kind, b"\xef\xbb\xbf" * rng.choice((1, 2)) + content
    pieces = {
        "quote": b'"',
        "NUL": b"\0",
        "UTF-8": b"\xff",
        "long line": b"7" * 1_100_000,
        "blank lines": b"\n" * 50_000,
    }
    return f"{kind} at {place}", content[:place] + pieces[kind] + content[place:]


def change_meaning(rng: random.Random, files: Files) -> tuple[str, bytes]:
    """Write rows that obey every rule of the format, but that no real machine would measure."""
    rows = list(csv.DictReader(io.StringIO(files["runs.csv"].decode(), newline="")))
    kind = rng.choice(list(MEANINGS))
    rows = MEANINGS[kind](rng, rows)
    files["runs.csv"] = _csv_of(rows)
    if "counters.csv" in files and rng.random() < 0.6:
        counters = list(csv.DictReader(io.StringIO(files["counters.csv"].decode(), newline="")))
        if counters:
            kind += f", counters {_unlikely_counters(rng, counters)}"
            files["counters.csv"] = _csv_of(counters)
    return kind, tarball_of(with_manifest(files))


def _csv_of(rows: list[dict[str, str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _unlikely_counters(rng: random.Random, counters: list[dict[str, str]]) -> str:
    value = rng.choice((*FLOATS, *INTEGERS))
    names = sorted({row["counter"] for row in counters})
    chosen = set(rng.sample(names, rng.choice((1, len(names) // 2 or 1, len(names)))))
    other = rng.choice((value, value, "0", "1"))
    for number, row in enumerate(counters):
        if row["counter"] in chosen and row["status"] in ("ok", "multiplexed"):
            row["value"] = value if number % 2 else other
    return f"{value[:25]} and {other[:25]}"


def _set_time(row: dict[str, str], time_ns: int, part: str = "use_ns") -> None:
    """Set the time of a row. In a profile pass, all of it is in one part."""
    time_ns = max(1, min(time_ns, LARGEST_NS // int(row["n"])))
    row["time_ns"] = str(time_ns)
    if row["pass"] == "profile":
        for name in PART_COLUMNS:
            row[name] = "0"
        row[part] = str(time_ns * int(row["n"]))


def _all_times(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    time_ns, part = rng.choice((1, 2, 10**9, 10**18, LARGEST_NS)), rng.choice(PART_COLUMNS)
    for row in rows:
        _set_time(row, time_ns, part)
    return rows


def _alternating_times(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    low, high = rng.choice(((1, 2**59), (1, 10**9), (10**6, 10**15))), rng.choice(PART_COLUMNS)
    by = rng.choice(("n", "repeat"))
    for row in rows:
        _set_time(row, low[int(row[by]) % 2], high)
    return rows


def _random_times(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    for row in rows:
        _set_time(row, int(10 ** rng.uniform(0, 18)), rng.choice(PART_COLUMNS))
    return rows


def _growing_times(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    power = rng.choice((-12, -3, 3, 8, 12))
    for row in rows:
        _set_time(row, int(1e6 * float(row["n"]) ** power), rng.choice(PART_COLUMNS))
    return rows


def _few_counts(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    kept = rng.choice(({"1"}, {"1", "2"}, {"1", "16"}, {"1", "3", "7"}))
    return [row for row in rows if row["n"] in kept]


def _one_pass(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    kept = rng.choice(("clean", "profile"))
    return [row for row in rows if row["pass"] == kept] or rows


def _one_repeat(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    first = {}
    for row in rows:
        first.setdefault((row["workload"], row["n"], row["pass"]), row)
    return list(first.values())


def _variations(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Add rows with extreme sizes or clocks."""
    column = rng.choice(("size", "clock_mhz"))
    values = rng.sample(("5e-324", "1e-300", "0.5", "1", "100", "2000", "100000", "1e15", "1.7e308"), 3)
    rows = [{"size": "", "clock_mhz": "", **row} for row in rows]
    own = [row for row in rows if not row["size"] and not row["clock_mhz"]]
    return own + [{**row, column: value, "output_checksum": ""} for value in values for row in own]


def _tasks_and_waits(rng: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    counts = ("0", "1", str(2**31), str(2**53), str(2**63 - 1))
    return [{**row, "tasks": rng.choice(counts), "waits": rng.choice(counts)} for row in rows]


MEANINGS: dict[str, Callable[[random.Random, list[dict[str, str]]], list[dict[str, str]]]] = {
    "all times": _all_times,
    "alternating times": _alternating_times,
    "random times": _random_times,
    "growing times": _growing_times,
    "few thread counts": _few_counts,
    "one pass": _one_pass,
    "one repeat": _one_repeat,
    "variations": _variations,
    "tasks and waits": _tasks_and_waits,
}
FAMILIES: dict[str, tuple[int, Callable[[random.Random, Files], tuple[str, bytes]]]] = {
    "bytes": (6, change_bytes),
    "tar": (8, change_tar),
    "members": (8, change_members),
    "manifest": (10, change_manifest),
    "json": (22, change_json),
    "topology": (8, change_topology),
    "cells": (26, change_cells),
    "meaning": (12, change_meaning),
}
