"""A pipeline on shared streams: how it is run depends on whether it keeps state."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from narrows.files.names import file_name
from narrows.logical.nodes import DecodedSource
from narrows.logical.walk import topological
from narrows.physical.execution import ExecutionMode, rows_of
from narrows.shared.registry import TASKS, TASKS_SUFFIX, consumers_of
from narrows.spark.compile.plan import compile_plan, is_planned_once
from narrows.spark.running.running import Phase
from narrows.spark.shared.group_member import Member, member_source, written
from narrows.spark.shared.reads import Reads, SharedReads
from narrows.spark.shared.streams import SharedStreams
from narrows.spark.streaming.pipeline import PipelineQuery
from narrows.spark.write.sink_frame import copied_from, sink_frame
from narrows.worker.read_spec import ReadSpec


def shared_phases(
    streams: SharedStreams, pipeline: PipelineQuery
) -> tuple[SharedReads, list[Phase]]:
    """The pipeline, compiled and ready to be started: what it reads, and what runs one after the
    other."""
    # A pipeline may read a stream twice, to join it with itself: then it is two consumers.
    nodes = topological(pipeline.plan.physical)
    shared = [node for node in nodes if isinstance(node, DecodedSource) and node.source.shared]
    reads = {
        node.relation.id: Reads(streams.stream(node.source), consumer, node.decode_projection)
        for node, consumer in zip(shared, consumers_of(pipeline.name, len(shared)), strict=True)
    }

    def place(node: DecodedSource, spec: ReadSpec) -> ReadSpec:
        read = reads[node.relation.id]
        return read.stream.read_by(read.consumer, spec)

    pipeline = replace(pipeline, place_shared=place)
    if pipeline.mode is ExecutionMode.GROUPED:
        (read,) = reads.values()
        joins = SharedReads(pipeline.name, [read], _member(pipeline, read))
        return joins, [lambda previous: joins.join_group()]
    phases, alone = pipeline.phases(), SharedReads(pipeline.name, list(reads.values()))
    waits: list[Phase] = [lambda previous: alone.await_decoded()] if pipeline.pace.once else []
    return alone, [*waits, *phases]


def _member(pipeline: PipelineQuery, read: Reads) -> Member:
    """The pipeline as a member of its stream's group."""
    context, name, write = pipeline.context, pipeline.name, pipeline.write
    tasks = read.stream.folder / TASKS / f"{file_name(name)}{TASKS_SUFFIX}"
    tasks.parent.mkdir(parents=True, exist_ok=True)
    plain = copied_from(pipeline.plan)
    if plain is not None:
        spec = read.stream.read_by(read.consumer, plain.spec)
        return Member(
            name,
            write,
            spec,
            tasks,
            published=pipeline.written,
            is_quick=pipeline.plan.low_latency and not pipeline.pace.once,
            is_planned_once=True,
        )

    physical = pipeline.plan.physical

    def computed(partitions: int) -> DataFrame:
        def open_member(node: DecodedSource, spec: ReadSpec) -> DataFrame:
            placed = read.stream.read_by(read.consumer, spec)
            return member_source(context.spark, placed, tasks, partitions)

        rows = compile_plan(rows_of(physical), context.spark, open_member)
        return written(sink_frame(pipeline.plan, rows), name, write, tasks)

    once = is_planned_once(rows_of(physical))
    member = Member(name, write, computed, tasks, published=pipeline.written, is_planned_once=once)
    member.frame(1)  # what Spark will not take is said before anything starts
    return member
