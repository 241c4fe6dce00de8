"""EXPLAIN as a Mermaid flow chart, data flowing downwards, for docs and pull requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from narrows.explain.plan import Plan
from narrows.explain.text import info_text
from narrows.explain.tree import ExplainNode, number
from narrows.logical.nodes import Node
from narrows.sql.parser.statements import ExplainMode


def explain_mermaid(plan: Plan, mode: ExplainMode) -> str:
    return flow_chart({"": plan}, mode)


def flow_chart(plans: Mapping[str, Plan], mode: ExplainMode) -> str:
    """One chart for any number of pipelines, each under its name."""
    lines = ["flowchart TD"]
    for place, (name, plan) in enumerate(plans.items()):
        prefix, title = (f"p{place}_", f"{name}: ") if name else ("", "")
        if mode is not ExplainMode.PHYSICAL:
            lines.extend(_graph(f"{prefix}logical", f"{title}Logical Plan", plan.logical))
        if mode is not ExplainMode.LOGICAL:
            lines.extend(_graph(f"{prefix}physical", f"{title}Physical Plan", plan.physical))
    return "\n".join(lines)


def _graph(prefix: str, title: str, root: Node) -> Iterator[str]:
    yield f'  subgraph {prefix}["{title}"]'
    seen: set[str] = set()
    pending = [number(root)]
    while pending:
        node = pending.pop(0)
        if node.id in seen:
            continue
        seen.add(node.id)
        yield f'    {prefix}_{node.id}["{_label(node)}"]'
        for child in node.children:
            yield f"    {prefix}_{child.id} --> {prefix}_{node.id}"
        pending.extend(node.children)
    yield "  end"


def _label(node: ExplainNode) -> str:
    return "<br/>".join(_escape(line) for line in (node.id, info_text(node.info)) if line)


def _escape(text: str) -> str:
    # Mermaid reads these as its own syntax, even in quotes; entities are always text.
    entities = (("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"))
    for char, entity in entities:
        text = text.replace(char, entity)
    return text
