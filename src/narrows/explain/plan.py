"""A planned query: what came of it, rule by rule, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.catalog.objects import Sink
from narrows.logical.nodes import DataSink, Node
from narrows.logical.walk import topological
from narrows.notices import Notice
from narrows.optimizer.rules.projection_pushdown import Decision, decisions, without_dead_columns
from narrows.optimizer.runner import RuleRun
from narrows.physical.execution import Execution, execution_of
from narrows.plugins.registry import CONNECTORS
from narrows.sql.parser.recursion import deep_recursion
from narrows.sql.parser.statements import ExplainMode


@dataclass(frozen=True)
class Plan:
    """A planned query: before and after the rules, what each rule did, and remarks."""

    bound: Node
    """The logical plan as the query says it, before any rule."""
    logical: Node
    physical: Node
    notices: tuple[Notice, ...]
    rule_runs: tuple[RuleRun, ...]
    low_latency: bool = False
    """Is it to write within milliseconds? Only of pipelines."""

    @property
    def decisions(self) -> list[Decision]:
        """Where ProjectionPushdown could drop columns, and whether it pays, with the figures."""
        before = self.bound
        for run in self.rule_runs:
            if run.rule == "ProjectionPushdown":
                return list(decisions(without_dead_columns(before)))
            before = run.plan or before
        return []

    @property
    def execution(self) -> Execution | None:
        """How it runs, if it is a pipeline: one that has sinks."""
        if not self._sinks:
            return None
        return execution_of(self.physical, low_latency=self.low_latency)

    @property
    def guarantees(self) -> dict[str, str]:
        """What each sink promises of every row, whatever is killed."""
        return {s.name: CONNECTORS.find(s.connector).promises(s.options) for s in self._sinks}

    @property
    def _sinks(self) -> list[Sink]:
        return [node.sink for node in topological(self.physical) if isinstance(node, DataSink)]

    def explain(self, mode: ExplainMode | str = ExplainMode.DEFAULT, format: str = "text") -> str:
        """The plan as text, JSON or a Mermaid graph. Modes: default, logical, physical, verbose."""
        with deep_recursion():
            from narrows.explain import explain  # which is written for plans

            return explain(self, ExplainMode(mode), format)
