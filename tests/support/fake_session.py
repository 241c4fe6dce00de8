"""A session without Spark: pipelines are only said to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Never

from narrows.errors import Code, fail
from narrows.planner.catalog import Catalog
from narrows.state.folder import StateFolder
from narrows.worker.counts import ReadCounts


@dataclass
class FakeAttempts:
    restarts: int = 0
    last_failure: str | None = None


@dataclass
class FakeQuery:
    batches: tuple[Any, ...] = ()


@dataclass
class FakeWritten:
    rows: int = 8


@dataclass
class FakePipeline:
    name: str
    status: str = "running"
    error: str | None = None
    problem: str | None = None
    started: float = 0.0
    ended: float | None = None
    late_rows: int = 3
    attempts: FakeAttempts = field(default_factory=FakeAttempts)
    query: FakeQuery = field(default_factory=FakeQuery)
    written: FakeWritten = field(default_factory=FakeWritten)

    def counts(self) -> dict[str, ReadCounts]:
        return {"s": ReadCounts(10, 1000, 1, 2, 9, 8, 300)}

    def lag(self) -> dict[str, dict[str, int]]:
        return {"s": {"bytes": 70, "units": 2}}

    def refused(self) -> dict[str, int]:
        return {"k": 4}

    def shared(self) -> dict[str, dict[str, Any]]:
        return {}


@dataclass
class FakeRun:
    pipelines: list[FakePipeline]


@dataclass
class FakeSession:
    state: StateFolder
    catalog: Catalog
    runs: list[FakeRun] = field(default_factory=list)
    fails: dict[str, str] = field(default_factory=dict)
    """Pipelines that cannot be started, and why."""
    closed: bool = False

    @property
    def spark(self) -> Never:
        raise fail(Code.SPARK_NOT_STARTED, "there is no Spark behind this session")

    @property
    def running(self) -> list[str]:
        return [p.name for run in self.runs for p in run.pipelines if p.status == "running"]

    def start(self, name: str, **settings: object) -> None:
        name = self.catalog.pipeline(name).name
        if name in self.fails:
            raise fail(Code.PIPELINE_FAILED, self.fails[name])
        assert name not in self.running
        self.state.claim(name, self.catalog.plan_pipeline(name).physical)
        self.runs.append(FakeRun([FakePipeline(name)]))

    def stop(self, name: str) -> None:
        for run in self.runs:
            for pipeline in run.pipelines:
                if pipeline.name == name and pipeline.status == "running":
                    pipeline.status = "stopped"

    def execute_statement(self, statement: Any) -> object:
        return self.catalog.execute_statement(statement)

    def close(self, finish: float = 0.0) -> None:
        self.closed = True


def fake_sessions(**fails: str) -> tuple[Callable[[StateFolder, Catalog], Any], list[FakeSession]]:
    """What opens such sessions, and those that it has opened."""
    opened: list[FakeSession] = []

    def open_session(state: StateFolder, catalog: Catalog) -> Any:
        opened.append(FakeSession(state, catalog, fails=dict(fails)))
        return opened[-1]

    return open_session, opened
