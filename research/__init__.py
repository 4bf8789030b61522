"""The studies behind the documents: the paper's tables and case study, published accuracy, scaling models and limits.

The product never imports it, and runs without it. `python -m research help` lists the commands.
"""
