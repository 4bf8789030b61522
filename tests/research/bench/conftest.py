import pytest

from tests.research.bench.made_up import write_dataset


@pytest.fixture
def dataset(tmp_path):
    return write_dataset(tmp_path / "own")
