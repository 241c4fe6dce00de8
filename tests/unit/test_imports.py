"""Spark stays at the edge: planning must not wait for it, nor need it."""

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
EDGE = ("spark", "cli", "bench")
"""The folders below the package that may import pyspark."""
HEAVY = ("pyspark", "py4j", "pyarrow", "pandas", "numpy", "simdjson")
"""What importing Narrows and planning must not load."""

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


@pytest.mark.parametrize(
    "path", [p for p in FILES if not _is_edge(p)], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_pyspark_is_imported_at_the_edge_only(path: Path) -> None:
    assert [name for name in _imports(path) if _top(name) in ("pyspark", "py4j")] == []


def test_the_core_does_not_know_the_edge() -> None:
    """Only the package itself does: it hands out `connect`, and `python -m narrows` is the CLI."""
    doors = (PACKAGE / "__init__.py", PACKAGE / "__main__.py")
    inner = [path for path in FILES if not _is_edge(path) and path not in doors]
    found = {
        str(path.relative_to(PACKAGE)): name
        for path in inner
        for name in _imports(path)
        if name.startswith(("narrows.spark", "narrows.cli"))
    }
    assert found == {}


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
