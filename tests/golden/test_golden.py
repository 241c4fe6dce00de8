"""Runs the golden files; `support/golden.py` says how they are written."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import narrows
from narrows.errors import Code
from narrows.explain.plan import Plan
from narrows.optimizer.runner import rule_name, snake_case
from narrows.planner.rules import LOGICAL_RULES, PHYSICAL_RULES
from support.golden import GOLDEN, REWRITE, Block, all_blocks, golden_files, read_blocks, rewrite

BLOCKS = all_blocks()
PLANS = [block for block in BLOCKS if not block.is_error]
ERRORS = [block for block in BLOCKS if block.is_error]
RULES = [rule_name(rule) for rule in (*LOGICAL_RULES, *PHYSICAL_RULES)]

PLANNER = ("catalog", "explain", "logical", "optimizer", "physical", "planner", "sql")
"""What plans, below src/narrows; everything else raises errors when a plan runs."""

NOT_FROM_SQL = frozenset({Code.UNREADABLE_FILE, Code.BROKEN_PACKAGE})
"""Codes that no SQL text can raise."""


def _compare(block: Block, actual: str) -> None:
    if REWRITE:
        rewrite(block, actual)
    else:
        assert actual == block.expected, f"{block.id}: see `make golden`"


@pytest.mark.parametrize("block", PLANS, ids=lambda block: block.id)
def test_plan(block: Block) -> None:
    plan = block.plan()
    _compare(block, block.explain(plan))
    _hold_rules(block, plan)


def _hold_rules(block: Block, plan: Plan) -> None:
    changed = {run.rule for run in plan.rule_runs if run.changed}
    assert set(block.expects + block.refuses) <= set(RULES), f"{block.id} names an unknown rule"
    assert set(block.expects) <= changed, f"{block.id}: an expected rule did not change the plan"
    assert not set(block.refuses) & changed, f"{block.id}: a refusing rule changed the plan"


@pytest.mark.parametrize("block", ERRORS, ids=lambda block: block.id)
def test_error(block: Block) -> None:
    _compare(block, str(block.refusal()))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_golden_file_in_which_it_fires_and_refuses(rule: str) -> None:
    blocks = read_blocks(GOLDEN / "plans" / f"{snake_case(rule)}.plan")
    assert any(rule in block.expects for block in blocks), f"no `expect={rule}`"
    assert any(rule in block.refuses for block in blocks), f"no `refuse={rule}`"


def _planner_codes() -> list[Code]:
    """The codes that some module of the planner names."""
    root = Path(narrows.__file__).parent
    folders = [root / part for part in PLANNER]
    assert all(folder.is_dir() for folder in folders)
    texts = [path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"\bCode\.([A-Z_]+)\b", text)}
    return sorted({Code[name] for name in named} - NOT_FROM_SQL)


@pytest.mark.parametrize("code", _planner_codes())
def test_every_error_code_has_a_golden(code: Code) -> None:
    path = GOLDEN / "errors" / f"{code}.plan"
    assert path.exists(), f"{path.name} is missing"
    first_lines = [block.expected.partition("\n")[0] for block in read_blocks(path)]
    assert first_lines
    assert all(line.startswith(f"error[{code}]: ") for line in first_lines)


def test_blocks_are_told_apart_by_their_sql() -> None:
    counted = Counter((block.path, block.directive, block.sql) for block in BLOCKS)
    assert [key for key, count in counted.items() if count > 1] == []


def test_golden_files_hold_blocks() -> None:
    assert [path.name for path in golden_files() if not read_blocks(path)] == []
