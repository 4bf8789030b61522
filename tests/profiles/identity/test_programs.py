"""Which workloads of an upload are the parts of a program, and who sees it."""

from dataclasses import replace

import numpy as np
import pytest
from django.http import Http404

from profiles.identity.programs import measured_program, program_of_workload, program_or_404, programs_by_source
from profiles.models import Profile, Source, Workload
from tests.pages import store_public
from tests.profiles.deliveries import deliver
from tests.programs import MERGE_S, REST_S, SPLIT_S, late_program_measurements, program_measurements
from tests.samples import sample_measurements, sample_workload

pytestmark = pytest.mark.django_db


def store(measurements, **how):
    return deliver(measurements, **how).source


def names(source, viewer=None):
    return [name.name for name in programs_by_source([source.pk], viewer).get(source.pk, [])]


def the_program(source, viewer=None):
    (name,) = programs_by_source([source.pk], viewer)[source.pk]
    return program_or_404(*name.address, viewer)


def test_regions_and_serial_rest_of_one_application_add_up_at_each_n():
    program = the_program(store(program_measurements(counts=(1, 2, 4))))
    assert (program.name.name, program.platform.name) == ("sort", "machine-0")
    assert [part.workload.section for part in program.parts] == ["merge:12", "split:40", "serial rest"]
    assert program.serial_rest.workload.name == "sort/serial rest"
    measured = measured_program(program)
    assert measured.n.tolist() == [1, 2, 4]
    assert measured.parts_s[:, 0].tolist() == [MERGE_S, SPLIT_S, REST_S]
    assert measured.time_s == pytest.approx([(MERGE_S + SPLIT_S) / n + REST_S for n in (1, 2, 4)])
    assert measured.best == 2
    Profile.objects.first().curves.delete()
    assert measured_program(the_program(program.source)) is None
    older = the_program(store(program_measurements(serial_rest=False)))
    assert (older.serial_rest, len(older.parts)) == (None, 2)


def test_only_thread_counts_that_all_parts_have_are_added():
    measurements = program_measurements(counts=(1, 2, 4))
    first = measurements.profiles[0]
    fewer = replace(first, runs=first.runs.take(np.flatnonzero(first.runs.n != 2)))
    measured = measured_program(the_program(store(replace(measurements, profiles=[fewer, *measurements.profiles[1:]]))))
    assert measured.n.tolist() == [1, 4]


def test_a_region_that_begins_later_takes_no_time_before():
    """The rest has at n = 1 what the region does on more: the sum is the program's time at every n."""
    measured = measured_program(the_program(store(late_program_measurements())))
    assert measured.n.tolist() == [1, 2, 4]
    assert measured.time_s == pytest.approx([MERGE_S + SPLIT_S + REST_S, (MERGE_S + SPLIT_S) / 2 + REST_S, 1.75])
    assert measured.parts_s[:, 0].tolist() == pytest.approx([0.0, SPLIT_S, MERGE_S + REST_S])


def test_the_kits_own_workloads_a_dataset_and_a_serial_rest_alone_are_no_program():
    assert names(store_public()[0].source) == []
    whole = program_measurements()
    assert names(store(whole, kind="dataset")) == []
    rest = replace(whole, workloads=whole.workloads[2:], profiles=[replace(whole.profiles[2], workload=0)])
    assert names(store(rest)) == []


def test_two_programs_of_one_upload_have_addresses_of_their_own():
    first, second = program_measurements(application="a b"), program_measurements(application="a-b")
    both = replace(
        first,
        workloads=[*first.workloads, *second.workloads],
        profiles=[*first.profiles, *(replace(row, workload=row.workload + 3) for row in second.profiles)],
    )
    source = store(both)
    found = programs_by_source([source.pk], None)[source.pk]
    assert [(name.name, name.slug) for name in found] == [("a b", "a-b"), ("a-b", "a-b-2")]
    for name in found:
        assert {part.workload.application for part in program_or_404(*name.address, None).parts} == {name.name}


def test_a_private_program_is_its_owners_alone_and_what_a_moderator_hid_nobodys(ada, bob):
    source = store(program_measurements(), owner=ada, private=True)
    (name,) = programs_by_source([source.pk], ada)[source.pk]
    assert program_or_404(*name.address, ada).name == name
    assert names(source, bob) == names(source) == []
    for viewer in (bob, None):
        with pytest.raises(Http404):
            program_or_404(*name.address, viewer)
    Source.objects.update(hidden=True)
    with pytest.raises(Http404):
        program_or_404(*name.address, ada)


def test_a_workload_leads_to_the_newest_program(ada):
    store(program_measurements())
    newest = store(program_measurements(speed=2.0))
    store(program_measurements(speed=3.0), owner=ada, private=True)
    for section in ("merge:12", "serial rest"):
        workload = Workload.objects.get(name=f"sort/{section}")
        assert program_of_workload(workload, None).source_uid == newest.uid
        assert program_of_workload(workload, ada).source_uid != newest.uid


def test_other_workloads_cost_no_query(django_assert_num_queries):
    store(replace(sample_measurements(1, 1), workloads=[sample_workload(0)]))
    workload = Workload.objects.get()
    with django_assert_num_queries(0):
        assert program_of_workload(workload, None) is None


def test_programs_of_many_sources_take_one_query(django_assert_num_queries):
    sources = [store(program_measurements(speed=speed)) for speed in (1.0, 2.0)]
    with django_assert_num_queries(1):
        found = programs_by_source([source.pk for source in sources], None)
    assert {key: len(programs) for key, programs in found.items()} == {source.pk: 1 for source in sources}
