"""Names that are markup for whatever writes them out without a thought."""

from django.urls import reverse

from profiles.identity.programs import programs_by_source
from profiles.models import Platform, Revision, Source, Workload

PLATFORM = '<a href="//e.co">X'  # short enough that no label is cut
LINK = '<a href="//e.co">X</a><b>&lt;b&gt;'


def make_names_hostile() -> None:
    """Every name and description of platforms and workloads becomes markup, all different; their slugs stay."""
    for number, platform in enumerate(Platform.objects.order_by("pk")):  # primary keys grow, and labels are cut
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
    """Of the only one, whose address follows its name."""
    (program,) = [
        program
        for programs in programs_by_source(Source.objects.values_list("pk", flat=True), None).values()
        for program in programs
    ]
    return reverse("program", args=program.address)
