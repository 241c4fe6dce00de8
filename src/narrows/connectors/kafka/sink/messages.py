"""Rows as messages: topic, key, payload and headers of each, a column at a time.

A row of which no message can be made, or which its topic would refuse, is set aside with the
reason; whoever sends the others can rely on it that a message by itself is no problem:

* a NULL in the text that makes the topic, the key or a header (but a key that is a column may be
  NULL: such a message goes to any partition);
* a topic that is none, or one of Kafka's or ours (`__...`): rows come from strangers;
* a message that is larger than its topic takes, by the size before compression;
* a message without a key for a topic that is compacted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from narrows.connectors.letters import RowLetters
from narrows.connectors.row_texts import RowTexts
from narrows.connectors.target import SinkTarget
from narrows.formats.base import find_format
from narrows.formats.encoder import Encoded, MessageEncoder, RowColumns, Values
from narrows.plugins.row_text import (
    Column,
    parse_column_or_text,
    parse_named_texts,
    parse_row_text,
)

TOPIC, KEY, VALUE = "topic", "key", "value"
_TOPIC_NAME = re.compile(rb"(?!__)(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_OVERHEAD = 100
"""Bytes that a message has besides its parts, at most; as many again are those of a batch."""
_PIECE_ROWS = 16_384

MESSAGE_BYTES = 1_000_000
"""What `librdkafka` sends at once, if it is not told otherwise; a larger message goes alone."""


class TopicFacts(NamedTuple):
    """What a topic takes."""

    max_bytes: int
    compacted: bool = False


FactsOf = Callable[[str], TopicFacts]


class MessageMaker:
    """Makes the messages of a task. Each batch of them has the columns `topic`, `key`, `value` and
    `h0`, `h1`, ... for the headers, all of them binary."""

    def __init__(self, target: SinkTarget, letters: RowLetters, facts_of: FactsOf) -> None:
        options = dict(target.options)
        encoder = find_format(target.format).encoder(options)
        assert isinstance(encoder, MessageEncoder), "the declaration says so"
        self._encoder = encoder
        self._target = target
        self._letters = letters
        self._facts_of = facts_of
        self._topic = RowTexts(parse_row_text(str(options["topic"])), target)
        key = parse_column_or_text(str(options["key"])) if "key" in options else None
        self._key = None if key is None else RowTexts(key, target)
        self._key_may_be_null = key is not None and [*map(type, key.pieces)] == [Column]
        headers = parse_named_texts(str(options["headers"])) if "headers" in options else {}
        self.headers = list(headers)
        self._headers = [RowTexts(text, target) for text in headers.values()]
        self.room = MESSAGE_BYTES
        """Bytes that may be sent at once: no topic that has messages takes less."""

    def messages(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for start in range(0, rows.num_rows, _PIECE_ROWS):
            yield from self._made(rows.slice(start, _PIECE_ROWS))

    def _made(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        try:
            made = self._batch(rows)
        except ValueError as error:
            if rows.num_rows == 1:
                self._letters.add(rows, str(error))
                return
            half = rows.num_rows // 2
            yield from self._made(rows.slice(0, half))
            yield from self._made(rows.slice(half))
            return
        refused = self._refused(made)
        for place, reason in sorted(refused.items()):
            self._letters.add(rows.slice(place, 1), reason)
        if refused:
            good = [place for place in range(made.num_rows) if place not in refused]
            made = made.take(pa.array(good, pa.int64()))
        if made.num_rows:
            yield made

    def _batch(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        value = self._encoder.messages(self._columns(rows)).cast(pa.binary())
        key = pa.nulls(rows.num_rows, pa.binary()) if self._key is None else self._key.of(rows)
        headers = [text.of(rows) for text in self._headers]
        names = [TOPIC, KEY, VALUE, *(f"h{place}" for place in range(len(headers)))]
        return pa.RecordBatch.from_arrays([self._topic.of(rows), key, value, *headers], names=names)

    def _columns(self, rows: pa.RecordBatch) -> RowColumns:
        columns: list[Values | Encoded] = []
        for part in self._target.parts:
            array = rows.column(part.column)
            if pa.types.is_large_string(array.type):
                array = array.cast(pa.string())
            fragment = part.fragment
            columns.append(
                Values(part.name, array) if fragment is None else Encoded(fragment, array)
            )
        return columns

    # --- what no topic takes ----------------------------------------------------------------------

    def _refused(self, made: pa.RecordBatch) -> dict[int, str]:
        """The rows that cannot be sent, and why."""
        refused: dict[int, str] = {}

        def refuse(which: pa.Array, reason: str) -> None:
            for place in pc.indices_nonzero(which.fill_null(False)).to_pylist():
                refused.setdefault(place, reason)

        topics = made.column(TOPIC)
        refuse(topics.is_null(), "its topic is NULL")
        if self._key is not None and not self._key_may_be_null:
            refuse(made.column(KEY).is_null(), "a column of its key is NULL")
        for place, name in enumerate(self.headers):
            refuse(made.column(f"h{place}").is_null(), f"a column of its header `{name}` is NULL")
        sizes = self._sizes(made)
        for topic in topics.unique().drop_null().to_pylist():
            here = pc.equal(topics, pa.scalar(topic, pa.binary()))
            if not _TOPIC_NAME.fullmatch(topic):
                shown = topic.decode("utf-8", "replace")[:300]
                refuse(here, f"`{shown}` is no topic to write to")
                continue
            facts = self._facts_of(topic.decode("ascii"))
            self.room = min(self.room, facts.max_bytes - 2 * _OVERHEAD)
            large = pc.greater(sizes, facts.max_bytes)
            if pc.any(large).as_py():
                reason = f"the message is larger than its topic takes, {facts.max_bytes} bytes"
                refuse(pc.and_(here, large), reason)
            if facts.compacted and made.column(KEY).null_count:
                refuse(pc.and_(here, made.column(KEY).is_null()), "the topic needs a key")
        return refused

    def _sizes(self, made: pa.RecordBatch) -> pa.Array:
        names = sum(len(name.encode("utf-8")) for name in self.headers)
        sizes = pa.repeat(pa.scalar(2 * _OVERHEAD + names, pa.int64()), made.num_rows)
        for column in made.columns[1:]:
            length = pc.binary_length(column).fill_null(0)
            sizes = pc.add(sizes, length.cast(pa.int64()))
        return sizes
