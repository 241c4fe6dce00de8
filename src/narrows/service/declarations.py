"""What is declared: changed by statements, tried out by EXPLAIN, kept on the disk.

    refused if it would change what runs -> executed by the catalog -> kept -> answered

A name that is dropped and declared again is somebody else: it begins without the state of its
namesake.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from narrows.catalog.in_use import refuse_changes
from narrows.catalog.objects import Pipeline
from narrows.errors import Code, NarrowsError, fail
from narrows.explain.plan import Plan
from narrows.planner.catalog import Catalog
from narrows.planner.query import plan_query
from narrows.service.demands import PlannedDemands
from narrows.service.inboxes import Inboxes
from narrows.service.security import check_declaration, hide_code
from narrows.service.store import Created, Declaration, ServiceStore, declaring_text, kind_of
from narrows.sql.parser.script import parse_spans
from narrows.sql.parser.statements import (
    Create,
    CreateFunction,
    CreatePipeline,
    CreateSink,
    CreateSource,
    CreateView,
    Drop,
    Explain,
    ObjectKind,
    Query,
    Select,
    Set,
    Start,
)
from narrows.state.folder import StateFolder

LOG = logging.getLogger("narrows.service")


class Declarations:
    def __init__(
        self,
        state: StateFolder,
        store: ServiceStore,
        running: Callable[[], set[str]],
        allowed: Sequence[Path],
        inboxes: Inboxes,
    ) -> None:
        self.catalog = Catalog()
        hide_code(self.catalog.functions)
        self.demands = PlannedDemands(self.catalog)
        self.lock = threading.RLock()
        """Held while the catalog changes, and while nothing in it may change."""
        self._state, self._store = state, store
        self._running, self._allowed = running, allowed
        self._inboxes = inboxes

    def open(self) -> None:
        """Declares what was declared when the last service ended."""
        self.catalog.execute(self._store.load(), str(self._store.catalog_file))
        for name in [n for n, desired in self._store.desired.items() if desired == "dropped"]:
            self._forget_pipeline(name)

    # --- changing ---------------------------------------------------------------------------------

    def declare(self, statement: Declaration, text: str) -> None:
        """Executes a statement, and keeps its text."""
        with self.lock:
            self._check(self.catalog, statement)
            existing = self._existing(statement)
            if existing and isinstance(statement, Create) and statement.if_not_exists:
                return
            before = self.catalog.snapshot()
            self.catalog.execute_statement(statement)
            if not isinstance(statement, CreatePipeline):  # others are planned as before
                self.demands.clear()
            try:
                if isinstance(statement, Drop) and existing:
                    self._forget_folders(statement.kind, statement.name)
                self._store.keep(statement, text)
            except BaseException:
                self.catalog.restore(before)
                raise
            if isinstance(statement, Drop) and statement.kind is ObjectKind.PIPELINE and existing:
                self._forget_pipeline(statement.name)
            LOG.info("%s", " ".join(text.split())[:200])

    def load(
        self, sql: str, *, replacing: bool, filename: str | None = None
    ) -> list[Declaration | Start]:
        """Declares what a text declares: all of it, or nothing. When it replaces, what is there
        already is declared anew if it differs. What the text starts is left to the caller."""
        wanted: list[tuple[Declaration | Start, str]] = []
        with self.lock:
            try:
                scratch = self._scratch()
                for parsed, span in parse_spans(sql, filename):
                    if isinstance(parsed, Start):
                        for name, where in parsed.pipelines:
                            scratch.pipeline(name, where)
                        wanted.append((parsed, ""))
                        continue
                    if not isinstance(parsed, Declaration):
                        message = "here objects are declared and pipelines started, nothing else"
                        raise fail(Code.NOT_SUPPORTED, message, span)
                    statement, text = parsed, declaring_text(parsed, sql, span)
                    if isinstance(parsed, Created) and replacing:
                        statement = _replacing(parsed)
                        if text == self._store.statement(kind_of(parsed), parsed.name):
                            continue
                    self._check(scratch, statement)
                    scratch.execute_statement(statement)
                    wanted.append((statement, text))
            except NarrowsError as error:
                raise error.located(sql, filename) from None
            for each, text in wanted:
                if not isinstance(each, Start):
                    self.declare(each, text)
        return [each for each, _ in wanted]

    def _check(self, catalog: Catalog, statement: Declaration) -> None:
        refuse_changes(catalog, self._running(), statement)
        check_declaration(statement, self._allowed)

    def _existing(self, statement: Declaration) -> bool:
        if isinstance(statement, Set):
            return False
        return statement.name.casefold() in self.catalog.of_kind(kind_of(statement))

    def _forget_pipeline(self, name: str) -> None:
        self._state.reset(name)
        self._store.forgotten(name)

    def _forget_folders(self, kind: ObjectKind, name: str) -> None:
        """What is kept of a stream, table or sink; no pipeline uses it any more."""
        if kind is ObjectKind.STREAM:
            self._inboxes.close(name)
            self._state.reset_stream(name)
            self._state.forget_pushed(name)
        if kind is ObjectKind.SINK:
            shutil.rmtree(self._state.rows(name), ignore_errors=True)
        if kind is not ObjectKind.PIPELINE:
            shutil.rmtree(self._state.dead_letters(name), ignore_errors=True)

    # --- planning ---------------------------------------------------------------------------------

    def explain(self, sql: str, *, pruning: bool = True) -> tuple[Plan, str]:
        """The plan of a query, or of the last pipeline that a text declares, and what it is called.
        The text may declare what it needs: nothing of it is kept."""
        scratch = self._scratch()
        planned: tuple[Plan, str] | None = None
        try:
            for statement, span in parse_spans(sql):
                match statement:
                    case Select(query=query) | Explain(query=Query() as query):
                        planned = plan_query(query, scratch, pruning=pruning), "query"
                    case Explain(pipeline=(name, where)):
                        name = scratch.pipeline(name, where).name
                        planned = scratch.plan_pipeline(name, pruning=pruning), name
                    case CreatePipeline(name=name):
                        scratch.execute_statement(_replacing(statement))
                        planned = scratch.plan_pipeline(name, pruning=pruning), name
                    case CreateSource() | CreateView() | CreateFunction() | CreateSink():
                        scratch.execute_statement(_replacing(statement))
                    case Drop() | Set():
                        scratch.execute_statement(statement)
                    case _:
                        message = "only declarations and queries can be explained"
                        raise fail(Code.NOT_SUPPORTED, message, span)
            if planned is None:
                raise fail(Code.SYNTAX_ERROR, "expected a query or a pipeline, and found none")
        except NarrowsError as error:
            raise error.located(sql) from None
        return planned

    def plan_pipeline(self, pipeline: Pipeline) -> Plan:
        return plan_query(pipeline.query, self.catalog, pipeline=pipeline)

    def _scratch(self) -> Catalog:
        """The catalog as it is, to try something with."""
        scratch = Catalog()
        scratch.functions = self.catalog.functions
        scratch.restore(self.catalog.snapshot())
        return scratch


def _replacing(statement: Created) -> Created:
    return replace(statement, or_replace=True, if_not_exists=False)
