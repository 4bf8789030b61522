import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.identity import spelling as identity
from tests.samples import sample_platform, sample_workload


@given(st.text(min_size=1))
def test_exact_and_spelled_are_idempotent(text):
    assert identity.normalise_spacing(identity.normalise_spacing(text)) == identity.normalise_spacing(text)
    assert identity.fold_spelling(identity.normalise_spacing(text)) == identity.fold_spelling(text)


def test_exact_composes_and_collapses():
    assert identity.normalise_spacing("  Cafe\u0301 \t CPU\n") == "Caf\u00e9 CPU"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Xeon E5-2630 V3", "Xeon E5-2630 v3"),
        ("Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz", "Intel® Xeon® CPU E5-2630 v3 @ 2.40 GHz"),
        ("Intel(TM) Core i7-4770", "intel™ core I7 4770"),
        ("AMD EPYC™ 7R32", "AMD EPYC 7R32"),
        ("naïve-matmul", "Naïve matmul"),
    ],
)
def test_same_spelling(one, other):
    assert identity.fold_spelling(one) == identity.fold_spelling(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CPU 2.4GHz", "CPU 24GHz"),
        ("E5-2630", "E526-30"),
        ("c++/sort", "c/sort"),
        ("Xeon v3", "Xeon v4"),
        ("!!!", "???"),
    ],
)
def test_different_spelling(one, other):
    assert identity.fold_spelling(one) != identity.fold_spelling(other)


@pytest.mark.parametrize("field", [*identity.TOPOLOGY_COLUMNS, "name", "cpu_model"])
def test_each_part_of_a_platforms_identity_counts(field):
    changed = sample_platform(**{field: "other" if field in ("architecture", "name", "cpu_model") else 3})
    assert identity.platform_identity(changed) != identity.platform_identity(sample_platform())
    assert identity.platform_spelling(changed) != identity.platform_spelling(sample_platform())


@pytest.mark.parametrize("field", ["base_mhz", "memory_bytes", "kernel", "n_max"])
def test_other_columns_do_not_make_another_platform(field):
    changed = sample_platform(**{field: None})
    assert identity.platform_identity(changed) == identity.platform_identity(sample_platform())


@pytest.mark.parametrize("field", ["name", "version", "input", "runtime"])
def test_each_part_of_a_workloads_identity_counts(field):
    changed = sample_workload(**{field: "other"})
    assert identity.workload_identity(changed) != identity.workload_identity(sample_workload())


def test_parts_do_not_run_into_each_other():
    one = sample_workload(name="a", version="bc", input="d")
    other = sample_workload(name="ab", version="c", input="d")
    assert identity.workload_identity(one) != identity.workload_identity(other)
    assert identity.workload_spelling(one) != identity.workload_spelling(other)


def test_kin_need_the_same_topology_and_numbers():
    kin = identity.platform_kin(sample_platform(name="node"))
    assert identity.platform_kin(sample_platform(name="knot")) == kin
    assert identity.platform_kin(sample_platform(name="node 2")) != kin
    assert identity.platform_kin(sample_platform(name="node", threads=32)) != kin
