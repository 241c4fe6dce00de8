"""The values that join filters test by: queries for Spark or, in a stream, what its tasks read.

    SELECT collect_list(keys) FROM (a row for each task that reads supplier: a list of its keys)
    SELECT map_from_entries(collect_list(struct(task, rows))) FROM (the same, its rows in one value)

The second is for a reader that is to be read once: the plan's own tasks ask for it as well.

Groups that a subquery has chosen are asked for as they are, in one list. Those few are shuffled
once more: Spark finds the same shuffle here and where the subquery stands, and so makes the groups
once. (It would find the one below the aggregation otherwise, and fold what is in it each time.)

The tasks that give the keys test by those of others in the same way, so such queries stand in each
other (`spark/read/table.py`). The other side of a join may have got rows since, which would find
no partner here; so what the plan itself reads of the giver is looked up first, and the keys are
those of at least as many rows.

In a stream such a query would be a job in every micro-batch. Its tables are small, so the tasks
that read the stream read them by themselves (`worker/table_keys.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.expressions.nodes import Expr
from narrows.logical.nodes import Node
from narrows.logical.walk import topological
from narrows.physical.join_filters import Keys
from narrows.physical.nodes import PhysicalReader
from narrows.spark.read.reader import key_spec, leaf_place
from narrows.spark.read.shipped import key_type
from narrows.spark.read.table import handed_on
from narrows.spark.sql.rows import SparkRows, SqlText, select
from narrows.worker.keys.handed_rows import HandsOn
from narrows.worker.keys.key_sets import MOST_KEYS
from narrows.worker.read_spec import Gathered, KeyValues, ReadSpec
from narrows.worker.table_keys import TableKeys

if TYPE_CHECKING:
    from narrows.spark.compile.plan import Compiler

MOST_BYTES = 16 << 20
"""Of rows that are handed on: they go through the driver, and to all tasks that test by them."""


def keys_asked(plan: Node) -> Mapping[int, Sequence[Expr]]:
    """The leaves by whose values some reader tests, by the reader or the subquery that has them."""
    asked: dict[int, dict[Expr, None]] = {}
    readers = [node for node in topological(plan) if isinstance(node, PhysicalReader)]
    pending = [made.keys for reader in readers for made in reader.join_filters]
    while pending:
        keys = pending.pop()
        asked.setdefault(keys.relation, {})[keys.of] = None
        pending.extend(made.keys for made in keys.filters)
    return {relation: list(leaves) for relation, leaves in asked.items()}


def key_values(compiler: Compiler, node: PhysicalReader) -> Sequence[KeyValues]:
    """For each of a reader's join filters where it has its values from."""
    if compiler.runs and not node.source.bounded:
        return [KeyValues(_table(compiler, made.keys)) for made in node.join_filters]
    return [_query(compiler, made.keys) for made in node.join_filters]


def handed_by(asked: Sequence[Expr], node: PhysicalReader, spec: ReadSpec) -> HandsOn | None:
    """What a reader hands on which is asked for these keys; None if it hands on nothing."""
    places = sorted({leaf_place(node, spec.projection, leaf) for leaf in asked})
    are_shipped = all(place < len(spec.names) for place in places)
    return HandsOn(tuple(places), MOST_BYTES) if node.is_read_once and are_shipped else None


def _table(compiler: Compiler, keys: Keys) -> TableKeys:
    reader = compiler.readers[keys.relation]
    compiler.frame(reader)
    tests = [KeyValues(_table(compiler, made.keys)) for made in keys.filters]
    return TableKeys(key_spec(reader, keys, tests))


def _query(compiler: Compiler, keys: Keys) -> KeyValues:
    if keys.relation not in compiler.readers:
        return KeyValues(_of_subquery(compiler, keys))
    reader = compiler.readers[keys.relation]
    compiler.frame(reader)
    spec = compiler.reader_spec(reader)
    if spec.hands_on is not None:
        rows = SparkRows(
            compiler.views, compiler.open_source(reader, replace(spec, gathers=Gathered.ROWS))
        )
        place = leaf_place(reader, spec.projection, keys.of)
        return KeyValues(handed_on(rows.text), spec.hands_on, place)
    spec = key_spec(reader, keys, [_query(compiler, made.keys) for made in keys.filters])
    rows = SparkRows(compiler.views, compiler.open_source(reader, spec))
    return KeyValues(select(["collect_list(keys)"], rows.text))


def _of_subquery(compiler: Compiler, keys: Keys) -> SqlText:
    rows = compiler.frame(compiler.subqueries[keys.relation].subplan)
    key = f"CAST({compiler.sql(rows).text(keys.of)} AS {key_type(keys.of.dtype).sql()}) AS keys"
    some = select([key], rows.text, f" LIMIT {MOST_KEYS + 1}")  # and so many are as good as none
    return select(["array(collect_list(keys))"], f"({some})")
