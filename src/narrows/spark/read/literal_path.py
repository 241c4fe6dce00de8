"""Paths for Spark's readers, which take them for patterns."""

from __future__ import annotations

from pathlib import Path


def literal_path(folder: str | Path) -> str:
    """The path as a pattern that matches it and nothing else."""
    return "".join(f"\\{c}" if c in "\\*?[]{}" else c for c in str(folder))
