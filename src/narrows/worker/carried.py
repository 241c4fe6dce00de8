"""What tasks must know, on its way to them: pickled once, and unpickled once in each worker.

Spark hands a task its function anew, however often the worker has run it: with 15 000 columns each
task of each micro-batch would take half a second before it did anything. So functions carry bytes,
by which a worker knows again what it has unpickled before, and what it derived from that: the
decoders' programs, which are found by identity.

**Garbage.** After every task Spark has its worker collect garbage, all of it: the collector walks
through some hundred thousand objects of the modules that are loaded, which takes longer than a
small task (nine tenths of a worker's time, where fifty pipelines run). So what has come to stay is
taken out of its sight.
"""

from __future__ import annotations

import gc
import pickle
import sys
from functools import lru_cache
from typing import Generic, TypeVar

T = TypeVar("T")

_KEPT = 128
"""More than a worker has to do with at a time: the pipelines on a shared stream, say."""


class Carried(Generic[T]):
    """A value that is bytes until somebody asks for it."""

    def __init__(self, value: T) -> None:
        self._kind: type[T] = type(value)
        self._pickled = pickle.dumps(value)

    @property
    def value(self) -> T:
        """The same object in all tasks of a worker."""
        found = _unpickled(self._pickled)
        assert isinstance(found, self._kind)
        if _IS_WORKER:
            spare_collector()
        return found


@lru_cache(maxsize=_KEPT)
def _unpickled(pickled: bytes) -> object:
    collecting = gc.isenabled()
    gc.disable()  # it would walk through half of what is made again and again
    try:
        return pickle.loads(pickled)
    finally:
        if collecting:
            gc.enable()


def _is_worker() -> bool:
    """Is this one of the processes in which Spark runs tasks, one after the other?"""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", None) == "pyspark.daemon"


_IS_WORKER = _is_worker()
_loaded = 0
"""So many modules were loaded when the collector was last spared."""


def spare_collector() -> None:
    """Has the garbage collector pass over what is there, if more modules have been loaded since it
    last did: they stay. What is garbage goes before."""
    global _loaded
    if len(sys.modules) > _loaded:
        _loaded = len(sys.modules)
        gc.collect()
        gc.freeze()
