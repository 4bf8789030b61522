"""MPET from Python: measure, upload, predict, rank.

from mpet import Client
Client("https://mpet.example.org").predict("fft", "i9-9900k").curve
"""

from __future__ import annotations

from mpet.client import Client
from mpet.errors import (
    KitFailed,
    MpetError,
    NoPrediction,
    NotAllowed,
    Refused,
    Unreachable,
)
from mpet.results import Comparison, CurvePoint, Prediction, Ranking, UploadReport

__version__ = "0.1.0"
__all__ = [
    "Client",
    "Comparison",
    "CurvePoint",
    "KitFailed",
    "MpetError",
    "NoPrediction",
    "NotAllowed",
    "Prediction",
    "Ranking",
    "Refused",
    "Unreachable",
    "UploadReport",
]
