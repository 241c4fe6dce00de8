"""Narrows: streaming SQL on Apache Spark that reads, decodes, ships and encodes only what is used.

>>> import narrows
>>> catalog = narrows.Catalog()
>>> _ = catalog.execute('''
...     CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
...     WITH (connector = 'file', path = 'data/s')
... ''')
>>> print(narrows.plan("SELECT a, b->c FROM s", catalog).explain("logical"))
Logical Plan
- id               | info
  Project_1        | fields=[s.a; s.b->c]
  └─DataSource_0   | source=s, decoder=json, schema=[a, b{c}], decodes=2 of 3 leaves
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from narrows.errors import NarrowsError
    from narrows.explain.plan import Plan
    from narrows.notices import Notice
    from narrows.planner.catalog import Catalog
    from narrows.planner.query import plan
    from narrows.service.client import Client
    from narrows.service.connect import connect
    from narrows.spark.run.run import Run
    from narrows.spark.session import Session

_HOMES = {
    "Catalog": "narrows.planner.catalog",
    "Client": "narrows.service.client",
    "NarrowsError": "narrows.errors",
    "Notice": "narrows.notices",
    "Plan": "narrows.explain.plan",
    "Run": "narrows.spark.run.run",
    "Session": "narrows.spark.session",
    "connect": "narrows.service.connect",
    "plan": "narrows.planner.query",
}


def __getattr__(name: str) -> object:
    """Public names, imported when they are first used.

    Planning needs no Spark; and Spark's workers, of which every micro-batch starts some, need no
    planner.
    """
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("narrows")
        except PackageNotFoundError:  # run from a source tree that was never installed
            return "0.0.0"
    raise AttributeError(f"module 'narrows' has no attribute {name!r}")


__all__ = [
    "Catalog",
    "Client",
    "NarrowsError",
    "Notice",
    "Plan",
    "Run",
    "Session",
    "__version__",
    "connect",
    "plan",
]
