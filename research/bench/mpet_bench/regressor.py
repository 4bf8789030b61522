"""MPET's estimator, from the installed mpet-core or from the clone that contains this package."""

import importlib.util
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parents[3]

if importlib.util.find_spec("mpet_core"):
    from mpet_core.predictor.core.regressor import KNOWN_OF_PLATFORM, MpetRegressor
elif (CLONE / "predictor" / "core" / "regressor.py").is_file():
    sys.path.append(str(CLONE))
    from predictor.core.regressor import KNOWN_OF_PLATFORM, MpetRegressor
else:
    raise ImportError("the entry mpet needs mpet-core: pip install mpet-bench[mpet]")

__all__ = ["KNOWN_OF_PLATFORM", "MpetRegressor"]
