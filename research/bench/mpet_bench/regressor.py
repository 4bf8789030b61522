"""MPET's estimator, of the installed mpet-core, or of the clone that this package is in."""

import sys
from pathlib import Path

try:
    from mpet_core.predictor.core.regressor import KNOWN_OF_PLATFORM, MpetRegressor
except ImportError:
    CLONE = Path(__file__).resolve().parents[3]
    if not (CLONE / "predictor" / "core" / "regressor.py").is_file():
        raise ImportError("the entry mpet needs mpet-core: pip install mpet-bench[mpet]") from None
    sys.path.append(str(CLONE))
    from predictor.core.regressor import KNOWN_OF_PLATFORM, MpetRegressor

__all__ = ["KNOWN_OF_PLATFORM", "MpetRegressor"]
