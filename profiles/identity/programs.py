"""Programs with parallel regions measured by `mpet-profile`: the workloads of an upload that are parts of one program.

A program of an upload is an application with sections that ran on an OpenMP runtime. A further workload named
`APPLICATION/serial rest` is the program's time outside its regions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Case, When
from django.http import Http404
from django.shortcuts import get_object_or_404

from profiles.arrays import FloatArray, IntArray
from profiles.identity.matching import slug_base
from profiles.models import Platform, Profile, RegionLabel, Source, Workload
from profiles.models.querysets import LONG_TEXTS_OF_SOURCE
from profiles.scaling.runs import CurveTable, stored_curves

PROFILED_RUNTIMES = ("libgomp", "libomp")  # the runtimes that mpet-profile supports
SERIAL_REST = "serial rest"
LONGEST_LABEL = RegionLabel._meta.get_field("label").max_length or 80


@dataclass(frozen=True)
class ProgramName:
    """A program of an upload, identified in URLs by the upload's source and the slug."""

    name: str
    source_uid: UUID
    slug: str

    @property
    def address(self) -> tuple[UUID, str]:
        """Return the arguments of `reverse`, for the program's page and for the API."""
        return self.source_uid, self.slug


@dataclass(frozen=True)
class ProfiledProgram:
    """A program as one upload measured it: one profile per region, and the profile of the serial rest, if any."""

    name: ProgramName
    source: Source
    regions: tuple[Profile, ...]
    serial_rest: Profile | None
    labels: Mapping[str, str] = field(default_factory=dict)  # the owner's names of regions, by section

    @property
    def platform(self) -> Platform:
        return self.regions[0].platform

    @property
    def parts(self) -> tuple[Profile, ...]:
        return self.regions if self.serial_rest is None else (*self.regions, self.serial_rest)

    def label(self, part: Profile) -> str:
        """Return the owner's label of a part, or else its measured name, without the program's name."""
        measured = part.workload.section or part.workload.name
        return self.labels.get(measured, measured)

    def is_owned_by(self, user: Any) -> bool:
        return user.is_authenticated and self.source.owner_id == user.pk


@dataclass(frozen=True)
class MeasuredProgram:
    """The times t(n) in s of a program and of its K parts, at the J thread counts that were measured for all parts."""

    n: IntArray  # (J,)
    parts_s: FloatArray  # (K, J), in the order of ProfiledProgram.parts
    time_s: FloatArray  # (J,)

    @property
    def best(self) -> int:
        """The index of the least time."""
        return int(self.time_s.argmin())

    @property
    def first_n(self) -> int:
        return int(self.n[0])

    @property
    def first_s(self) -> float:
        return float(self.time_s[0])

    @property
    def best_n(self) -> int:
        return int(self.n[self.best])

    @property
    def best_s(self) -> float:
        return float(self.time_s[self.best])


def region_rows(rows: Any) -> Any:
    """Filter a queryset of profiles to the regions that mpet-profile measured."""
    return rows.filter(
        source__kind=Source.Kind.TARBALL,
        workload__runtime__in=PROFILED_RUNTIMES,
        workload__application__isnull=False,
        workload__section__isnull=False,
    ).exclude(workload__section=SERIAL_REST)


def programs_by_source(sources: Iterable[int], user: Any) -> dict[int, list[ProgramName]]:
    """Return the programs with a visible region by source (primary key), sorted by name. One query."""
    rows = region_rows(Profile.objects.visible_to(user).filter(source__in=list(sources)))
    rows = rows.order_by().values_list("source", "source__uid", "workload__application")
    names: dict[tuple[int, UUID], list[str]] = defaultdict(list)
    for source, uid, name in rows.distinct():
        names[source, uid].append(name)
    return {source: _named(uid, sorted(applications)) for (source, uid), applications in names.items()}


def _named(uid: UUID, applications: Sequence[str]) -> list[ProgramName]:
    """Return the programs, each with a different slug."""
    named: dict[str, ProgramName] = {}
    for name in applications:
        base = slug_base(name, "program")
        numbered = (f"{base}-{number}" for number in range(2, len(named) + 2))
        slug = next(slug for slug in (base, *numbered) if slug not in named)
        named[slug] = ProgramName(name, uid, slug)
    return list(named.values())


