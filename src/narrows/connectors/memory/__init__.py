"""Rows that are kept, for whoever asks for them, and topics: rows from one pipeline to another.

    pipeline ──► sink, topic 't' ──► Arrow files ──► stream, topic 't' ──► another pipeline

Without a topic, rows are files in the state folder, where they survive whoever wrote them. With
one, they are Arrow files there: what a pipeline computed another one reads, without anything being
encoded or decoded on the way.

topic.py    driver: what a topic has, batch by batch, and what is still to be read
sink.py     worker: rows to files; driver: a batch becomes part of the topic
source.py   driver: the topic as a stream; tasks read its files (`formats/rows`)
"""

from __future__ import annotations

from collections.abc import Mapping

from narrows.connectors.base import (
    Connector,
    Decoding,
    RangeReader,
    SinkConnector,
    SourceConnector,
    SourceDeclaration,
)
from narrows.connectors.file import CONNECTOR as FILES
from narrows.connectors.target import SinkTarget
from narrows.plugins.options import OptionSpec
from narrows.plugins.start_at import EARLIEST, LATEST, START_AT

TOPIC = "topic"
KEPT_BYTES = "kept_bytes"


def _source(declared: SourceDeclaration) -> SourceConnector:
    from narrows.connectors.memory.source import TopicSource

    return TopicSource(declared)


def _reader(declared: SourceDeclaration, decoding: Decoding) -> RangeReader:
    from narrows.connectors.file.reader import FileReader

    return FileReader(declared, decoding)


def _sink(target: SinkTarget) -> SinkConnector:
    if TOPIC not in dict(target.options):
        return FILES.sink(target)
    from narrows.connectors.memory.sink import TopicSink

    return TopicSink(target)


def _reads_back(source: Mapping[str, object], sink: Mapping[str, object]) -> tuple[str, str] | None:
    same = sink.get(TOPIC) is not None and source.get(TOPIC) == sink[TOPIC]
    return (str(source[TOPIC]), str(sink[TOPIC])) if same else None


CONNECTOR = Connector(
    name="memory",
    source_format="rows",
    source_options=(
        OptionSpec(TOPIC, "the topic, which sinks of connector `memory` write to", required=True),
        OptionSpec(
            START_AT,
            "where a pipeline begins that reads the topic for the first time: with what is kept, or"
            " with what comes",
            default=EARLIEST,
            choices=(EARLIEST, LATEST),
        ),
        OptionSpec(
            "on_missing",
            "what becomes of rows that are gone when they are read",
            default="dead_letter",
            choices=("dead_letter", "fail"),
        ),
        OptionSpec(
            "max_bytes_per_trigger",
            "bytes that one micro-batch takes, if it is more than one batch of the topic",
            type=int,
            least=1,
        ),
    ),
    sink_options=(
        OptionSpec(TOPIC, "a topic that streams read; without it, rows are kept to be looked at"),
        OptionSpec(
            KEPT_BYTES,
            "bytes of a topic that are kept while no pipeline has begun to read it; if not given, a"
            " gigabyte",
            type=int,
            least=0,
        ),
    ),
    takes_rows=True,
    publishes_files=lambda options: TOPIC not in options,
    reads_back=_reads_back,
    identity=(TOPIC,),
    samples=True,
    guarantee=FILES.guarantee,
    source=_source,
    reader=_reader,
    sink=_sink,
)
