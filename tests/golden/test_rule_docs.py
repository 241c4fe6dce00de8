"""Every rule's docstring shows what the rule does, and that is what it does.

    SQL:     SELECT a FROM stream_4
    Before:  Project fields=[stream_4.a]
             └─DataSource schema=[a, b{c, items[struct{x, y}]}]
    After:   Project fields=[stream_4.a]
             └─DataSource schema=[a]

The SQL is a query or a CREATE PIPELINE over `catalog.sql`, and may go on in further lines. Before
and after stand the plans right before and right after the rule, with all their nodes; of what
EXPLAIN says about a node a line shows what it wants, in EXPLAIN's order.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

import pytest

import narrows
from narrows.explain.text import info_text
from narrows.explain.tree import ExplainNode, number
from narrows.logical.nodes import Info, Node
from narrows.optimizer.rule import Rule
from narrows.optimizer.runner import rule_name, snake_case
from narrows.planner.query import Check, plan_query
from narrows.planner.rules import LOGICAL_RULES, PHYSICAL_RULES
from narrows.sql.parser.script import parse, parse_query
from narrows.sql.parser.statements import CreatePipeline
from support.golden import golden_catalog

RULES = (*LOGICAL_RULES, *PHYSICAL_RULES)
PARTS = ("SQL", "Before", "After")
_PART = re.compile(r"^(\w+): +(.*\n(?: +.*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    sql: str
    before: list[str]
    after: list[str]


def _example(rule: Rule) -> Example:
    """What the docstring of a rule's module shows."""
    doc = sys.modules[type(rule).__module__].__doc__ or ""
    assert doc.startswith(f"{rule_name(rule)}: "), "a docstring begins with the rule's name"
    parts = [(m[1], m.start(2) - m.start(), m[2]) for m in _PART.finditer(doc) if m[1] in PARTS]
    assert tuple(name for name, *_ in parts) == PARTS, f"a docstring has {', '.join(PARTS)}, once"
    sql, before, after = (dedent(" " * width + text).splitlines() for _, width, text in parts)
    return Example(" ".join(sql), before, after)


def _drawn(node: ExplainNode, first: str = "", rest: str = "") -> Iterator[tuple[str, Info]]:
    yield f"{first}{node.operator}", node.info
    for place, child in enumerate(node.children):
        last = place == len(node.children) - 1
        yield from _drawn(child, rest + ("└─" if last else "├─"), rest + ("  " if last else "│ "))


def _shown(plan: Node, like: list[str]) -> list[str]:
    """The plan, and of each node what the line in the same place shows."""
    rows = list(_drawn(number(plan)))
    lines = [*like, *[""] * len(rows)]
    return [
        f"{name} {info_text({k: v for k, v in info.items() if _shows(line, k)})}".rstrip()
        for (name, info), line in zip(rows, lines, strict=False)
    ]


def _shows(line: str, key: str) -> bool:
    return re.search(rf"[ ,]{re.escape(key)}=", line) is not None


def _plan(sql: str, catalog: narrows.Catalog, check: Check) -> narrows.Plan:
    if not sql.startswith("CREATE"):
        return plan_query(parse_query(sql), catalog, check=check)
    (statement,) = parse(sql)
    assert isinstance(statement, CreatePipeline)
    catalog.execute_statement(statement)
    pipeline = catalog.pipeline(statement.name)
    return plan_query(pipeline.query, catalog, pipeline=pipeline, check=check)


@pytest.mark.parametrize("rule", RULES, ids=rule_name)
def test_a_rule_does_what_its_docstring_shows(rule: Rule) -> None:
    example = _example(rule)
    seen: list[tuple[Node, Node]] = []

    def check(before: Node, after: Node, name: str) -> None:
        if name == rule_name(rule):
            seen.append((before, after))

    _plan(example.sql, golden_catalog(), check)
    assert len(seen) == 1, "the rule left the plan as it was"
    ((before, after),) = seen
    assert _shown(before, example.before) == example.before
    assert _shown(after, example.after) == example.after
    assert example.before != example.after, "what the rule changes is not shown"


@pytest.mark.parametrize("rule", RULES, ids=rule_name)
def test_a_rule_that_is_switched_off_does_nothing(rule: Rule) -> None:
    changed: list[str] = []
    catalog = golden_catalog()
    catalog.execute(f"SET narrows.rule.{snake_case(rule_name(rule))} = off")
    _plan(_example(rule).sql, catalog, lambda before, after, name: changed.append(name))
    assert rule_name(rule) not in changed
