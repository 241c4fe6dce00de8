"""EXPLAIN as text.

Logical Plan
- id               | info
  Project_1        | fields=[stream_4.a; stream_4.b->items[0]->x]
  └─DataSource_0   | source=stream_4, decoder=json, schema=[a, b{items[0][struct{x}]}]
"""

from __future__ import annotations

from collections.abc import Iterator

from narrows.demand_text import cut_list
from narrows.explain.kernel import kernels_of
from narrows.explain.plan import Plan
from narrows.explain.tree import ExplainNode, number
from narrows.logical.nodes import Info, Listing, Node
from narrows.sql.parser.statements import ExplainMode


def explain_text(plan: Plan, mode: ExplainMode) -> str:
    parts = []
    if mode is ExplainMode.VERBOSE:
        parts.append(section("Logical Plan, as bound", plan.bound))
        parts.extend(
            section(f"After {run.rule}", run.plan) for run in plan.rule_runs if run.plan is not None
        )
        parts.extend(_projections(plan))
        parts.extend(_remarks(plan))
    elif mode is not ExplainMode.PHYSICAL:
        parts.append(section("Logical Plan", plan.logical))
    if mode is not ExplainMode.LOGICAL:
        parts.append(section("Physical Plan", plan.physical))
        parts.extend(_execution(plan))
    if mode is ExplainMode.VERBOSE and (kernels := kernels_of(plan)):
        lines = [f"- {kernel}, for {name}" for name, kernel in kernels.items()]
        parts.append("\n".join(("Kernel", *lines)))
    if plan.notices:
        lines = []
        for notice in plan.notices:
            lines.append(f"- {notice.message}")
            if notice.hint:
                lines.append(f"  hint: {notice.hint}")
        parts.append("\n".join(("Notices", *lines)))
    return "\n\n".join(parts)


def _execution(plan: Plan) -> Iterator[str]:
    """How a pipeline runs, and what its sinks promise."""
    if plan.execution is not None:
        mode, reason = plan.execution.mode.value, plan.execution.reason
        promises = [f"- sink `{name}`: {text}" for name, text in plan.guarantees.items()]
        yield "\n".join(("Execution", f"- {mode}: {reason}", *promises))


def _projections(plan: Plan) -> Iterator[str]:
    """Where columns could be dropped on the way up, and what ProjectionPushdown made of it."""
    if plan.decisions:
        yield "\n".join(("Projections", *(f"- {decision}" for decision in plan.decisions)))


def _remarks(plan: Plan) -> Iterator[str]:
    """What rules say of what they did, and why not more."""
    for run in plan.rule_runs:
        remarks = [f"- {remark}" for remark in run.remarks()]
        if remarks:
            yield "\n".join((run.rule, *remarks))


def section(title: str, root: Node) -> str:
    """A titled plan."""
    return tree_section(title, number(root))


def tree_section(title: str, root: ExplainNode) -> str:
    rows = list(_rows(root, "", ""))
    width = max(len(name) for name, _ in rows) + 3
    lines = [title, f"- {'id'.ljust(width)}| info"]
    lines.extend(f"  {name.ljust(width)}| {info}".rstrip() for name, info in rows)
    return "\n".join(lines)


def _rows(node: ExplainNode, first: str, rest: str) -> Iterator[tuple[str, str]]:
    """The node and all below it; `first` and `rest` are drawn before its own and later lines."""
    yield first + node.id, info_text(node.info)
    for place, child in enumerate(node.children):
        last = place == len(node.children) - 1
        yield from _rows(child, rest + ("└─" if last else "├─"), rest + ("  " if last else "│ "))


def info_text(info: Info) -> str:
    return ", ".join(f"{key}={_value(value)}" for key, value in info.items())


def _value(value: str | Listing) -> str:
    if isinstance(value, Listing):
        return f"[{cut_list(value.parts, value.separator)}]"
    return value
