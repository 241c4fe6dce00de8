"""What a sink's tasks must know: made by the planner on the driver, carried to them.

How it is made, and the data frame that goes into a sink, stand in `spark/write/sink_frame.py`:
nothing of the planner is loaded into the workers.
"""

from __future__ import annotations

from dataclasses import dataclass

from narrows.projection.fragments import Fragment, OptionItems


@dataclass(frozen=True)
class RowPart:
    """A part of a row: a computed column under its name, or fields that are encoded already."""

    column: str
    name: str = ""
    fragment: Fragment | None = None
    changed: str | None = None
    """The column that says in which rows its value is to be written; None: in all."""


@dataclass(frozen=True)
class SinkTarget:
    """One of a pipeline's sinks, and how its rows are made."""

    pipeline: str
    sink: str
    connector: str
    format: str
    options: OptionItems
    parts: tuple[RowPart, ...]
    place: str
    """Where the sink keeps what it writes; a folder, for those that write files."""
    dead_letters: str
    """The folder for rows that cannot be written."""
    folder: str = ""
    """Where sources of its connector keep what they must not lose: see `SourceDeclaration`."""
    life: str = ""
    """Tells batches of this life of the pipeline from those of another; see `StateFolder.life`."""
    gathers: bool = False
    """Are the rows of a payload gathered before the first of them is encoded?"""

    def limit(self, option: str) -> int | None:
        value = dict(self.options).get(option)
        return value if isinstance(value, int) else None


@dataclass(frozen=True)
class WriteSpec:
    """All sinks of a pipeline."""

    targets: tuple[SinkTarget, ...]
    first_batch: int = 0
    """What batch 0 is called in the sinks: those before it are of the pipeline's earlier lives,
    which `narrows reset` has ended, and are not to be replaced."""
