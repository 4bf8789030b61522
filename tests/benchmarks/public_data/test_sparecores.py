import json

import numpy as np
import pytest

from benchmarks.public_data.interface import RefusedFolder, as_delivery
from benchmarks.public_data.sparecores import SpareCores
from profiles.measurements.bounds import number_outside
from tests.benchmarks.public_data.servers import META, lscpu, lstopo, server, times_of

SOURCE = SpareCores()


def read(folder="aws/c9.2xlarge", **changed):
    return SOURCE.read(folder, {name: text.encode() for name, text in server(**changed).items()})


def test_the_machine_is_what_lscpu_lstopo_and_lshw_say():
    platform = read().platform
    assert platform.name == "aws/c9.2xlarge"
    assert platform.cpu_model == "Intel(R) Xeon(R) CPU @ 2.80GHz"
    assert platform.microarchitecture == "Cascade Lake"
    assert (platform.sockets, platform.numa_nodes, platform.physical_cores, platform.threads) == (2, 2, 4, 8)
    assert (platform.n_nu, platform.n_ht, platform.n_max) == (2, 4, 8)
    assert (platform.l1d_bytes, platform.l2_bytes, platform.l3_bytes) == (131072, 4194304, 34603008)
    assert (platform.memory_bytes, platform.base_mhz, platform.virtualised) == (2**35, 2800.0, True)


def test_lstopo_fills_what_the_others_leave_open():
    platform = read(lshw__stdout=None, lscpu__stdout=lscpu(**{"L1d cache": "", "Thread(s) per core": ""})).platform
    assert (platform.memory_bytes, platform.l1d_bytes, platform.physical_cores) == (2**35, 4 * 32768, 4)


def test_arm_cores_go_by_their_name():
    arm = lscpu(**{"Architecture": "aarch64", "Vendor ID": "ARM", "Model name": "Neoverse-V1"})
    text = "CPU Information\n  Name       ARM ARMv8\n"
    assert read(lscpu__stdout=arm, geekbench__stdout=text).platform.microarchitecture == "Neoverse-V1"


def test_scores_become_relative_times():
    measured = read()
    assert times_of(measured, "geekbench/ray_tracer") == {(1, 1): 1 / 500, (8, 1): 1 / 2000}
    assert {workload.application for workload in measured.relative} == {"geekbench"}
    assert "geekbench/score" not in {workload.name for workload in measured.times}
    assert {workload.version for workload in measured.relative} == {"6.x"}


def test_bogo_operations_become_the_time_of_a_million():
    measured = read()
    assert times_of(measured, "stress-ng/cpu") == {(1, 1): 1e4, (8, 1): 2e3}
    assert times_of(measured, "stress-ng/cpu-div16") == {(1, 1): 1000.0, (4, 1): 1e6 / 3900.5, (8, 1): 200.0}
    versions = {workload.name: workload.version for workload in measured.times if workload.application == "stress-ng"}
    assert versions["stress-ng/cpu"] == "0.20.01"
    assert versions["stress-ng/cpu-div16"] == "0.17.08"


def test_compression_and_llama_become_seconds():
    measured = read()
    assert times_of(measured, "compression/lz4_1_b65536_compress") == {(1, 1): 10.0, (8, 1): 1.25}
    assert times_of(measured, "compression/lz4_1_b65536_decompress") == {(1, 1): 2.0, (8, 1): 0.25}
    assert times_of(measured, "llama.cpp/SmolLM-135M.Q4_K_M/pp16") == {(8, 1): 2.0, (8, 2): 2.5}
    assert times_of(measured, "llama.cpp/SmolLM-135M.Q4_K_M/tg128") == {(8, 1): 2.0, (8, 2): 2.5}


def test_what_has_no_time_is_counted():
    reason = "a rate or a time that is missing, not positive or out of bounds"
    assert read().left_out == {f"stress-ng: {reason}": 1, f"compression: {reason}": 1}


@pytest.mark.parametrize("rate", [0, -1, "fast", True, 1e-300, float("nan"), float("inf")])
def test_a_rate_that_cannot_be_is_left_out(rate):
    stdout = json.dumps({"stressors": {"cpu": {"1": {"bogo_ops_per_sec": rate}}}})
    measured = read(stressng_benchmarks__stdout=stdout, geekbench_meta=None)
    assert "stress-ng/cpu" not in {workload.name for workload in measured.times}
    assert measured.left_out["stress-ng: a rate or a time that is missing, not positive or out of bounds"] == 1


