"""Rows as messages: topic, key, payload and headers of each, a column at a time.

What is set aside, beside rows that cannot be encoded (`connectors/row_messages.py`):

* a NULL in the text that makes the topic, the key or a header (but a key that is a column may be
  NULL: such a message goes to any partition);
* a topic that is none, or one of Kafka's or ours (`__...`): rows come from strangers;
* a message that is larger than its topic takes, by the size before compression;
* a message without a key for a topic that is compacted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from narrows.connectors.letters import RowLetters
from narrows.connectors.row_messages import Refuse, RowMessages
from narrows.connectors.row_texts import RowTexts
from narrows.connectors.target import SinkTarget
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

MESSAGE_BYTES = 1_000_000
"""What `librdkafka` sends at once, if it is not told otherwise; a larger message goes alone."""


class TopicFacts(NamedTuple):
    """What a topic takes."""

    max_bytes: int
    compacted: bool = False


FactsOf = Callable[[str], TopicFacts]


class MessageMaker(RowMessages):
    """Makes the messages of a task. Each batch of them has the columns `topic`, `key`, `value` and
    `h0`, `h1`, ... for the headers, all of them binary."""

    def __init__(self, target: SinkTarget, letters: RowLetters, facts_of: FactsOf) -> None:
        super().__init__(target, letters)
        options = dict(target.options)
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

    def make(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        value = self.payloads(rows)
        key = pa.nulls(rows.num_rows, pa.binary()) if self._key is None else self._key.of(rows)
        headers = [text.of(rows) for text in self._headers]
        names = [TOPIC, KEY, VALUE, *(f"h{place}" for place in range(len(headers)))]
        return pa.RecordBatch.from_arrays([self._topic.of(rows), key, value, *headers], names=names)

    def check(self, made: pa.RecordBatch, refuse: Refuse) -> None:
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

    def _sizes(self, made: pa.RecordBatch) -> pa.Array:
        names = sum(len(name.encode("utf-8")) for name in self.headers)
        sizes = pa.repeat(pa.scalar(2 * _OVERHEAD + names, pa.int64()), made.num_rows)
        for column in made.columns[1:]:
            length = pc.binary_length(column).fill_null(0)
            sizes = pc.add(sizes, length.cast(pa.int64()))
        return sizes
