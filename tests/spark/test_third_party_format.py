"""The package that docs/encoding.md shows, as its author and its user would have it: built as a
wheel, installed into an environment of its own, and loaded there by the driver and the workers."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path

from support.environments import environment, run_in
from support.packages import build_wheel

DOC = Path(__file__).parents[2] / "docs" / "encoding.md"

SQL = """
CREATE STREAM events (id BIGINT, kind STRING, price DOUBLE)
WITH (connector = 'file', path = 'in', format = 'pairs');
CREATE SINK out WITH (connector = 'file', path = 'out', format = 'pairs', separator = ' ');
CREATE PIPELINE computed INTO out AS SELECT id + 1 AS next, upper(kind) AS kind FROM events;
CREATE SINK rows WITH (connector = 'file', path = 'rows');
CREATE PIPELINE copied INTO rows AS SELECT kind, price FROM events WHERE id < 3;
"""


def package(folder: Path) -> Path:
    """The wheel of the package in the documentation."""
    blocks = re.findall(r"```\w+\n# (\S+\.\w+)\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    files = dict(blocks)
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    assert set(files) == {"narrows_pairs/__init__.py", "narrows_pairs/codec.py"}
    return build_wheel(folder, project["name"].replace("-", "_"), files, project["entry-points"])


def test_the_package_of_the_docs_works_in_workers(tmp_path: Path) -> None:
    python = environment(tmp_path / "env", package(tmp_path))
    assert importlib.util.find_spec("narrows_pairs") is None, "it is installed there, not here"
    (tmp_path / "p.sql").write_text(SQL)
    (tmp_path / "in").mkdir()
    lines = ["id=1;kind=order;price=2.5", "id=2;kind=a b", "no pairs", "id=three;price=x", "id=4"]
    (tmp_path / "in" / "events.pairs").write_text("\n".join(lines))
    run_in(python, tmp_path, "-m", "narrows", "run", "p.sql", "--once", "--master", "local[2]")

    (written,) = (tmp_path / "out").glob("*.pairs")
    assert written.read_text().splitlines() == ["next=2 kind=ORDER", "", "next=5"]
    (copied,) = (tmp_path / "rows").glob("*.json")
    rows = [json.loads(line) for line in copied.read_text().splitlines()]
    assert rows == [{"kind": "order", "price": 2.5}, {"kind": "a b", "price": None}]
    letters = [
        json.loads(line)
        for path in (tmp_path / ".narrows").rglob("*.ndjson")
        for line in path.read_text().splitlines()
    ]
    reasons = sorted(letter["reason"] for letter in letters)
    assert reasons == ["a value holds what stands between pairs", "no pairs"]
