"""Bound expressions: what they are made of, how they are written, what a function is."""
