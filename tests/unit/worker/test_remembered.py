"""What tasks keep of keys: keys that Spark takes to be equal, and the newest of what was kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from narrows.worker.keeping.steps import GroupsFile
from narrows.worker.remembered import distinct_rows
from narrows.worker.remembered.distinct_rows import DistinctRows
from narrows.worker.remembered.keys import as_values, kept_keys, keyed_rows
from narrows.worker.remembered.store import Merge, all_kept, find_kept, write_kept

NAN = float("nan")
_NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
_ORDER = pa.struct([pa.field("batch", pa.int64()), pa.field("row", pa.int64())])


def _table(keys: pa.Array, rows: list[int]) -> pa.Table:
    order = pa.array([{"batch": 0, "row": row} for row in rows], _ORDER)
    return pa.table({"key": keys, "order": order})


@pytest.mark.parametrize(
    ("values", "kind", "groups"),
    [
        ([0.0, -0.0, None, NAN, -NAN, 1.5, None], pa.float64(), [[0, 1], [2, 6], [3, 4], [5]]),
        ([0.0, -0.0, None, NAN, -NAN, 1.5, None], pa.float32(), [[0, 1], [2, 6], [3, 4], [5]]),
        (["a", "", None, "a"], pa.string(), [[0, 3], [1], [2]]),
        (["a", "", None, "a"], pa.large_string(), [[0, 3], [1], [2]]),
        ([b"a", b"", None, b"a"], pa.large_binary(), [[0, 3], [1], [2]]),
        ([True, False, None, True], pa.bool_(), [[0, 3], [1], [2]]),
        ([Decimal("1.50"), Decimal("1.51"), None], pa.decimal128(5, 2), [[0], [1], [2]]),
        (
            [datetime(2024, 1, 1, tzinfo=UTC), None, datetime(2024, 1, 1, tzinfo=UTC)],
            pa.timestamp("us", "Europe/Berlin"),
            [[0, 2], [1]],
        ),
    ],
    ids=str,
)
def test_rows_of_a_key_come_together(
    values: list[Any], kind: pa.DataType, groups: list[list[int]]
) -> None:
    keyed = keyed_rows(_table(pa.array(values, kind), list(range(len(values)))), ["key"], "order")
    found = [keyed.rows[first:end].tolist() for first, end in keyed.ranges()]
    assert sorted(found) == groups
    assert len(keyed.keys[0]) == len(groups)


def test_rows_of_a_key_are_in_the_order_of_their_source() -> None:
    keyed = keyed_rows(_table(pa.array(["a", "b", "a", "a"]), [7, 1, 3, 5]), ["key"], "order")
    found = [keyed.rows[first:end].tolist() for first, end in keyed.ranges()]
    assert sorted(found) == [[1], [2, 3, 0]]


@pytest.mark.parametrize(
    ("values", "kind", "kept"),
    [
        ([-0.0, None, -NAN, 1.5], pa.float64(), [0.0, None, NAN, 1.5]),
        ([-0.0, None, -NAN, 1.5], pa.float32(), [0.0, None, NAN, 1.5]),
        (["a", None], pa.large_string(), ["a", None]),
        ([b"a", None], pa.large_binary(), [b"a", None]),
        ([True, None], pa.bool_(), [True, None]),
        ([Decimal("1.50"), None], pa.decimal128(5, 2), [Decimal("1.50"), None]),
        *(
            ([_NOON, None], pa.timestamp("us", zone), [_NOON, None])
            for zone in ("UTC", "Europe/Berlin", None)
        ),
        ([timedelta(days=-1), None], pa.duration("us"), [timedelta(days=-1), None]),
        (
            [{"x": [-0.0, None, -NAN], "at": _NOON}, None, {"x": None, "at": None}],
            pa.struct([("x", pa.list_(pa.float32())), ("at", pa.timestamp("us", "Europe/Berlin"))]),
            [{"x": [0.0, None, NAN], "at": _NOON}, None, {"x": None, "at": None}],
        ),
    ],
    ids=str,
)
def test_keys_become_values_again(values: list[Any], kind: pa.DataType, kept: list[Any]) -> None:
    """As they are kept: there is one zero, and it has no sign."""
    (made,) = as_values(kept_keys([pa.array(values, kind)]), pa.schema([("key", kind)]))
    assert made.type == kind
    assert [*map(repr, made.to_pylist())] == [*map(repr, pa.array(kept, kind).to_pylist())]


def test_nested_keys_are_the_same_whatever_the_clocks_show() -> None:
    def kept(zone: str) -> list[bytes]:
        values = [{"at": [_NOON]}, {"at": [_NOON + timedelta(hours=1)]}]
        dtype = pa.struct([("at", pa.list_(pa.timestamp("us", zone)))])
        return list(kept_keys([pa.array(values, dtype)])[0].to_pylist())

    assert kept("UTC") == kept("Europe/Berlin")
    assert len(set(kept("UTC"))) == 2


def test_rows_that_come_again_are_not_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all rows of an entry would be in memory together."""
    monkeypatch.setattr(distinct_rows, "_LOOKED_AT_TOGETHER", 4)
    batches = [pa.record_batch({"k": [n % 3, 100 + n // 9, -1]}) for n in range(27)]
    needed = list(DistinctRows().needed(iter(batches)))
    found = [key for batch in needed for key in batch.column(0).to_pylist()]
    assert len(found) < 20
    assert list(dict.fromkeys(found)) == [0, 100, -1, 1, 2, 101, 102]
    nested = [pa.record_batch({"k": [{"x": 1}, {"x": 1}, {"x": 1}]})] * 3
    assert list(DistinctRows().needed(iter(nested))) == nested, "Arrow cannot compare these"


def test_rows_are_new_in_the_order_in_which_they_come() -> None:
    rows = pa.table({"k": ["c", "a", "c", "b", "a", "d"], "n": [1, None, 1, 2, None, 0]})
    keyed = keyed_rows(rows, ["k", "n"], None)
    was_there = [None if key != "b" else True for key in keyed.keys[0].to_pylist()]
    made, kept = DistinctRows().run(rows, keyed, was_there)
    assert made.to_pydict() == {"k": ["c", "a", "d"], "n": [1, None, 0]}
    assert kept == [True] * 4


def _kept(folder: Path, values: dict[str, bytes | None], due: int | None = None) -> GroupsFile:
    keys = kept_keys([pa.array(values)])
    file = write_kept(folder, keys, list(values.values()), [due] * len(values))
    assert file is not None
    return file


def _find(folder: Path, files: list[GroupsFile], *keys: str) -> list[bytes | None]:
    return find_kept(folder, files, kept_keys([pa.array(keys)]))


def test_the_newest_is_right_and_may_be_nothing(tmp_path: Path) -> None:
    files = [
        _kept(tmp_path, {"a": b"1", "b": b"1", "c": b"1"}),
        _kept(tmp_path, {"a": b"2", "b": None}),
        _kept(tmp_path, {"a": b"3", "d": b"3"}),
    ]
    wanted = [b"3", None, b"1", b"3", None]
    assert _find(tmp_path, files, "a", "b", "c", "d", "e") == wanted
    some = Merge(str(tmp_path), tuple(files[1:]), 1, 3, forgets=False).run(0, 1)
    assert some is not None
    assert some.rows == 3, "an older file has something of b"
    assert _find(tmp_path, [files[0], some], "a", "b", "c", "d", "e") == wanted
    shares = [Merge(str(tmp_path), tuple(files), 2, 3, forgets=True).run(n, 3) for n in range(3)]
    merged = [share for share in shares if share is not None]
    assert sum(share.rows for share in merged) == 3
    assert _find(tmp_path, merged, "a", "b", "c", "d", "e") == wanted


def test_what_is_due_is_found(tmp_path: Path) -> None:
    files = [
        _kept(tmp_path, {"a": b"1", "b": b"1"}, due=5),
        _kept(tmp_path, {"c": b"1"}),
        _kept(tmp_path, {"b": b"2"}, due=9),
    ]
    assert (files[0].first_end, files[0].last_end) == (5, 5)

    def due(until: int | None) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for task in range(2):
            for keys, kept in all_kept(tmp_path, files, task, 2, until):
                found |= zip(keys[0].to_pylist(), kept, strict=True)
        return found

    assert due(4) == {}
    assert due(5) == {"a": b"1"}, "b is another by now"
    assert due(9) == {"a": b"1", "b": b"2"}
    assert due(None) == {"a": b"1", "b": b"2", "c": b"1"}