def program_or_404(source_uid: UUID, slug: str, user: Any) -> ProfiledProgram:
    """Return the program for a page or the API. Raises Http404 if the user sees no such program."""
    source = get_object_or_404(Source.objects.visible_to(user).select_related("upload"), uid=source_uid)
    names = programs_by_source([source.pk], user).get(source.pk, [])
    name = next((name for name in names if name.slug == slug), None)
    if name is None:
        raise Http404
    return _program_of(name, source, user)


def _program_of(name: ProgramName, source: Source, user: Any) -> ProfiledProgram:
    rows = Profile.objects.visible_to(user).filter(source=source, workload__application=name.name)
    profiles = list(rows.select_related("platform", "workload", "curves").order_by("workload__slug"))
    regions = region_rows(rows).values_list("pk", flat=True)
    return ProfiledProgram(
        name=name,
        source=source,
        regions=tuple(sorted((row for row in profiles if row.pk in set(regions)), key=lambda row: -(row.t1_s or 0))),
        serial_rest=next((row for row in profiles if row.workload.name == f"{name.name}/{SERIAL_REST}"), None),
        labels=region_labels(source.owner_id, name.name),
    )


def region_labels(owner: int | None, application: str) -> dict[str, str]:
    """Return the names that the owner (a primary key) gave to regions of a program, by section."""
    if owner is None:
        return {}
    rows = RegionLabel.objects.filter(owner=owner, application=application)
    return dict(rows.values_list("section", "label"))


class RegionLabelError(Exception):
    """Raised with the reason when a region cannot have the given name."""


def rename_regions(program: ProfiledProgram, labels: Mapping[str, str]) -> ProfiledProgram:
    """Store the owner's names of regions, given by slug of their workloads, and return the program with its new labels.

    An empty label restores the measured name. Either all labels are stored or none. Slug, identity and times of a
    region do not change. Raises RegionLabelError.
    """
    regions = {part.workload.slug: part for part in program.regions}
    chosen = dict(program.labels)
    for slug, text in labels.items():
        if slug not in regions:
            raise RegionLabelError(f"The program has no region {slug!r}.")
        section = regions[slug].workload.section or ""
        label = " ".join(text.split())
        if len(label) > LONGEST_LABEL or not label.isprintable():
            raise RegionLabelError(f"A name has at most {LONGEST_LABEL} printable characters.")
        chosen.pop(section, None)
        if label and label != section:
            chosen[section] = label
    renamed = replace(program, labels=chosen)
    shown = Counter(renamed.label(part).casefold() for part in renamed.parts)
    if twice := next(
        (renamed.label(part) for part in renamed.parts if shown[renamed.label(part).casefold()] > 1), None
    ):
        raise RegionLabelError(f"Two parts of the program would be called {twice!r}. Choose another name.")
    sections = {part.workload.section or "": chosen.get(part.workload.section or "") for part in program.regions}
    elsewhere = {label for section, label in program.labels.items() if section not in sections}
    if taken := next((label for label in sections.values() if label in elsewhere), None):
        raise RegionLabelError(f"A region of another upload of the program is called {taken!r}. Choose another name.")
    owned = {"owner_id": program.source.owner_id, "application": program.name.name}
    with transaction.atomic():
        RegionLabel.objects.filter(**owned, section__in=sections).delete()
        RegionLabel.objects.bulk_create(
            [RegionLabel(**owned, section=section, label=label) for section, label in sections.items() if label]
        )
    return renamed


def profile_of_workload(workload: Workload, user: Any) -> Profile | None:
    """Return the profile that represents a workload on its page, or None if the user sees none.

    This is the user's own newest profile if there is one, else the profile with the most thread counts, with measured
    ones first.
    """
    rows = Profile.objects.visible_to(user).filter(workload=workload)
    rows = rows.select_related("platform", "workload", "curves", "source__upload").defer(*LONG_TEXTS_OF_SOURCE)
    own_profile = rows.filter(source__owner=user).order_by("-pk").first() if user and user.is_authenticated else None
    is_measured = Case(When(origin="measured", then=1), default=0)
    return own_profile or rows.order_by(is_measured.desc(), "-n_measured", "-pk").first()


