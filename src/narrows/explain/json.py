"""EXPLAIN as JSON: `{"logical": node, "physical": node, "notices": [...]}`.

`node = {"id", "operator", "info": {key: text or list}, "children": []}`. Nothing is cut here.
"""

from __future__ import annotations

import json
from typing import Any

from narrows.explain.kernel import kernels_of
from narrows.explain.plan import Plan
from narrows.explain.tree import ExplainNode, number
from narrows.logical.nodes import Listing
from narrows.sql.parser.statements import ExplainMode


def explain_json(plan: Plan, mode: ExplainMode) -> str:
    return json.dumps(explain_dict(plan, mode), indent=2, ensure_ascii=False)


def explain_dict(plan: Plan, mode: ExplainMode) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if mode is not ExplainMode.PHYSICAL:
        parts["logical"] = node_dict(number(plan.logical))
    if mode is not ExplainMode.LOGICAL:
        parts["physical"] = node_dict(number(plan.physical))
        if plan.execution is not None:
            parts["execution"] = {
                "mode": plan.execution.mode.value,
                "reason": plan.execution.reason,
                "guarantees": plan.guarantees,
            }
    if mode is ExplainMode.VERBOSE:
        parts["bound"] = node_dict(number(plan.bound))
        parts["rules"] = [
            {
                "rule": run.rule,
                "changed": run.changed,
                "milliseconds": round(run.seconds * 1000, 3),
                **({"plan": node_dict(number(run.plan))} if run.plan is not None else {}),
                **({"remarks": remarks} if (remarks := list(run.remarks())) else {}),
            }
            for run in plan.rule_runs
        ]
        parts["kernels"] = kernels_of(plan)
    parts["notices"] = [
        {"code": notice.code, "message": notice.message, "hint": notice.hint}
        for notice in plan.notices
    ]
    return parts


def node_dict(node: ExplainNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "operator": node.operator,
        "info": {
            key: list(value.parts) if isinstance(value, Listing) else value
            for key, value in node.info.items()
        },
        "children": [node_dict(child) for child in node.children],
    }
