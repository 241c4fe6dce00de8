"""Rooms know only those before them; Spark stays at the edge; workers load no planner."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "narrows"
EDGE = ("spark", "service", "cli", "bench")
"""The folders below the package that may import pyspark."""
HEAVY = ("pyspark", "py4j", "pyarrow", "pandas", "numpy", "simdjson")
"""What importing Narrows and planning must not load."""

HOUSES = ("sql", "spark")
"""The folders whose own folders are rooms with an order."""
PLANNER = ("sql", "catalog", "logical", "optimizer", "physical", "explain", "planner")
"""Rooms that workers do without."""

FILES = sorted(PACKAGE.rglob("*.py"))


def _imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file, for run time or for types."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=name)]
            ):
                yield str(name)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _is_edge(path: Path) -> bool:
    return path.relative_to(PACKAGE).parts[0] in EDGE


def _run(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


LAYERS = (
    # What everything is said in.
    ("secrets",),
    ("errors", "schema", "notices"),
    ("demand",),
    ("demand_json", "demand_text"),
    ("projection", "files"),
    ("plugins", "stateful"),
    ("expressions",),
    ("functions",),
    # From text to plan.
    ("sql.scope",),
    ("sql.parser",),
    ("sql.binder",),
    ("catalog",),
    ("logical",),
    ("optimizer",),
    ("physical",),
    ("explain",),
    ("planner",),
    # From payload to row and back.
    ("arrow",),
    ("formats",),
    ("connectors",),
    ("worker",),
    ("shared",),
    ("state",),
    # On Spark.
    ("spark.sql",),
    ("spark.read",),
    ("spark.windows",),
    ("spark.compile",),
    ("spark.write",),
    ("spark.running",),
    ("spark.entries",),
    ("spark.keeping",),
    ("spark.streaming",),
    ("spark.shared",),
    ("spark.run",),
    ("spark.session",),
    # Doors.
    ("service",),
    ("cli",),
    ("__init__", "__main__"),
)
"""The rooms in their order: each may import only itself and what stands before it, also where it
imports for types or late. Rooms of one line do not know each other."""


def _room(module: str) -> str:
    """`spark.read.table` belongs to `spark.read`, `formats.json.decoder` to `formats`."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] in HOUSES and len(parts) > 1 else parts[0]


def test_each_room_knows_only_those_before_it() -> None:
    level = {room: place for place, rooms in enumerate(LAYERS) for room in rooms}
    wrong = []
    for path in FILES:
        inside = path.relative_to(PACKAGE).with_suffix("")
        parts = (
            inside.parts[:-1]
            if inside.name == "__init__" and len(inside.parts) > 1
            else inside.parts
        )
        here = _room(".".join(parts))
        if here in HOUSES:
            continue  # what only holds rooms says nothing
        assert here in level, f"{path} is in no layer: put its room into the list"
        for name in _imports(path):
            there = _room(name.removeprefix("narrows."))
            if not name.startswith("narrows.") or there == here:
                continue
            if level[there] >= level[here]:
                wrong.append(f"{inside} imports {name}")
    assert wrong == []


@pytest.mark.parametrize(
    "path", [p for p in FILES if not _is_edge(p)], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_pyspark_is_imported_at_the_edge_only(path: Path) -> None:
    assert [name for name in _imports(path) if _top(name) in ("pyspark", "py4j")] == []


def test_workers_load_neither_spark_nor_the_planner() -> None:
    """Every micro-batch starts some of them."""
    modules = [
        ".".join(("narrows", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in FILES
        if path.relative_to(PACKAGE).parts[0] == "worker" and path.name != "__init__.py"
    ]
    unwanted = ("pyspark", "sqlglot", *(f"narrows.{name}" for name in PLANNER))
    code = f"import sys, {', '.join(modules)}; print([n for n in {unwanted} if n in sys.modules])"
    assert _run(code).strip() == "[]"


def test_importing_and_planning_load_nothing_heavy() -> None:
    code = f"""
import sys
import narrows

catalog = narrows.Catalog()
catalog.execute('''CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT>)
                   WITH (connector = 'file', path = 'data')''')
plan = narrows.plan("SELECT b->c FROM s WHERE a > 1", catalog)
for format in ("text", "json", "mermaid"):
    plan.explain("verbose", format)
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    assert _run(code).strip() == "[]"


def test_explaining_needs_no_java() -> None:
    """The example is explained where there is no JVM to be found, and no Spark is loaded."""
    code = f"""
import sys
from narrows.cli.main import app

try:
    app(["explain", "examples/vehicles.sql"])
except SystemExit as end:
    assert not end.code, end.code
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    output = _run(code, PATH="", JAVA_HOME="/nowhere", SPARK_HOME="/nowhere")
    assert "Logical Plan" in output
    assert output.splitlines()[-1] == "[]"
