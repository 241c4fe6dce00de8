"""One rule a file.

The docstring of each shows SQL over `tests/golden/catalog.sql`, and the plan right before and right
after the rule: every node, and of what EXPLAIN says about it the part that matters. The tests
(`tests/golden/test_rule_docs.py`) plan the SQL and compare.
"""
