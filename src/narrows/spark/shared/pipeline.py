"""A pipeline on shared streams: how it is run depends on whether it keeps state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from narrows.explain.plan import Plan
from narrows.files.names import file_name
from narrows.logical.nodes import Decoded
from narrows.logical.walk import topological
from narrows.shared.registry import consumers_of
from narrows.spark.compile.closed_windows import Streamed
from narrows.spark.compile.plan import OpenSource
from narrows.spark.shared.group_member import Member, copied, member_source, written
from narrows.spark.shared.log_source import LogSpec, NarrowsLog
from narrows.spark.shared.query import Reads, SharedQuery, Then
from narrows.spark.streaming.feed import Query
from narrows.spark.write.sink_frame import copied_from
from narrows.worker.carried import Carried
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write_spec import WriteSpec

if TYPE_CHECKING:
    from narrows.spark.session import Session


def reads_shared(plan: Plan) -> bool:
    return any(node.source.shared for node in _sources(plan))


def is_stateless(plan: Plan) -> bool:
    """Could every micro-batch be computed without knowing of any other?"""
    nodes = topological(plan.physical)
    return len(_sources(plan)) == 1 and not any(node.keeps_state for node in nodes)


def shared_query(
    session: Session,
    pipeline: str,
    plan: Plan,
    *,
    for_sinks: Callable[[DataFrame], DataFrame],
    write: WriteSpec,
    streamed: Callable[[OpenSource], Streamed],
    start: Callable[[Streamed], Query],
    closing: Callable[[OpenSource], Then | None] | None,
) -> SharedQuery:
    """The pipeline, compiled and ready to be started.

    `for_sinks` makes of its rows what its sinks take, `start` starts a streaming query of it, and
    `closing` closes its windows when that query has come to its end.
    """
    # A pipeline may read a stream twice, to join it with itself: then it is two consumers.
    shared = [node for node in _sources(plan) if node.source.shared]
    names = consumers_of(pipeline, len(shared))
    reads = {
        id(node): Reads(session.shared.stream(node.source), name, node.decode_projection)
        for node, name in zip(shared, names, strict=True)
    }

    def log_spec(node: Decoded, spec: ReadSpec) -> LogSpec:
        read = reads[id(node)]
        return LogSpec(str(read.stream.folder), read.consumer, session.placed(node.source, spec))

    if is_stateless(plan):
        (read,) = reads.values()
        tasks = read.stream.folder / "tasks" / f"{file_name(pipeline)}.json"
        tasks.parent.mkdir(parents=True, exist_ok=True)

        def computed(partitions: int) -> DataFrame:
            def open_member(node: Decoded, spec: ReadSpec) -> DataFrame:
                return member_source(session.spark, log_spec(node, spec), tasks, partitions)

            rows = session.compile(plan, streaming=True, pipeline=pipeline, open_shared=open_member)
            return written(for_sinks(rows), pipeline, write)

        plain = copied_from(plan)
        if plain is None:
            computed(1)  # what Spark will not take is said before anything starts
            member = Member(pipeline, write, computed, tasks)
        else:
            log = log_spec(plain.node, plain.spec)
            member = Member(
                pipeline,
                write,
                lambda partitions: copied(session.spark, log, tasks, partitions, pipeline, write),
                tasks,
            )
        return SharedQuery(session.shared, pipeline, [read], member=member)

    def open_log(node: Decoded, spec: ReadSpec) -> DataFrame:
        option = Carried(log_spec(node, spec)).to_option()
        return session.spark.readStream.format(NarrowsLog.name()).option("spec", option).load()

    stream = streamed(open_log)
    return SharedQuery(
        session.shared,
        pipeline,
        list(reads.values()),
        start=lambda: start(stream),
        then=None if closing is None else closing(open_log),
    )


def _sources(plan: Plan) -> list[Decoded]:
    return [node for node in topological(plan.physical) if isinstance(node, Decoded)]
