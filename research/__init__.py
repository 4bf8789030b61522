"""Studies behind the documents: the paper's tables and case study, published accuracy, scaling models and limits.

The product does not import this package and runs without it. `python -m research help` lists the commands.
"""
