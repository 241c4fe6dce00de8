"""What a Kafka sink declares."""

from __future__ import annotations

import re

from narrows.connectors.base import SinkConnector
from narrows.connectors.kafka.client.settings import CONNECTION
from narrows.connectors.kafka.client.topics import topic_names
from narrows.connectors.target import SinkTarget
from narrows.plugins.declared import Guarantee, OptionMap
from narrows.plugins.options import OptionSpec
from narrows.plugins.row_text import (
    columns_of_column_or_text,
    columns_of_named_texts,
    columns_of_text,
    parse_row_text,
)

SINK_OPTIONS = (
    *CONNECTION,
    OptionSpec(
        "topic",
        "where rows go; `{column}` stands for a value of the row",
        required=True,
        columns_in=columns_of_text,
    ),
    OptionSpec(
        "key",
        "a column, or a text with `{column}`s: rows with the same key go to the same partition",
        columns_in=columns_of_column_or_text,
    ),
    OptionSpec(
        "headers",
        "headers of every message: a JSON object of texts, which may have `{column}`s",
        columns_in=columns_of_named_texts,
    ),
    OptionSpec(
        "compression",
        "how messages are compressed",
        default="lz4",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
    ),
    OptionSpec(
        "partitioner",
        "how a key chooses its partition; `murmur2_random` chooses as Java's clients do",
        default="murmur2_random",
        choices=("murmur2_random", "murmur2", "consistent_random", "consistent", "random"),
    ),
    OptionSpec(
        "exactly_once",
        "rows of a batch become visible together, and once, whatever is killed",
        type=bool,
        default=False,
    ),
    OptionSpec(
        "token_topic",
        "the compacted topic that keeps which batches are written (`exactly_once`);"
        " `__narrows_` and the pipeline's name if not given",
    ),
)


def guarantee(options: OptionMap) -> Guarantee:
    return "exactly once" if options.get("exactly_once") is True else "at least once"


def replaced_by(options: OptionMap) -> tuple[str, ...] | str:
    """A topic that is compacted keeps the last message of each key."""
    key = options.get("key")
    return "it has no `key`" if key is None else columns_of_column_or_text(str(key))


def reads_back(source: OptionMap, sink: OptionMap) -> tuple[str, str] | None:
    """Topics that are made of rows nobody knows before."""
    written = parse_row_text(str(sink["topic"])).constant
    read = str(source["topic"])
    names = topic_names(read)
    if written is None or not _brokers(source) & _brokers(sink):
        return None
    reads = written in names if names is not None else re.search(read, written) is not None
    return (read, written) if reads else None


def _brokers(options: OptionMap) -> set[str]:
    return {broker.strip() for broker in str(options["brokers"]).split(",")}


def make_sink(target: SinkTarget) -> SinkConnector:
    from narrows.connectors.kafka.client.cluster import require_library

    require_library()
    from narrows.connectors.kafka.sink.sink import KafkaSink

    return KafkaSink(target)
