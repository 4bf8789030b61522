"""Names that are markup, for tests that pages escape them."""

from django.urls import reverse

from profiles.identity.programs import programs_by_source
from profiles.models import Platform, Revision, Source, Workload

PLATFORM = '<a href="//e.co">X'  # short enough that labels are not truncated
LINK = '<a href="//e.co">X</a><b>&lt;b&gt;'


def make_names_hostile() -> None:
    """Replace all names and descriptions of platforms and workloads by markup. Names stay distinct, slugs unchanged."""
    # Platforms are numbered, because primary keys grow during the tests and labels are truncated.
    for number, platform in enumerate(Platform.objects.order_by("pk")):
        platform.name = f"{PLATFORM}{number}"
        platform.cpu_model = platform.vendor = platform.microarchitecture = LINK
        platform.save()
    for workload in Workload.objects.all():
        workload.name = f"{LINK}{workload.name}"
        workload.application, workload.section = f"{LINK}{workload.application}", f"{LINK}{workload.section}"
        workload.input = workload.version = workload.size_unit = workload.description = LINK
        workload.save()
    Revision.raise_for(None)


def address_of_program() -> str:
    """Return the address of the only program, which depends on its name."""
    (program,) = [
        program
        for programs in programs_by_source(Source.objects.values_list("pk", flat=True), None).values()
        for program in programs
    ]
    return reverse("program", args=program.address)