def test_more_threads_than_there_are_is_left_out():
    measured = read(stressngfull__stdout="1,10\n9,80\n")
    assert times_of(measured, "stress-ng/cpu-div16") == {(1, 1): 1e5}
    assert measured.left_out["stress-ng: more threads than the machine has"] == 1


@pytest.mark.parametrize("status", [-4, 1, None])
def test_a_task_that_failed_is_left_out(status):
    measured = read(geekbench_meta=json.dumps(META | {"exit_code": status}))
    assert not measured.relative
    assert measured.left_out[f"geekbench: ended with status {status}"] == 1


@pytest.mark.parametrize(
    "content", ["", "[]", "{", "null", '{"stressors": 3}', '{"stressors": {"cpu": 4}}', "[" * 10**5]
)
def test_a_result_of_another_form_costs_its_task_alone(content):
    measured = read(stressng_benchmarks__stdout=content)
    assert measured.left_out["stressng_benchmarks: its result has an unknown format"] == 1
    assert measured.relative


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"lscpu__stdout": None}, "no lscpu/stdout"),
        ({"lscpu__stdout": "{"}, "lscpu/stdout is not valid JSON"),
        ({"lscpu__stdout": "[1]"}, "lscpu/stdout is not output of lscpu"),
        ({"lscpu__stdout": lscpu(**{"Model name": ""})}, "lscpu names no processor"),
        ({"lscpu__stdout": lscpu(**{"CPU(s)": "0"})}, "lscpu names no processor"),
        ({"lstopo__stdout": lstopo(16)}, "lscpu and lstopo see different numbers of threads"),
        (
            {"geekbench__stdout": "CPU Information\n  Name   AMD EPYC-Milan Processor\n"},
            "lscpu and Geekbench name different processors",
        ),
        ({"folder": "aws/t3.large"}, "a burstable or shared type, whose speed depends on credits"),
        ({"folder": "azure/Standard_B2ms"}, "a burstable or shared type, whose speed depends on credits"),
        ({"folder": "gcp/e2-standard-4"}, "a burstable or shared type, whose speed depends on credits"),
    ],
)
def test_a_machine_that_cannot_be_trusted_is_refused(changed, reason):
    with pytest.raises(RefusedFolder, match=f"^{reason}$"):
        read(**changed)


def test_a_machine_without_a_result_is_refused():
    with pytest.raises(RefusedFolder, match="no benchmark"):
        SOURCE.read("aws/c9.large", {"lscpu/stdout": lscpu().encode()})


def test_lstopo_with_an_entity_bomb_is_not_read():
    bomb = '<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><topology><object type="PU"/>&b;</topology>'
    assert read(lstopo__stdout=bomb).platform.threads == 8


def test_a_delivery_holds_each_workload_once():
    measurements = as_delivery(SOURCE, [read(), read("aws/c9.large")], "test")
    assert [platform.name for platform in measurements.platforms] == ["aws/c9.2xlarge", "aws/c9.large"]
    assert len(set(measurements.workloads)) == len(measurements.workloads)
    assert len(measurements.profiles) == 2 * len(measurements.workloads)
    kinds = {measurements.workloads[index].application: kind for index, kind in measurements.time_kinds.items()}
    assert kinds["geekbench"] == "relative"
    assert kinds["stress-ng"] == "absolute"
    assert all((np.diff(record.runs.n) >= 0).all() for record in measurements.profiles)
    assert (measurements.licence, measurements.source) == (SOURCE.licence, SOURCE.citation)
    assert number_outside(measurements) is None


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data/aws/c9.large/lscpu/stdout", ("aws/c9.large", "lscpu/stdout")),
        ("sc-inspector-data-main/data/aws/c9.large/llm/meta.json", ("aws/c9.large", "llm/meta.json")),
        ("data/aws/c9.large/passmark/stdout", None),
        ("data/aws/lscpu/stdout", None),
        ("data/../etc/x/lscpu/stdout", None),
    ],
)
def test_only_what_is_read_is_wanted(path, found):
    assert SOURCE.wanted(path) == found
