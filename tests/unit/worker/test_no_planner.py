"""What workers unpickle loads no planner: every micro-batch starts some of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

PLANNER = ("sqlglot", "narrows.sql", "narrows.catalog", "narrows.logical", "narrows.physical")
EXPRESSIONS = ("narrows.expressions", "narrows.functions")
ARROW = ("pyarrow", "pyspark")


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        ("narrows.stateful.windows, narrows.stateful.functions", (*EXPRESSIONS, *ARROW)),
        ("narrows.stateful.functions.evaluate", (*EXPRESSIONS, *ARROW)),
        ("narrows.worker.input_end, narrows.worker.read_spec", EXPRESSIONS),
        ("narrows.spark.windows.window_processor", EXPRESSIONS),
        ("narrows.spark.windows.function_processor", EXPRESSIONS),
        ("narrows.spark.windows.all_rows", EXPRESSIONS),
    ],
)
def test_what_is_loaded(modules: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys, {modules}; print([n for n in {PLANNER + unwanted} if n in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
