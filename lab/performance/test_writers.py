"""The command that measures how long other writers wait. The upload is small unless times are measured."""

from lab.performance.conftest import sized
from lab.performance.writers import measure_waits

ROWS, WORKLOADS = sized(200_000, 2_200), sized(50, 5)


def test_others_write_while_an_upload_is_stored():
    measured = measure_waits(ROWS, WORKLOADS)
    assert measured["import_status"] == 0
    assert measured["profiles"] == WORKLOADS
    assert measured["runs"] == ROWS // (WORKLOADS * 22) * WORKLOADS * 22
    assert measured["writes"] > 1
