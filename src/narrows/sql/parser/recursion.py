"""Room for queries that nest deeply, while they are parsed and planned."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from narrows.errors import Code, fail

_RECURSION_LIMIT = 10_000

_planning = threading.Lock()
_planners = 0
_found: tuple[int, bool] = (0, False)
"""How many threads are inside `deep_recursion`, and what the first of them found."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for queries that nest deeply, and a clear error for those that nest without end.

    sqlglot takes some 20 Python frames for a pair of parentheses, so Python's usual limit would
    refuse what people do write. The garbage collector rests meanwhile: a query of 15 000 columns is
    half a million small objects, none of them garbage, which it would walk through again and again.

    Both are settings of the process: the first thread that comes in changes them, the last one that
    leaves puts them back.
    """
    global _planners, _found
    with _planning:
        if _planners == 0:
            _found = sys.getrecursionlimit(), gc.isenabled()
            sys.setrecursionlimit(max(_found[0], _RECURSION_LIMIT))
            gc.disable()
        _planners += 1
    try:
        yield
    except RecursionError:
        raise fail(Code.NESTED_TOO_DEEPLY, "the query is nested too deeply to be planned") from None
    finally:
        with _planning:
            _planners -= 1
            if _planners == 0:
                sys.setrecursionlimit(_found[0])
                if _found[1]:
                    gc.enable()
