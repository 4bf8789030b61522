"""Guide to measuring a machine with the kit, for the page and its JSON form. It lists the known versions of stress-ng,
because only results of the same version can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Count

from benchmarks.kit_archive import KIT, TOP_FOLDER, built_architectures, built_tarball, kit_sha256, kit_version
from profiles.models import Profile

PURPOSES = ("computes", "stresses", "here because")


@dataclass(frozen=True)
class Step:
    name: str
    title: str
    note: str
    command: str


@dataclass(frozen=True)
class KitWorkload:
    """A program of the kit, described by the first lines of its source."""

    name: str
    computes: str
    stresses: str
    here_because: str


@dataclass(frozen=True)
class BuiltKit:
    """The kit's programs for one architecture, as this server offers them."""

    architecture: str
    url: str
    sha256: str
    size_bytes: int
    command: str


def kit_guide(site: str, user: Any) -> dict[str, Any]:
    """Return the content of the page and its JSON form. `site` is the server's address with a trailing slash. Raises
    NoKitError."""
    return {
        "version": kit_version(),
        "built": built_kits(site),
        "steps": kit_steps(site),
        "workloads": kit_workloads(),
        "stress_ng_versions": stress_ng_versions(user),
    }


def built_kits(site: str) -> list[BuiltKit]:
    """Return the kits that the operator built."""
    built = []
    for architecture in built_architectures():
        content, url = built_tarball(architecture, site), f"{site}api/v1/kit/{architecture}/"
        digest, archive = kit_sha256(content), f"{TOP_FOLDER}-{architecture}.tar.gz"
        command = (
            f"curl -o {archive} {url}\n"
            f'echo "{digest}  {archive}" | sha256sum --check\n'
            f"tar xf {archive} && cd {TOP_FOLDER} && ./measure quick"
        )
        built.append(BuiltKit(architecture, url, digest, len(content), command))
    return built


def kit_steps(site: str) -> list[Step]:
    """Return the steps, each with the commands to copy."""
    return [
        Step(
            "unpack",
            "Download and unpack",
            "You need g++ (C++17), make, tar and gzip, on Linux. Nothing is installed, nothing runs as root.",
            f"curl -o {TOP_FOLDER}.tar.gz {site}api/v1/kit/\ntar xf {TOP_FOLDER}.tar.gz && cd {TOP_FOLDER}",
        ),
        Step(
            "quick",
            "Try it: a minute or two",
            "All workloads with one repeat and few thread counts: enough to see that it works, and to predict your "
            "own programs on other machines. The times are less exact than those of the next step.",
            "make quick",
        ),
        Step(
            "measure",
            "Measure",
            "Every workload with 1, 2, … threads, with a progress line and an estimate of the time left. Keep the "
            "machine otherwise idle. At the end, the kit prints the name of the tarball.",
            'make NAME="what to call this machine"',
        ),
        Step(
            "sizes",
            "More sizes, for scaling models: a few minutes",
            "Matrix products and task-parallel workloads at ten or more sizes, to model how time grows with size.",
            'make sizes NAME="what to call this machine"',
        ),
        Step(
            "stress-ng",
            "Compare it with thousands of servers: stress-ng, ten minutes",
            "Public fleets of servers were measured with stress-ng. If it is installed, the kit runs it in the same "
            "way, so that your programs can be predicted on those servers. Only results of the same version of "
            "stress-ng are comparable.",
            'make stress-ng NAME="what to call this machine"',
        ),
        Step(
            "upload",
            "Upload the newest tarball",
            "Needs a token of scope “upload”. The kit uploads to the server that it came from, or to URL=…. Only "
            "you see the upload until you publish it; VISIBILITY=public publishes it at once. LICENCE sets the terms "
            "for others: CC0, ODbL or “CC BY 4.0”. The command waits for the result and prints its link.",
            "make upload TOKEN=mpet_…",
        ),
        Step(
            "profile",
            "Or measure your own OpenMP program",
            "Unmodified, compiled by gcc or clang: each parallel region becomes a workload, and so does the rest of "
            "its time. --upload sends the results to this server as private and prints the link; --public makes them "
            "public; --with-kit first measures the machine if it has not run the kit.",
            "export MPET_TOKEN=mpet_…\n./mpet-profile --upload ./my_program its arguments",
        ),
    ]


def kit_workloads() -> list[KitWorkload]:
    return [kit_workload(path) for path in sorted((KIT / "workloads").glob("*.cpp"))]


def kit_workload(source: Path) -> KitWorkload:
    """Return the workload that the comment at the top of its source describes, with one line for each of PURPOSES."""
    texts = dict.fromkeys(PURPOSES, "")
    with source.open() as lines:
        for line in lines:
            purpose, _, text = line.removeprefix("// ").partition(": ")
            if purpose not in texts:
                break
            texts[purpose] = text.strip()
    return KitWorkload(source.stem, *texts.values())


def stress_ng_versions(user: Any) -> list[dict[str, Any]]:
    """Return each version of stress-ng with the number of platforms for which the user sees its results, in descending
    order of that number."""
    rows = Profile.objects.visible_to(user).of_stress_ng()
    counted = rows.values("workload__version").annotate(platforms=Count("platform", distinct=True))
    versions = [{"version": row["workload__version"], "platforms": row["platforms"]} for row in counted]
    return sorted(versions, key=lambda row: (-row["platforms"], row["version"]))
