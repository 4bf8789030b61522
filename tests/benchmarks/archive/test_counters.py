"""counters.csv: every rule that a reading can break."""

import pytest

from tests.benchmarks.archive.refusals import changed_row, first

BAD_READINGS = [
    ({"workload": "no/such"}, "workload 'no/such' is not in workloads.json"),
    ({"n": "0"}, "n 0 is less than 1"),
    ({"n": "17"}, "n 17 is more than n_max = 16"),
    ({"repeat": "r"}, "repeat 'r' is not a 64-bit integer"),
    ({"counter": ""}, "counter '' does not have 1 to 40 characters"),
    ({"counter": "INSTR"}, "same workload, n, repeat and counter as in line 2"),
    ({"status": "fine"}, "status 'fine' is not one of ok, multiplexed, unsupported, no-permission, not-scheduled"),
    ({"status": "unsupported"}, "value is given although status is unsupported"),
    ({"value": ""}, "value is empty although status is ok"),
    ({"value": "", "status": "multiplexed"}, "value is empty although status is multiplexed"),
    ({"value": "-1"}, "value -1 is less than 1e-09 and not 0"),
    ({"value": "nan"}, "value 'nan' is not a finite number"),
    ({"value": "inf"}, "value 'inf' is not a finite number"),
    ({"value": "1e999"}, "value '1e999' is not a finite number"),
    ({"value": "1,5"}, "value '1,5' is not a finite number"),
]


@pytest.mark.parametrize(("cells", "reason"), BAD_READINGS, ids=range(len(BAD_READINGS)))
def test_a_bad_counter_reading(files, cells, reason):
    assert first(changed_row(files, 3, "counters.csv", **cells)) == ("counters.csv", 3, reason)
