"""Formats of third parties.

A package declares an entry point in the group `narrows.formats`. It names a function without
arguments that registers what the package brings: `register_decoder`, `register_encoder` and, so
that statements may name the format and its options, `register_format`. It is called once in every
process that meets a format which Narrows does not know.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

GROUP = "narrows.formats"


@cache
def load_plugins() -> None:
    for entry in entry_points(group=GROUP):
        entry.load()()
