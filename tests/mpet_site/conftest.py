"""Exclusion of the schemathesis hooks, which are not tests: test_contract.py runs them in a separate process."""

collect_ignore = ["contract_hooks.py"]