def program_of_profile(profile: Profile) -> ProfiledProgram:
    """Return the workload of a profile as a program of one part."""
    name = ProgramName(profile.workload.name, profile.source.uid, profile.workload.slug)
    return ProfiledProgram(name, profile.source, (profile,), None)


def measured_program(program: ProfiledProgram) -> MeasuredProgram | None:
    """Return the times of the parts and their sum, or None if no thread count was measured for all parts.

    A region with a curve that begins at n > 1 is not executed on fewer threads (`first_n` of its workload). Its time
    there is 0, and the serial rest includes what the program does instead. The sum is therefore the program's time at
    each n.
    """
    curves: list[CurveTable] = []
    for part in program.parts:
        table = stored_curves(part)
        if table is None:
            return None
        curves.append(table)
    n, parts_s = times_of_parts([(table.n, table.time_s) for table in curves])
    return MeasuredProgram(n, parts_s, parts_s.sum(axis=0)) if len(n) else None


def times_of_parts(curves: Sequence[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray]:
    """Return the J thread counts that are known for all K parts, and the times (K, J).

    Each part is given by its n and t(n) in s. Its time is 0 at thread counts below its first one.

    >>> times_of_parts([(np.array([2, 4]), np.array([3.0, 2.0])), (np.array([1, 2]), np.array([9.0, 1.0]))])
    (array([1, 2]), array([[0., 3.],
           [9., 1.]]))
    """
    n = np.unique(np.concatenate([counts for counts, _ in curves])).astype(np.int64)
    known = np.all([(n < counts[0]) | np.isin(n, counts) for counts, _ in curves], axis=0)
    n = n[known]
    places = [np.searchsorted(counts, n) for counts, _ in curves]
    times = [
        np.where(n < counts[0], 0.0, time_s[place]) for (counts, time_s), place in zip(curves, places, strict=True)
    ]
    return n, np.stack(times)


@dataclass(frozen=True)
class ProgramUpload:
    """An upload of a program: the address of its page, its date, and the least measured time, if any."""

    name: ProgramName
    created_at: datetime
    time_s: float | None


def program_uploads(program: ProfiledProgram, user: Any) -> list[ProgramUpload]:
    """Return all uploads that measured a program of this name on this machine, newest first."""
    rows = region_rows(Profile.objects.visible_to(user)).filter(
        platform=program.platform, workload__application=program.name.name
    )
    sources = dict(rows.order_by().values_list("source", "source__created_at").distinct())
    names = programs_by_source(sources, user) if len(sources) > 1 else {program.source.pk: [program.name]}
    uploads = []
    for key, created_at in sources.items():
        name = next(one for one in names[key] if one.name == program.name.name)
        is_itself = key == program.source.pk
        measured = measured_program(program if is_itself else _program_of(name, Source.objects.get(pk=key), user))
        uploads.append(ProgramUpload(name, created_at, None if measured is None else measured.best_s))
    return sorted(uploads, key=lambda upload: upload.created_at, reverse=True)


def program_of_workload(workload: Workload, user: Any) -> ProgramName | None:
    """Return the program that contains this workload in the newest upload, or None if there is none.

    No query is made if runtime and name show that the workload is not part of a program.
    """
    could_be_part = workload.runtime in PROFILED_RUNTIMES or workload.name.endswith(f"/{SERIAL_REST}")
    if not workload.application or not could_be_part:
        return None
    rows = Profile.objects.visible_to(user).filter(workload=workload, source__kind=Source.Kind.TARBALL)
    source = rows.order_by("-pk").values_list("source", flat=True).first()
    if source is None:
        return None
    programs = programs_by_source([source], user).get(source, [])
    return next((name for name in programs if name.name == workload.application), None)
