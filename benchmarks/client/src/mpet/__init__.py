"""Python client of MPET: measure, upload, predict and rank.

For example:

    from mpet import Client
    Client("https://mpet.example.org").predict("fft", "i9-9900k").curve
"""

from __future__ import annotations

from mpet.changes import Change, Changes, RegionChange
from mpet.client import Client
from mpet.errors import KitFailed, MpetError, NoPrediction, NotAllowed, NothingToCompare, Refused, Unreachable
from mpet.results import Comparison, CurvePoint, ForeignFile, Prediction, Ranking, UploadPreview, UploadReport

__version__ = "1.0.0"
__all__ = [
    "Change",
    "Changes",
    "Client",
    "Comparison",
    "CurvePoint",
    "ForeignFile",
    "KitFailed",
    "MpetError",
    "NoPrediction",
    "NotAllowed",
    "NothingToCompare",
    "Prediction",
    "Ranking",
    "Refused",
    "RegionChange",
    "Unreachable",
    "UploadPreview",
    "UploadReport",
]
