"""A connector takes one file, and no change of Narrows: docs/connectors.md shows one."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from narrows import Catalog, NarrowsError
from support.toy_package import ENTRY_POINTS, SOURCE, install_toy

DOC = Path(__file__).parents[3] / "docs" / "connectors.md"

SQL = """
    CREATE STREAM s (a BIGINT, b STRUCT<c: STRING, d: STRING>)
    WITH (connector = 'sqlite', path = 'in.db', max_payloads_per_trigger = 10);
    CREATE SINK o WITH (connector = 'sqlite', path = 'out.db');
    CREATE PIPELINE p INTO o AS SELECT a, b->c AS c FROM s;
"""


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    install_toy(tmp_path, monkeypatch)
    return Catalog()


def test_the_docs_show_what_is_tested() -> None:
    blocks = re.findall(r"```\w+\n# (\S+\.\w+)\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    shown = dict(blocks)
    assert shown["narrows_sqlite.py"] == SOURCE.read_text("utf-8")
    assert tomllib.loads(shown["pyproject.toml"])["project"]["entry-points"] == ENTRY_POINTS


def test_statements_and_plans_know_it(catalog: Catalog) -> None:
    catalog.execute(SQL)
    plan = catalog.plan_pipeline("p").explain("physical")
    assert "source=s, connector=sqlite, path=in.db" in plan
    assert "sink=o, connector=sqlite" in plan
    assert "schema=[a, b{c}], decodes=2 of 3 leaves" in plan


@pytest.mark.parametrize(
    ("clause", "problem"),
    [
        ("path = 'x', format = 'parquet'", "delivers messages, and format `parquet` is read from"),
        ("path = 'x', format = 'csv', header = true", "has no option `header`"),
        ("path = 'x', max_payloads_per_triger = 1", "did you mean `max_payloads_per_trigger`"),
        ("path = 'x', max_payloads_per_trigger = 0", "is at least 1"),
        ("format = 'json'", "`s` lacks the option `path`: the file of the database"),
    ],
)
def test_options_that_do_not_fit_are_refused(catalog: Catalog, clause: str, problem: str) -> None:
    with pytest.raises(NarrowsError, match=problem):
        catalog.execute(f"CREATE STREAM s (a INT) WITH (connector = 'sqlite', {clause})")


def test_planning_loads_no_arrow_for_it() -> None:
    code = f"""
import importlib.util, sys

spec = importlib.util.spec_from_file_location("toy", {str(SOURCE)!r})
module = importlib.util.module_from_spec(spec)
sys.modules["toy"] = module
spec.loader.exec_module(module)
print([name for name in ("pyarrow", "numpy", "pyspark") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
