"""Payloads that come twice are written once, as far back as they are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows import Catalog
from narrows.connectors.base import SourceDeclaration
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.dedupe import Dedupe
from narrows.connectors.received.keys import ID
from narrows.connectors.received.log_files import LogLimits
from narrows.connectors.received.segments import segments_in
from narrows.errors import NarrowsError
from narrows.sql.scope import Name
from support.received import QUICK, Sender, payloads_in


def dedupe(by: str, last: int = 100, format: str = "json") -> Dedupe:
    catalog = Catalog()
    catalog.execute(
        "CREATE STREAM s (id BIGINT, site STRING, more STRUCT<id: STRING, at: TIMESTAMP>) WITH"
        f" (connector = 'http', dedupe_by = '{by}', dedupe_last = {last})"
        if format == "json"
        else f"CREATE STREAM s (id BIGINT, site STRING) WITH (connector = 'http', format = 'csv',"
        f" dedupe_by = '{by}', dedupe_last = {last})"
    )
    found = catalog.find_source(Name("s", None))
    declared = SourceDeclaration("s", found.format, found.options, schema=found.schema)
    made = Dedupe.of(declared)
    assert made is not None
    return made


def sender(folder: Path, last: int = 100, limits: LogLimits = QUICK) -> Sender:
    made = dedupe("id", last)
    return Sender(folder, limits, remembers={ID: made.last}, identify=made.ids())


def test_ids_are_what_columns_say() -> None:
    ids = dedupe("ID, more.id").ids()
    one, same, other, null, bad = ids(
        [
            b'{"id": 1, "more": {"id": "a"}}',
            b'{"more": {"at": "2026-01-01", "id": "a"}, "site": "x", "id": 1}',
            b'{"id": 1, "more": {"id": "b"}}',
            b'{"id": 1, "more": {}}',
            b'{"id": 1, "more',
        ]
    )
    assert one == same
    assert one is not None
    assert other not in (None, one)
    assert null is bad is None
    assert dedupe("id").ids()([b'{"id": 1}']) != dedupe("more.id").ids()([b'{"id": 1}'])


def test_ids_of_another_format() -> None:
    one, other, same = dedupe("site", format="csv").ids()([b"1,a", b"1,b", b"2,a"])
    assert one == same != other


def test_a_payload_is_written_once(tmp_path: Path) -> None:
    log = sender(tmp_path / "log")
    first = [b'{"id": 1}', b'{"id": 2}', b'{"id": 1, "site": "again"}', b"{}", b"{}"]
    log.put(*first)
    log.put(b'{"id": 2, "site": "later"}', b'{"id": 3}', b"no JSON", b"no JSON")
    log.log.close()
    expected = [b'{"id": 1}', b'{"id": 2}', b"{}", b"{}", b'{"id": 3}', b"no JSON", b"no JSON"]
    assert list(payloads_in(tmp_path / "log").values()) == expected
    assert len(log.acknowledged) == 9, "what is left out is acknowledged, too"


def test_ids_are_known_after_a_restart(tmp_path: Path) -> None:
    for number in range(3):
        log = sender(tmp_path / "log")
        log.put(b'{"id": 1}', b'{"id": %d}' % (10 + number))
        log.log.close()
    assert len(payloads_in(tmp_path / "log")) == 4


def test_ids_are_known_when_their_payloads_are_gone(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    limits = LogLimits(sync_interval=0.0, max_bytes=20_000)
    log, consumers = sender(folder, limits=limits), Consumers(folder)
    consumers.begin("reader", 0)
    for number in range(40):
        log.put(b'{"id": %d, "site": "%s"}' % (number, b"x" * 1_000))
        consumers.advance("reader", number + 1)
        log.log.retain()
    assert segments_in(folder)[0] > 0
    log.log.close()
    log = sender(folder, limits=limits)
    log.put(*(b'{"id": %d}' % number for number in range(41)))
    log.log.close()
    assert list(payloads_in(folder, since=40).values()) == [b'{"id": 40}']


def test_only_the_last_ids_are_known(tmp_path: Path) -> None:
    log = sender(tmp_path / "log", last=3)
    for number in (1, 2, 3, 4, 2, 1):
        log.put(b'{"id": %d}' % number)
    log.log.close()
    found = [int(payload[7:-1]) for payload in payloads_in(tmp_path / "log").values()]
    assert found == [1, 2, 3, 4, 1]


def test_a_log_that_had_no_ids_gets_some(tmp_path: Path) -> None:
    plain = Sender(tmp_path / "log")
    plain.put(b'{"id": 1}')
    plain.log.close()
    log = sender(tmp_path / "log")
    log.put(b'{"id": 1}', b'{"id": 1}')
    log.log.close()
    assert len(payloads_in(tmp_path / "log")) == 2, "nobody knew that of the first"


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("idd", "column `idd` is not in the schema"),
        ("more", "column `more` is STRUCT"),
        ("more.idd", "column `more.idd` is not in the schema"),
        ("id.x", "column `id.x` is not in the schema"),
        ("", "column `` is not in the schema"),
        ("id,", "column `` is not in the schema"),
        ("_received_at", "column `_received_at` is not in the schema"),
    ],
)
def test_columns_that_are_not_there(by: str, message: str) -> None:
    with pytest.raises(NarrowsError, match=message):
        dedupe(by)
