"""The log of received payloads: what is acknowledged is on the disk, whatever happens."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from narrows.connectors.received import segments
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.log_files import LogLimits
from narrows.connectors.received.segments import segments_in
from narrows.errors import NarrowsError
from support.received import Sender, await_problem, payloads_in
from support.waiting import await_that


def test_what_is_acknowledged_is_there(tmp_path: Path) -> None:
    sender = Sender(tmp_path / "log")
    sender.put(b"a")
    sender.put(b"b", b"", b"c" * 100_000)
    sender.log.close()
    assert sender.acknowledged == [b"a", b"b", b"", b"c" * 100_000]
    assert payloads_in(tmp_path / "log") == dict(enumerate(sender.acknowledged))


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    sender = Sender(tmp_path / "log", LogLimits(sync_interval=3600))
    sender.put(b"first")  # not soon after another
    sender.send(b"a", b"b")
    sender.log.close()
    assert sender.acknowledged == [b"first", b"a", b"b"]


def test_a_log_goes_on_where_it_was(tmp_path: Path) -> None:
    for number in range(3):
        sender = Sender(tmp_path / "log")
        sender.put(b"%d" % number)
        sender.log.close()
    assert payloads_in(tmp_path / "log") == {0: b"0", 1: b"1", 2: b"2"}


def test_a_crash_at_every_byte(tmp_path: Path) -> None:
    """Whatever a crash leaves of the last write, all before it is there, and it goes on."""
    folder = tmp_path / "log"
    sender = Sender(folder)
    ends = []
    for number in range(3):
        sender.put(b"%d" % number, b"x" * number)
        ends.append(sender.log.groups()[-1].stop)
    sender.log.close()
    before, end = ends[1], ends[2]
    path = segments.segment_path(folder, 0)
    data = path.read_bytes()
    for length in range(before, end + 1):
        path.write_bytes(data[:length])
        expected = [b"0", b"", b"1", b"x", *([b"2", b"xx"] if length == end else [])]
        assert list(payloads_in(folder).values()) == expected
        if length % 8 == 0 or length > end - 8:
            again = Sender(folder)
            again.put(b"new")
            again.log.close()
            assert payloads_in(folder) == dict(enumerate([*expected, b"new"]))


def test_bytes_that_changed_are_noticed(tmp_path: Path) -> None:
    sender = Sender(tmp_path / "log")
    sender.put(b"a")
    end = sender.log.groups()[-1].stop
    sender.put(b"b")
    sender.log.close()
    path = segments.segment_path(tmp_path / "log", 0)
    data = path.read_bytes()
    for place in range(end, len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        assert payloads_in(tmp_path / "log") == {0: b"a"}


def test_segments_that_everybody_has_read_go(tmp_path: Path) -> None:
    limits = LogLimits(sync_interval=0.0, max_bytes=1 << 20)
    sender, consumers = Sender(tmp_path / "log", limits), Consumers(tmp_path / "log")
    for number in range(9):
        sender.put(b"%d" % number * 60_000)
    before = segments_in(tmp_path / "log")
    assert len(before) > 3
    sender.log.retain()
    assert segments_in(tmp_path / "log") == before, "nobody has read anything"
    consumers.begin("fast", 0)
    consumers.begin("slow", 0)
    consumers.advance("fast", 9)
    sender.log.retain()
    assert segments_in(tmp_path / "log") == before
    consumers.advance("slow", before[2])
    sender.log.retain()
    assert segments_in(tmp_path / "log") == before[2:]
    consumers.forget("slow")
    sender.log.retain()
    assert segments_in(tmp_path / "log") == before[-1:]
    sender.put(b"next")
    sender.log.close()
    assert payloads_in(tmp_path / "log")[9] == b"next"


def test_a_full_log_waits_and_drops_nothing(tmp_path: Path) -> None:
    limits = LogLimits(sync_interval=0.0, max_bytes=200_000)
    sender, consumers = Sender(tmp_path / "log", limits), Consumers(tmp_path / "log")
    consumers.begin("reader", 0)
    payloads = [bytes([number]) * 50_000 for number in range(8)]
    for payload in payloads[:3]:
        sender.put(payload)
    sender.send(*payloads[3:])
    assert "is full (`max_log_bytes` = 200000)" in await_problem(sender.log)
    assert sender.acknowledged == payloads[:3]
    seen: dict[int, bytes] = {}
    while len(seen) < len(payloads):
        seen |= payloads_in(tmp_path / "log", since=len(seen))
        consumers.advance("reader", len(seen))
        sender.log.retain()
    sender.log.close()
    assert list(seen.values()) == payloads == sender.acknowledged


def test_a_disk_that_is_full_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_full = True

    def write(file: int, data: Any, at: int) -> int:
        """Writes half of it, and then no more."""
        if is_full:
            half = bytes(data)[: len(data) // 2]
            written(file, half, at)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(file, data, at)

    sender = Sender(tmp_path / "log")
    sender.put(b"before")
    written = os.pwrite
    monkeypatch.setattr(os, "pwrite", write)
    sender.send(b"a", b"b" * 10_000)
    assert "No space left on device" in await_problem(sender.log)
    assert sender.acknowledged == [b"before"]
    assert list(payloads_in(tmp_path / "log").values()) == [b"before"]
    is_full = False
    sender.put(b"c")
    await_that(lambda: len(sender.acknowledged) == 4, "all is written")
    sender.log.close()
    expected = [b"before", b"a", b"b" * 10_000, b"c"]
    assert list(payloads_in(tmp_path / "log").values()) == sender.acknowledged == expected


def test_what_is_larger_than_the_log_is_taken_all_the_same(tmp_path: Path) -> None:
    limits = LogLimits(sync_interval=0.0, max_bytes=1_000)
    sender = Sender(tmp_path / "log", limits)
    sender.put(b"x" * 5_000)
    sender.log.close()
    assert len(payloads_in(tmp_path / "log")) == 1


def test_what_waits_can_be_forgotten(tmp_path: Path) -> None:
    limits = LogLimits(sync_interval=0.0, max_bytes=100)
    sender = Sender(tmp_path / "log", limits)
    sender.put(b"a")
    sender.send(b"b", b"c")
    await_problem(sender.log)
    sender.log.forget_waiting(lambda ticket: ticket == b"b")
    Consumers(tmp_path / "log").begin("reader", 1)
    sender.put(b"d")  # and so `c` was acknowledged before it
    sender.log.close()
    assert sender.acknowledged == [b"a", b"c", b"d"]


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    sender = Sender(tmp_path / "log")
    with pytest.raises(NarrowsError, match="somebody else writes"):
        Sender(tmp_path / "log")
    sender.log.close()
    Sender(tmp_path / "log").log.close()


def test_numbers_are_never_given_twice(tmp_path: Path) -> None:
    """Not even when the files are gone: what was read under a number stays read."""
    Consumers(tmp_path / "log").begin("reader", 17)
    sender = Sender(tmp_path / "log")
    sender.put(b"a")
    sender.log.close()
    assert payloads_in(tmp_path / "log") == {17: b"a"}
    Consumers(tmp_path / "log").advance("reader", 40)
    sender = Sender(tmp_path / "log")
    sender.put(b"b")
    sender.log.close()
    assert payloads_in(tmp_path / "log") == {17: b"a", 40: b"b"}


def test_a_segment_that_does_not_begin_as_it_should(tmp_path: Path) -> None:
    sender = Sender(tmp_path / "log")
    sender.log.close()
    segments.segment_path(tmp_path / "log", 0).write_bytes(b"nonsense")
    with pytest.raises(NarrowsError, match="does not begin as it should"):
        Sender(tmp_path / "log")
