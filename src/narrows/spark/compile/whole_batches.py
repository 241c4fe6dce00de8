"""What remembers rows must see all rows of a micro-batch, whatever becomes of them above.

    SELECT s.k, lag(s.a) OVER (PARTITION BY s.k) FROM s JOIN t ON s.k = t.k        -- t is empty

Spark asks for no row of the other side where a join with such a table gives none. Then what stands
below has not seen the batch, and the query ends with an error: its state was not written. So there
is a shuffle between the two, which takes all rows before the join begins, and above it a test that
is always true and not deterministic: Spark moves joins of its own making (`IN`, `EXISTS`) past
shuffles, but not past such a test.
"""

from __future__ import annotations

from narrows.logical.nodes import Node
from narrows.logical.streaming.supported import keeps_between_batches
from narrows.logical.walk import topological
from narrows.spark.sql.frame import Frame
from narrows.spark.sql.rows import select


def taken_whole(frame: Frame, node: Node) -> Frame:
    """The rows of a node, when a stream runs, as they may be joined with a table."""
    if not any(map(keeps_between_batches, topological(node))):
        return frame
    shuffled = select(["/*+ REPARTITION */ *"], frame.text)
    return frame.with_rows(select(["*"], f"({shuffled})", " WHERE spark_partition_id() >= 0"))
