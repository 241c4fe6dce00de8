"""What holds between connectors and those who use them, whichever they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrows.connectors import Connector, EntryLog, find_connector
from narrows.connectors.file.sink import FileSink
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.write import write_task


def test_a_connector_has_what_it_declares() -> None:
    source = find_connector("file").source
    with pytest.raises(ValueError, match="`mine` declares what needs a source, and has none"):
        Connector(name="mine", source_options=())
    with pytest.raises(ValueError, match="`mine` declares what needs a reader, and has none"):
        Connector(name="mine", source_options=(), source=source)
    with pytest.raises(ValueError, match="`mine` declares what needs a sink, and has none"):
        Connector(name="mine", sink_options=())


def test_an_entry_is_the_same_for_whoever_wrote_it_and_whoever_reads_it(tmp_path: Path) -> None:
    log = EntryLog(tmp_path)
    number = log.append({"topic": {0: (3, 7)}})
    assert log.entry(number) == EntryLog(tmp_path).entry(number) == {"topic": {"0": [3, 7]}}


def test_where_one_sink_cannot_be_opened_the_others_keep_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    discarded = []

    class Task:
        def discard(self) -> None:
            discarded.append(self)

    opened = iter([Task()])
    monkeypatch.setattr(FileSink, "open_task", lambda self, batch, task: next(opened))
    target = SinkTarget(
        pipeline="p",
        sink="o",
        connector="file",
        format="json",
        options=(),
        parts=(RowPart("o0", "a"),),
        place=str(tmp_path),
        dead_letters=str(tmp_path),
    )
    with pytest.raises(StopIteration):
        write_task(WriteSpec((target, target)), iter([]))
    assert len(discarded) == 1


def test_letters_of_one_place_are_one_and_those_of_none_are_many(tmp_path: Path) -> None:
    letter = {"source": "s", "reason": "bad", "payload": "x"}
    for name in ("a", "b"):
        lines = [{**letter, "offset": 3}, {**letter, "offset": 4}, letter, letter]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / f"{name}.ndjson").write_text(text)
    found = list(read_dead_letters(tmp_path))
    assert [each.get("offset") for each in found] == [None] * 4 + [3, 4]
