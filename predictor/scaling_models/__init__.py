"""Scaling models: times at other thread counts, input sizes and clock ratios on the measured machine.

The models are estimators with scikit-learn's interface, without Django: `fit(X, t)`, `predict(X)`, `get_params()`.
docs/scaling-models.md describes when to use which model. `registry.SCALING_MODELS` lists them.
"""

# The keys of `registry.SCALING_MODELS`. The API's schema uses this copy, because importing the models takes a second.
SCALING_MODEL_NAMES = (
    "automatic",
    "amdahl",
    "gustafson",
    "usl",
    "mpet_curve",
    "growth",
    "parallel_penalty",
    "memory_wall",
    "extended_amdahl",
    "task_graph",
)
