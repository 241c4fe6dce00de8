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

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from narrows.catalog.catalog import Catalog
from narrows.errors import NarrowsError
from narrows.notices import Notice
from narrows.planner import Plan, plan

if TYPE_CHECKING:
    from narrows.spark.session import Session, connect


def __getattr__(name: str) -> object:
    """`connect` and `Session`, imported when they are first used: planning needs no Spark."""
    if name in ("Session", "connect"):
        from narrows.spark import session

        return getattr(session, name)
    raise AttributeError(f"module 'narrows' has no attribute {name!r}")


try:
    __version__ = version("narrows")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = ["Catalog", "NarrowsError", "Notice", "Plan", "Session", "__version__", "connect", "plan"]
