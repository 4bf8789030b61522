"""Makers of processors are stored under one name each, as the way in writes them from now on."""

import re

from django.db import migrations
from django.db.models import F

KEYS_AT_ONCE = 500
# As they were known when this was written, by spelling without case, spaces and marks.
NAMES = {
    **dict.fromkeys(("amd", "authenticamd", "amdinc", "advancedmicrodevices", "advancedmicrodevicesinc"), "AMD"),
    **dict.fromkeys(("ampere", "amperecomputing"), "Ampere"),
    **dict.fromkeys(("apple", "appleinc"), "Apple"),
    **dict.fromkeys(("arm", "armltd", "armlimited"), "Arm"),
    **dict.fromkeys(("broadcom", "broadcominc", "broadcomcorporation"), "Broadcom"),
    **dict.fromkeys(("fujitsu", "fujitsultd", "fujitsulimited"), "Fujitsu"),
    **dict.fromkeys(("hisilicon", "hisilicontechnologies"), "HiSilicon"),
    **dict.fromkeys(("hygon", "hygongenuine"), "Hygon"),
    **dict.fromkeys(("ibm", "ibms390", "internationalbusinessmachines"), "IBM"),
    **dict.fromkeys(("intel", "genuineintel", "intelcorporation", "intelcorp"), "Intel"),
    **dict.fromkeys(("nvidia", "nvidiacorporation"), "NVIDIA"),
    **dict.fromkeys(("qualcomm", "qualcommtechnologies", "qualcommtechnologiesinc"), "Qualcomm"),
    **dict.fromkeys(("sifive", "sifiveinc"), "SiFive"),
    **dict.fromkeys(("via", "centaurhauls", "viatechnologies"), "VIA"),
    **dict.fromkeys(("zhaoxin", "shanghai"), "Zhaoxin"),
}
MARKS = re.compile(r"\((?:r|tm)\)|[®™]", re.IGNORECASE)


def canonical(text):
    if not isinstance(text, str) or not text:
        return text
    return NAMES.get(re.sub(r"[^a-z0-9]", "", MARKS.sub("", text).casefold()), text)


def rename_vendors(Platform):
    """Whether a platform changed: a query for each spelling, as there are few."""
    changed = 0
    for vendor in list(Platform.objects.exclude(vendor=None).order_by().values_list("vendor", flat=True).distinct()):
        if canonical(vendor) != vendor:
            changed += Platform.objects.filter(vendor=vendor).update(vendor=canonical(vendor))
    return changed > 0


def rename_said(rows, column):
    """What deliveries said or moderators decided, as JSON."""
    for row in rows.iterator(chunk_size=KEYS_AT_ONCE):
        facts = getattr(row, column)
        name = canonical(facts["vendor"])
        if name != facts["vendor"]:
            rows.model.objects.filter(pk=row.pk).update(**{column: facts | {"vendor": name}})


def compare_anew(descriptions):
    """A delivery that only spelled the vendor otherwise says nothing else any more."""
    for row in descriptions.filter(differs=True).select_related("platform").iterator(chunk_size=KEYS_AT_ONCE):
        renamed = [[name, canonical(value) if name == "vendor" else value] for name, value in row.differences]
        kept = [[name, value] for name, value in renamed if name != "vendor" or value != row.platform.vendor]
        if kept != row.differences:
            descriptions.filter(pk=row.pk).update(differences=kept, differs=bool(kept))


def make_canonical(apps, schema_editor):
    Platform, PlatformDescription, Revision = (
        apps.get_model("profiles", name) for name in ("Platform", "PlatformDescription", "Revision")
    )
    changed = rename_vendors(Platform)
    rename_said(Platform.objects.filter(decided__has_key="vendor"), "decided")
    rename_said(PlatformDescription.objects.filter(facts__has_key="vendor"), "facts")
    compare_anew(PlatformDescription.objects.all())
    if changed:
        Revision.objects.update(number=F("number") + 1)


class Migration(migrations.Migration):
    dependencies = [
        ("profiles", "0017_measured_under_load"),
    ]

    operations = [
        migrations.RunPython(make_canonical, migrations.RunPython.noop),
    ]
