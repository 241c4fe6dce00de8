"""What can be known to be wrong before Spark starts, which takes seconds."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.errors import Code, fail
from narrows.planner.catalog import Catalog
from narrows.plugins.options import parse_duration
from narrows.shared.registry import EARLIEST, LATEST
from narrows.state.fitting import fitting_plan
from narrows.state.folder import StateFolder


def check_settings(trigger: str, start_at: str | None) -> None:
    """Are these values that a start takes?"""
    if parse_duration(trigger) is None:
        message = f"`trigger` takes a duration, not `{trigger}`"
        raise fail(Code.INVALID_OPTION, message, hint="for example '5 seconds' or '500 ms'")
    if start_at not in (None, LATEST, EARLIEST):
        message = f"`start_at` is one of {LATEST}, {EARLIEST}, not `{start_at}`"
        raise fail(Code.INVALID_OPTION, message)


def check_pipelines(
    state: StateFolder, catalog: Catalog, names: Sequence[str], *, pruning: bool
) -> None:
    """Is the state folder free, and do the pipelines' checkpoints fit?"""
    state.lock()
    try:
        for name in (catalog.pipeline(name).name for name in names):
            if state.knows(name):
                plan = fitting_plan(state, catalog, name, pruning=pruning, keep=True)
                state.check_fits(name, plan.physical)
    finally:
        state.unlock()
