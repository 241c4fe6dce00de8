"""`narrows.connect`: a session of one's own, or a service that runs somewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, overload

from narrows.errors import Code, fail
from narrows.service.client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from narrows.planner.catalog import Catalog
    from narrows.spark.session import Session


@overload
def connect(
    spark: SparkSession | None = None,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    state: str | Path = ".narrows",
    pruning: bool = True,
    catalog: Catalog | None = None,
) -> Session: ...


@overload
def connect(*, server: str, token: str | None = None) -> Client: ...


def connect(
    spark: SparkSession | None = None,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    state: str | Path = ".narrows",
    pruning: bool = True,
    catalog: Catalog | None = None,
    server: str | None = None,
    token: str | None = None,
) -> Session | Client:
    """A session on an embedded Spark, on `master`, or on a Spark session of yours.

    `state` is the folder of checkpoints and dead letters. `pruning=False` decodes everything.

    With `server`, the address of a service (`narrows serve`), a client of it: no Spark is started
    here. `token` is what the service wants to see, `NARROWS_TOKEN` if not given.
    """
    if server is not None:
        if spark is not None or catalog is not None or master is not None or conf is not None:
            raise fail(Code.INVALID_OPTION, "a service has its own Spark and its own catalog")
        return Client(server, token=token)
    from narrows.spark.session import connect as connect_here

    return connect_here(
        spark, master=master, conf=conf, state=state, pruning=pruning, catalog=catalog
    )
