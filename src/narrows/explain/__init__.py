"""EXPLAIN: plans as text, JSON and Mermaid, all from one tree of numbered nodes."""

from __future__ import annotations

from narrows.errors import Code, fail
from narrows.explain.json import explain_json
from narrows.explain.mermaid import explain_mermaid
from narrows.explain.plan import Plan
from narrows.explain.text import explain_text
from narrows.sql.parser.statements import ExplainMode

FORMATS = {"text": explain_text, "json": explain_json, "mermaid": explain_mermaid}


def explain(plan: Plan, mode: ExplainMode, format: str) -> str:
    if mode is ExplainMode.ANALYZE:
        raise fail(
            Code.NOT_SUPPORTED,
            "EXPLAIN ANALYZE runs the query, and a catalog only plans",
            hint="use it in a session; EXPLAIN VERBOSE shows what would be decoded",
        )
    writer = FORMATS.get(format)
    if writer is None:
        raise fail(
            Code.INVALID_OPTION, f"no format is called `{format}`", hint=f"{', '.join(FORMATS)}"
        )
    return writer(plan, mode)


__all__ = ["FORMATS", "explain"]
