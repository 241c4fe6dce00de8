"""Logical rules: each keeps the meaning of a plan and makes it cheaper."""
