"""MPET's methods without a server: on a public dump, and on a table of times of one's own.

from mpet_core import MpetRegressor, read_dump
read_dump(Path("dump")).predict("fft", "i9-9900k").time_s
MpetRegressor().fit(table[["platform", "workload", "n"]], table["time_s"]).predict([["mine", "fft", 16]])
"""

from mpet_core.predictor.core.answers import Answer
from mpet_core.predictor.core.errors import PredictionError
from mpet_core.predictor.core.methods import METHODS
from mpet_core.predictor.core.public_dump import PublicDump, read_dump
from mpet_core.predictor.core.regressor import MpetRegressor
from mpet_core.profiles.dump.files import DumpError

__version__ = "1.0.0"
__all__ = ["METHODS", "Answer", "DumpError", "MpetRegressor", "PredictionError", "PublicDump", "read_dump"]
