import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from profiles.identity import spelling as identity
from profiles.identity.spelling import SPELLINGS, canonical_vendor
from profiles.models import Platform, PlatformDescription
from profiles.moderation import Decision, decide
from tests.profiles.deliveries import deliver, measured
from tests.samples import sample_platform, sample_workload


@given(st.text(min_size=1))
def test_exact_and_spelled_are_idempotent(text):
    assert identity.normalise_spacing(identity.normalise_spacing(text)) == identity.normalise_spacing(text)
    assert identity.fold_spelling(identity.normalise_spacing(text)) == identity.fold_spelling(text)


SAME = {
    "Xeon E5-2630 V3": "Xeon E5-2630 v3",
    "Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz": "Intel® Xeon® CPU E5-2630 v3 @ 2.40 GHz",
    "Intel(TM) Core i7-4770": "intel™ core I7 4770",
    "AMD EPYC™ 7R32": "AMD EPYC 7R32",
    "naïve-matmul": "Naïve matmul",
}
DIFFERENT = {"CPU 2.4GHz": "CPU 24GHz", "E5-2630": "E526-30", "c++/sort": "c/sort", "Xeon v3": "Xeon v4", "!!!": "???"}


@pytest.mark.parametrize(("one", "other"), [*SAME.items(), *DIFFERENT.items()])
def test_what_is_the_same_spelling(one, other):
    assert (identity.fold_spelling(one) == identity.fold_spelling(other)) is (one in SAME)


OTHER_COLUMNS = ("base_mhz", "memory_bytes", "n_max")


@pytest.mark.parametrize("field", [*identity.TOPOLOGY_COLUMNS, "name", "cpu_model", *OTHER_COLUMNS])
def test_each_part_of_a_platforms_identity_counts_and_no_other_column(field):
    changed = sample_platform(**{field: "other" if field in ("architecture", "name", "cpu_model") else 3})
    counts = field not in OTHER_COLUMNS
    assert (identity.platform_identity(changed) != identity.platform_identity(sample_platform())) is counts
    assert (identity.platform_spelling(changed) != identity.platform_spelling(sample_platform())) is counts


@pytest.mark.parametrize("field", ["name", "version", "input", "runtime"])
def test_each_part_of_a_workloads_identity_counts(field):
    changed = sample_workload(**{field: "other"})
    assert identity.workload_identity(changed) != identity.workload_identity(sample_workload())


def test_parts_do_not_run_into_each_other():
    one = sample_workload(name="a", version="bc", input="d")
    other = sample_workload(name="ab", version="c", input="d")
    assert identity.workload_identity(one) != identity.workload_identity(other)
    assert identity.workload_spelling(one) != identity.workload_spelling(other)


def test_no_spelling_is_two_vendors_and_every_name_stands_for_itself():
    spellings = [spelling for several in SPELLINGS.values() for spelling in several]
    assert len(spellings) == len(set(spellings))
    assert [canonical_vendor(name) for name in SPELLINGS] == list(SPELLINGS)


@pytest.mark.django_db
def test_another_spelling_is_the_same_machine_and_no_difference():
    deliver(measured([sample_platform(vendor="GenuineIntel")]))
    result = deliver(measured([sample_platform(vendor="Intel(R) Corporation")]))
    assert Platform.objects.get().vendor == "Intel"
    assert result.warnings == []
    assert not PlatformDescription.objects.filter(differs=True).exists()


@pytest.mark.django_db
def test_what_a_moderator_decides_is_written_alike():
    deliver(measured([sample_platform()]))
    decide(Platform.objects.get(), {"vendor": "AuthenticAMD"}, Decision(None, "as its maker writes it"))
    assert Platform.objects.values_list("vendor", "decided").get() == ("AMD", {"vendor": "AMD"})


@pytest.mark.django_db
@pytest.mark.parametrize("spelling", ["Intel", "intel", "GenuineIntel"])
def test_filters_take_every_spelling(client, spelling):
    deliver(measured([sample_platform(vendor="GenuineIntel"), sample_platform(1, vendor="AMD")]))
    rows = client.get(reverse("api-platforms"), {"vendor": spelling}).json()["results"]
    assert [row["slug"] for row in rows] == ["machine-0"]
    page = client.get(reverse("platforms"), {"vendor": spelling})
    assert [row.slug for row in page.context["page"]] == ["machine-0"]
    assert '<option value="Intel" selected>' in page.content.decode()
