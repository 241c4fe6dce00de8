"""Which sources would read what a sink writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.errors import Code, NarrowsError
from narrows.files.overlap import overlap
from narrows.planner.catalog import Catalog

SAME = [
    ("data", "data"),
    ("data/", "./data"),
    ("data/*", "data"),
    ("data/out/*.json", "data/out"),
    ("data/out/../out", "data/x/../out"),
    ("data/out/below", "data/out"),
    ("data/**", "data"),
    ("data/**", "data/out"),
    ("data/**", "data/out/deep/er"),
    ("data/**/*.json", "data/out"),
    ("**", "data/out"),
    ("data/*", "data/out"),  # a folder that matches is the files in it
    ("data/o*", "data/out"),
    ("data/*/*.json", "data/out"),
    ("data/**/deep/*", "data/out/deep"),
    ("link", "data/out"),
    ("link/*.json", "data/out"),
    ("data/out", "link"),
    ("data/**", "link"),
    ("data/day[1]", "data/day[1]"),
    ("file://{cwd}/data/out", "data/out"),
    ("file:{cwd}/data/**", "{cwd}/data/out"),
]
APART = [
    ("data/in", "data/out"),
    ("data", "data/out"),
    ("data/out", "data/output"),
    ("data/*.json", "data/out/deep"),
    ("data/in/**", "data/out"),
    ("data/**", "other"),
    ("data/**", "data/_out"),
    ("data/**", "data/.out/x"),
    ("data/[ij]n/*", "data/out"),
    ("data/*/x/*", "data/out"),
    ("data/**/deep/*", "data/out"),
    ("data/day[1]", "data/day1"),
]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "out").mkdir(parents=True)
    (tmp_path / "data" / "day[1]").mkdir()
    (tmp_path / "link").symlink_to("data/out")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("source", "sink", "expected"),
    [*((*pair, True) for pair in SAME), *((*pair, False) for pair in APART)],
)
def test_overlap(source: str, sink: str, expected: bool, tmp_path: Path) -> None:
    source, sink = source.replace("{cwd}", str(tmp_path)), sink.replace("{cwd}", str(tmp_path))
    assert overlap(source, sink) is expected


def test_folders_need_not_be_there() -> None:
    assert overlap("new/**", "new/out")
    assert not overlap("new", "new/out")


def catalog(source: str, sink: str) -> Catalog:
    made = Catalog()
    made.execute(
        f"""
        CREATE STREAM s (a INT) WITH (connector = 'file', path = '{source}');
        CREATE SINK out WITH (connector = 'file', path = '{sink}');
        CREATE SINK other WITH (connector = 'file', path = '{sink}');
        CREATE SINK copy WITH (connector = 'memory');
        CREATE PIPELINE p INTO copy, out, other AS SELECT a FROM s;
        """
    )
    return made


def test_a_pipeline_that_would_read_what_it_writes_is_refused() -> None:
    with pytest.raises(NarrowsError) as caught:
        catalog("data/**", "data/out")
    assert caught.value.code is Code.READS_ITS_OUTPUT
    message = caught.value.problems[0].message
    assert "stream `s` reads `data/**`, sink `out` writes to `data/out`" in message


def test_neither_may_be_replaced_so_that_it_would() -> None:
    made = catalog("data/in", "data/out")
    for statement in (
        "CREATE OR REPLACE STREAM s (a INT) WITH (connector = 'file', path = 'link')",
        "CREATE OR REPLACE SINK out WITH (connector = 'file', path = 'data/in')",
    ):
        with pytest.raises(NarrowsError, match="would read what it writes") as caught:
            made.execute(statement)
        assert caught.value.code is Code.OBJECT_IN_USE


def test_what_is_on_another_file_system_is_refused_when_it_is_read() -> None:
    assert catalog("s3a://bucket/in", "data/out").pipelines
