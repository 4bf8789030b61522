import pytest


@pytest.fixture(autouse=True)
def hostile_files_have_a_process(reader_process):
    """What a file may do to its reader is what these tests are about."""
