"""Scaling models: times at other thread counts, input sizes and clock ratios on the machine that was measured.

Estimators in scikit-learn's form, without Django: `fit(X, t)`, `predict(X)`, `get_params()`. docs/scaling-models.md
says which to use when; `registry.SCALING_MODELS` lists them.
"""
