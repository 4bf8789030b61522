"""Schemathesis imports its hooks in a process of its own (test_contract.py): they are no test."""

collect_ignore = ["contract_hooks.py"]
