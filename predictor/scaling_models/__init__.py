"""Scaling models: times at other thread counts, input sizes and clock ratios on the machine that was measured.

Estimators in scikit-learn's form, without Django: `fit(X, t)`, `predict(X)`, `get_params()`. docs/scaling-models.md
says which to use when; `registry.SCALING_MODELS` lists them.
"""

# The names in `registry.SCALING_MODELS`, for the API's schema: to import the models takes a second.
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
