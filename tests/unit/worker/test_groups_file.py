"""Files of groups: read as they were written, and told by name where they are damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from narrows.arrow.key_hash import key_hashes
from narrows.errors import NarrowsError
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.projection.values import ColumnValue
from narrows.schema import BIGINT, STRING
from narrows.worker.keeping.groups_file import BUCKETS, GroupsWriter, OpenGroups
from narrows.worker.keeping.steps import GroupsFile, Step, StepLog
from narrows.worker.windows.cut import ends_of
from narrows.worker.windows.fixed import FixedCut

_WHAT = PartialAggregation(
    keys=((ColumnValue(0), STRING),),
    folds=(Fold(FoldKind.COUNT, None, BIGINT),),
    names=("k", "n"),
)
_KEYS = [f"key-{place}" for place in range(1_000)]


def _written(folder: Path, *, searched: bool = False) -> GroupsFile:
    ends = ends_of(_WHAT, FixedCut(10, 10))
    writer = GroupsWriter(str(folder), 1, ends, searched=searched)
    for first in range(0, len(_KEYS), 300):
        keys = _KEYS[first : first + 300]
        places = pa.array([place % 5 * 10 for place in range(len(keys))], pa.int64())
        counts = pa.array(range(first, first + len(keys)), pa.int64())
        writer.add(pa.table([keys, places, counts], ["k", "place0", "n"]))
    file = writer.finish()
    assert file is not None
    return file


@pytest.mark.parametrize("searched", [False, True])
def test_each_key_is_in_one_bucket(tmp_path: Path, searched: bool) -> None:
    files = [_written(tmp_path, searched=searched), _written(tmp_path, searched=searched)]
    assert [(file.rows, file.first_end, file.last_end) for file in files] == [(1_000, 10, 50)] * 2
    groups, found = OpenGroups(str(tmp_path), files), []
    for first in range(0, BUCKETS, 16):
        parts = list(groups.some(range(first, first + 16), 100))
        seen = [key for part in parts for key in part.column("k").to_pylist()]
        assert all(seen.count(key) == 2 for key in seen), "of each file"
        found += seen
    assert sorted(found) == sorted(_KEYS * 2)


def test_few_keys_are_found_among_many(tmp_path: Path) -> None:
    files = [_written(tmp_path, searched=True), _written(tmp_path, searched=True)]
    groups = OpenGroups(str(tmp_path), files)
    wanted = ["key-7", "key-999", "nobody", "key-7"]
    found = groups.having(key_hashes([pa.array(wanted)], len(wanted)))
    assert [sorted(each.column("k").to_pylist()) for each in found] == [["key-7", "key-999"]] * 2
    assert [each.num_rows for each in groups.having(key_hashes([pa.array(["no"])], 1))] == [0, 0]


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [Path.unlink, _shorten, _flip], ids=lambda f: f.__name__)
@pytest.mark.parametrize("searched", [False, True])
def test_a_damaged_file_is_told_by_its_name(
    tmp_path: Path, damage: Callable[[Path], None], searched: bool
) -> None:
    file = _written(tmp_path, searched=searched)
    damage(tmp_path / file.name)
    with pytest.raises(NarrowsError) as told:
        OpenGroups(str(tmp_path), [file])
    assert file.name in str(told.value)


@pytest.mark.parametrize("damage", [Path.unlink, _shorten, _flip], ids=lambda f: f.__name__)
def test_a_damaged_step_is_told_by_its_name(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    log = StepLog(tmp_path)
    for number in range(2):
        log.write(Step(number, number, watermark=number))
    damage(tmp_path / "steps" / "1.json")
    with pytest.raises(NarrowsError) as told:
        log.before(2)
    assert str(tmp_path) in str(told.value)


def test_steps_that_do_not_belong_to_the_checkpoint_are_refused(tmp_path: Path) -> None:
    log = StepLog(tmp_path)
    with pytest.raises(NarrowsError, match="belong together"):
        log.before(3)
    log.write(Step(0, 0))
    assert log.before(0) == (Step(), Step(0, 0)), "once more"
    assert log.before(1) == (Step(0, 0), None)
    with pytest.raises(NarrowsError, match="belong together"):
        log.before(2)
