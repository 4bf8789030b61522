"""What is stored outside the bounds of docs/decisions/bounds.md goes, before the database holds them as constraints.

A fact of a platform or workload becomes unknown, n_max the nearest bound. Runs and readings are deleted, and with them
what was derived of their profiles: nothing is predicted from these until `manage.py refit` has made it anew from what
is left, and its warnings say so. The bounds are written out: those of the code may change.
"""

from django.db import migrations
from django.db.models import F, Q

COUNT = (1, 65_536)
COUNTS = ("sockets", "numa_nodes", "physical_cores", "threads", "n_nu", "n_ht")
SIZES = ("l1d_bytes", "l2_bytes", "l3_bytes", "memory_bytes")
PARTS = ("use_ns", "lock_ns", "imbalance_ns", "creation_ns", "distribution_ns", "switching_ns", "join_ns")
PLATFORM = {
    **dict.fromkeys(COUNTS, COUNT),
    "word_bits": (1, 1024),
    **dict.fromkeys(("base_mhz", "max_mhz"), (1, 100_000)),
    **dict.fromkeys(SIZES, (0, 2**60)),
}
WORKLOAD = {"size": (1e-9, 1e18)}
RUN = {
    "n": COUNT,
    "repeat": (0, 2**31 - 1),
    "time_s": (1e-18, 1e18),
    "time_ns": (1, 10**16),
    **dict.fromkeys(PARTS, (0, 2**63 - 1)),
    "size": (1e-9, 1e18),
    "clock_mhz": (1, 100_000),
    **dict.fromkeys(("tasks", "waits"), (0, 2**53)),
}
LEAST_VALUE, LARGEST_VALUE = 1e-9, 1e21  # of a counter, or 0
LARGEST_CPU = 65_535
KEYS_AT_ONCE = 500
WARNING = "stored runs or counters were outside the bounds and were removed; what is derived is to be made anew: refit"


def outside(name, bounds):
    least, most = bounds
    return Q(**{f"{name}__lt": least}) | Q(**{f"{name}__gt": most})


def outside_any(table):
    condition = Q()
    for name, bounds in table.items():
        condition |= outside(name, bounds)
    return condition


def forget_facts_outside(model, table):
    """Whether any row changed."""
    return any([model.objects.filter(outside(name, bounds)).update(**{name: None}) for name, bounds in table.items()])


def bound_platforms(Platform):
    changed = forget_facts_outside(Platform, PLATFORM)
    changed |= bool(Platform.objects.filter(n_max__gt=COUNT[1]).update(n_max=COUNT[1]))
    for key, placement, threads in Platform.objects.exclude(placement=None).values_list("pk", "placement", "threads"):
        if not is_placement(placement, threads):
            changed |= bool(Platform.objects.filter(pk=key).update(placement=None))
    return changed


def is_placement(placement, threads):
    return (
        isinstance(placement, list)
        and len(placement) <= (threads or COUNT[1])
        and all(isinstance(cpu, int) and 0 <= cpu <= LARGEST_CPU for cpu in placement)
    )


def bound_said_facts(model, column, table):
    """What deliveries said and moderators decided, as JSON: a number outside is as if it had not been said."""
    for row in model.objects.exclude(**{column: {}}).iterator(chunk_size=KEYS_AT_ONCE):
        facts = getattr(row, column)
        kept = {name: value for name, value in facts.items() if fact_is_inside(table, name, value)}
        if kept != facts:
            model.objects.filter(pk=row.pk).update(**{column: kept})


def fact_is_inside(table, name, value):
    if name == "placement":
        return is_placement(value, None)
    bounds = COUNT if name == "n_max" else table.get(name)
    return bounds is None or not isinstance(value, int | float) or bounds[0] <= value <= bounds[1]


def delete_outside(model, condition):
    """The profiles whose rows were deleted."""
    rows = model.objects.filter(condition)
    profiles = set(rows.order_by().values_list("profile_id", flat=True).distinct())
    if profiles:
        rows.delete()
    return profiles


def forget_derived(apps, profiles):
    keys = sorted(profiles)
    for start in range(0, len(keys), KEYS_AT_ONCE):
        chunk = keys[start : start + KEYS_AT_ONCE]
        for name in ("ScalingCurves", "FeatureVector"):
            apps.get_model("profiles", name).objects.filter(profile_id__in=chunk).delete()
        rows = apps.get_model("profiles", "Profile").objects.filter(pk__in=chunk)
        rows.update(t1_s=None, fit_error=None, warnings=[WARNING])


def bound_rows(apps, schema_editor):
    Platform, Workload, Run, CounterReading, Revision = (
        apps.get_model("profiles", name) for name in ("Platform", "Workload", "Run", "CounterReading", "Revision")
    )
    changed = bound_platforms(Platform) | forget_facts_outside(Workload, WORKLOAD)
    for model, table in ((Platform, PLATFORM), (Workload, WORKLOAD)):
        bound_said_facts(model, "decided", table)
        bound_said_facts(apps.get_model("profiles", f"{model.__name__}Description"), "facts", table)
    of_value = Q(value__lt=0) | Q(value__gt=0, value__lt=LEAST_VALUE) | Q(value__gt=LARGEST_VALUE)
    profiles = delete_outside(Run, outside_any(RUN))
    profiles |= delete_outside(CounterReading, of_value | outside("n", COUNT))
    forget_derived(apps, profiles)
    if changed or profiles:
        Revision.objects.update(number=F("number") + 1)


class Migration(migrations.Migration):
    dependencies = [
        ("profiles", "0013_announcements"),
    ]

    operations = [
        migrations.RunPython(bound_rows, migrations.RunPython.noop),
    ]
