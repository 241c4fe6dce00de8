"""Whether a job reads its entry whenever it is run, as Spark's own plan says."""

from __future__ import annotations

from narrows.spark.read.entry_source import is_read_in_place

BROADCAST = """== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
+- MapInArrow write(o0#5L)#6, [written#7, batch#8L], false
   +- Project [c0_0#2L AS o0#5L]
      +- BroadcastHashJoin [c0_0#2L], [c1_0#3L], Inner, BuildRight, false
         :- MapInArrow read_entry_rows(id#0L)#1, [c0_0#2L], false
         :  +- Range (0, 1, step=1, splits=1)
         +- BroadcastExchange HashedRelationBroadcastMode(List(input[0, bigint, true]),false)
            +- MapInArrow read(id#9L)#10, [c1_0#3L], false
               +- Range (0, 1, step=1, splits=1)
"""
MERGED = """== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
+- SortMergeJoin [c0_0#2L], [c1_0#3L], Inner
   :- Sort [c0_0#2L ASC NULLS FIRST], false, 0
   :  +- Exchange hashpartitioning(c0_0#2L, 2), ENSURE_REQUIREMENTS, [plan_id=25]
   :     +- MapInArrow read_entry_rows(id#0L)#1, [c0_0#2L], false
   +- Sort [c1_0#3L ASC NULLS FIRST], false, 0
      +- MapInArrow read(id#9L)#10, [c1_0#3L], false
"""


def test_what_is_broadcast_beside_the_entry_leaves_it_alone() -> None:
    assert is_read_in_place(BROADCAST)


def test_what_is_shuffled_or_broadcast_itself_does_not() -> None:
    assert not is_read_in_place(MERGED)
    other_way_round = BROADCAST.replace("read(", "read_entry_rows(")
    assert not is_read_in_place(other_way_round)


def test_what_cannot_be_seen_is_not_believed() -> None:
    assert not is_read_in_place(BROADCAST.replace("read_entry_rows", "something"))
    assert not is_read_in_place("")
