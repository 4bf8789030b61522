"""The names in `registry.SCALING_MODELS`, for the API's schema: to import the models takes a second."""

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
