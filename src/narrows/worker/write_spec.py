"""What a sink's tasks must know: made by the planner on the driver, carried to them.

How it is made, and the data frame that goes into a sink, stand in `sink_frame.py`: nothing of the
planner is loaded into the workers.
"""

from __future__ import annotations

from dataclasses import dataclass

from narrows.projection.fragments import Fragment, OptionItems


@dataclass(frozen=True)
class Part:
    """A part of a row: a computed column under its name, or fields that are encoded already."""

    column: str
    name: str = ""
    fragment: Fragment | None = None


@dataclass(frozen=True)
class SinkTarget:
    """A folder that one of the pipeline's sinks writes to, and how."""

    sink: str
    folder: str
    format: str
    options: OptionItems
    parts: tuple[Part, ...]
    dead_letters: str
    batch_count: int | None = None
    gathers: bool = False
    """Are the rows of a payload gathered before the first of them is encoded?"""


@dataclass(frozen=True)
class WriteSpec:
    pipeline: str
    targets: tuple[SinkTarget, ...]
