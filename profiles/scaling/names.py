"""Names of the method as data: curves, their counters, the six elements of each curve, and the 84 features."""

import numpy as np

METHOD_VERSION = "2"

SCALING_PARTS = (
    "redundancy",
    "lock_delay",
    "work_imbalance",
    "task_creation",
    "task_distribution",
    "task_switching",
    "task_join",
)
FRACTIONS = SCALING_PARTS[1:]  # in the order of measurements.PARTS without `use`

RELATIVE_MEASURES = {
    "BR/INSTR": ("BR", "INSTR"),
    "BR-M/BR": ("BR-M", "BR"),
    "BR-M/INSTR": ("BR-M", "INSTR"),
    "L1-LD/INSTR": ("L1-LD", "INSTR"),
    "L1-STM/L1-ST": ("L1-STM", "L1-ST"),
    "LLC-LD/INSTR": ("LLC-LD", "INSTR"),
    "L1-LD/LLC-LDM": ("L1-LD", "LLC-LDM"),
}
COUNTER_SYNONYMS = {"instructions": "INSTR", "core_cycles": "CYCLES"}  # LIKWID's names

CURVE_NAMES = (*SCALING_PARTS, *RELATIVE_MEASURES)
FRACTION_CURVES = slice(1, 1 + len(FRACTIONS))  # in CURVE_NAMES
RELATIVE_MEASURE_CURVES = slice(1 + len(FRACTIONS), len(CURVE_NAMES))
ELEMENTS = ("m", "b", "m_nu", "b_nu", "m_ht", "b_ht")
FEATURE_NAMES = tuple(f"{curve}.{element}" for curve in CURVE_NAMES for element in ELEMENTS)

GAUSSIAN_SUM = np.array([name == "task_distribution" for name in CURVE_NAMES])
GAUSSIAN_SUM.setflags(write=False)
