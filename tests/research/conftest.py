from tests.predictor.conftest import measured  # noqa: F401  a fixture
from tests.predictor.management.commands.test_evaluate import folder  # noqa: F401  a fixture
