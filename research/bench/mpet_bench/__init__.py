"""A benchmark for cross-machine prediction: frozen tasks on public data sets, one scorer, and baselines.

Run an entry with `python -m mpet_bench run --entry FILE.py --task hidden-pair-v1 --json OUT`.
"""

__version__ = "1.0.0"
