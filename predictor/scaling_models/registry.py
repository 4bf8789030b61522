"""The scaling models that the API, the command and the documentation list."""

from __future__ import annotations

import inspect
from typing import Any

from predictor.scaling_models.amdahl import Amdahl
from predictor.scaling_models.automatic import AutomaticChoice
from predictor.scaling_models.base import ScalingModel
from predictor.scaling_models.extended_amdahl import ExtendedAmdahl
from predictor.scaling_models.growth import GrowthLaw
from predictor.scaling_models.gustafson import Gustafson
from predictor.scaling_models.memory_wall import MemoryWall
from predictor.scaling_models.mpet_curve import MpetCurve
from predictor.scaling_models.parallel_penalty import ParallelPenalty
from predictor.scaling_models.task_graph import TaskGraphModel
from predictor.scaling_models.usl import USL

SCALING_MODELS: dict[str, type[ScalingModel]] = {
    "automatic": AutomaticChoice,
    "amdahl": Amdahl,
    "gustafson": Gustafson,
    "usl": USL,
    "mpet_curve": MpetCurve,
    "growth": GrowthLaw,
    "parallel_penalty": ParallelPenalty,
    "memory_wall": MemoryWall,
    "extended_amdahl": ExtendedAmdahl,
    "task_graph": TaskGraphModel,
}


def describe_model(name: str) -> dict[str, Any]:
    """Return the columns of a model, its settings with their defaults, and its source, for lists of models.

    >>> describe_model("usl")["title"], describe_model("gustafson")["optional"]
    ('Universal scalability law', ['size'])
    """
    model = SCALING_MODELS[name]
    return {
        "name": name,
        "title": model.title,
        "summary": (inspect.getdoc(model) or "").split("\n\n")[0].replace("\n", " "),
        "needed": list(model.needed),
        "optional": list(model.optional),
        "settings": {key: value for key, value in model().get_params().items() if not callable(value)},
        "source": model.source,
    }
