"""The facts that are stored become the word of the earliest delivery."""

from collections import defaultdict

from django.db import migrations, models
from django.db.models import Value
from django.db.models.functions import Cast, Concat

PLATFORM_COLUMNS = (
    *("vendor", "microarchitecture", "word_bits", "device_class", "n_max", "placement", "base_mhz", "max_mhz"),
    *("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes", "virtualised", "kernel", "compiler", "compiler_flags"),
)
WORKLOAD_COLUMNS = ("application", "section", "strategy", "bound", "description", "size", "size_unit")
ROWS_AT_ONCE = 200


def name_deliverers(apps, schema_editor):
    Source = apps.get_model("profiles", "Source")
    Source.objects.filter(owner=None).update(deliverer="operator")
    Source.objects.exclude(owner=None).update(deliverer=Concat(Value("user:"), Cast("owner_id", models.CharField())))


def credit_earliest(apps, noun, columns):
    """What each delivery said was not kept: the facts stay as they are, as the word of the earliest that can be seen.
    The others say nothing, and stand in line. A row without profiles came in a dataset, which the operator imports."""
    model = apps.get_model("profiles", noun.capitalize())
    Profile = apps.get_model("profiles", "Profile")
    Description = apps.get_model("profiles", f"{noun.capitalize()}Description")
    sources = {source.pk: source for source in apps.get_model("profiles", "Source").objects.only("deliverer", "hidden")}
    keys = list(model.objects.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), ROWS_AT_ONCE):
        rows = list(model.objects.filter(pk__in=keys[start : start + ROWS_AT_ONCE]))
        named = defaultdict(list)
        profiles = Profile.objects.filter(**{f"{noun}__in": rows}).order_by()
        for key, source, private_to in profiles.values_list(f"{noun}_id", "source_id", "private_to_id").distinct():
            named[key, private_to].append(source)
        descriptions = []
        for row in rows:
            own = sorted(named[row.pk, row.private_to_id])
            shown = [key for key in own if not sources[key].hidden]
            row.facts_by = sources[shown[0]].deliverer if shown else "" if own else "operator"
            values = {name: getattr(row, name) for name in columns if getattr(row, name) not in (None, "unknown")}
            for key in own:
                facts = values if key == (shown or own)[0] else {}
                descriptions.append(Description(source_id=key, facts=facts, **{noun: row}))
        model.objects.bulk_update(rows, ["facts_by"])
        Description.objects.bulk_create(descriptions)


def credit_deliveries(apps, schema_editor):
    name_deliverers(apps, schema_editor)
    credit_earliest(apps, "platform", PLATFORM_COLUMNS)
    credit_earliest(apps, "workload", WORKLOAD_COLUMNS)


class Migration(migrations.Migration):
    dependencies = [
        ("profiles", "0010_descriptions"),
    ]

    operations = [
        migrations.RunPython(credit_deliveries, migrations.RunPython.noop),
    ]
