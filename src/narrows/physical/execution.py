"""How a pipeline runs: decided here, from its plan, and shown by EXPLAIN with the reason.

copy         its readers write: what is computed they can compute, so no row need cross the JVM; in
             a job for each entry
continuous   the same in tasks that run as long as the pipeline
jobs         Spark computes rows of those of an entry, and of tables; in a job for each entry, too
grouped      together with others on its shared stream, in one job for each entry of the log; for
             low latency in a task that lasts
keyed        the same, and tasks keep what is remembered of rows, key by key, in files; or the rows
             of two streams that are joined
windows      its readers fold rows into windows, in files; tasks merge those that close. Or readers
             keep rows, and Spark has those of windows that close
groups       its readers fold rows into groups that no window ends, in files; tasks merge those that
             an entry has changed
tables       a streaming query gives the rows of closed windows, or groups that are to be sorted;
             what is above is made of a small table, batch by batch
stream       a streaming query
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    DecodedSource,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    Sort,
    Tail,
    UnaryNode,
    Window,
)
from narrows.logical.streaming.supported import is_stream, keeps_between_batches
from narrows.logical.walk import topological
from narrows.physical.in_reader.paths import source_path
from narrows.physical.kept_by_tasks import is_kept_by_tasks, remembering
from narrows.physical.kept_groups import endless_groups
from narrows.physical.nodes import (
    PhysicalBatch,
    PhysicalEncoder,
    PhysicalProject,
    PhysicalReader,
    PhysicalStreamingAggregation,
)
from narrows.physical.relational_nodes import PhysicalUnion
from narrows.physical.window_groups import window_groups
from narrows.physical.window_rows import window_rows
from narrows.projection.columns import Aspect, DecodeProjection, Path


class ExecutionMode(Enum):
    COPY = "copy"
    CONTINUOUS = "continuous"
    JOBS = "jobs"
    KEYED = "keyed"
    GROUPED = "grouped"
    WINDOWS = "windows"
    GROUPS = "groups"
    TABLES = "tables"
    STREAM = "stream"


@dataclass(frozen=True)
class Execution:
    mode: ExecutionMode
    reason: str


def execution_of(plan: Node, *, low_latency: bool = False) -> Execution:
    """How the pipeline of a physical plan runs. For low latency it must be one whose readers write
    (`low_latency.py`)."""
    rows = rows_of(plan)
    sources = [node for node in topological(rows) if isinstance(node, DecodedSource)]
    shared = [node for node in sources if node.source.shared]
    keeping = next(filter(keeps_between_batches, topological(rows)), None)
    if shared and len(sources) == 1 and keeping is None:
        name = shared[0].source.name
        how = "and its readers write" if read_alone(rows) else "and every entry stands by itself"
        how += ", in tasks that run as long as it does" if low_latency else ""
        return Execution(ExecutionMode.GROUPED, f"`{name}` is shared, nothing is kept, {how}")
    reader = read_alone(rows)
    if not shared and reader is not None and reader.source.is_fed:
        why = "they compute what is selected" if plain_read(rows) is None else "nothing is computed"
        if low_latency:
            how = f"its readers write, for {why}, in tasks that run as long as it does"
            return Execution(ExecutionMode.CONTINUOUS, how)
        return Execution(ExecutionMode.COPY, f"its readers write, for {why}")
    streams = [node.source for node in sources if not node.source.bounded]
    is_one = len(streams) == 1 and streams[0].is_fed
    if keeping is None and (is_one or read_together(rows)):
        return Execution(ExecutionMode.JOBS, f"{_what_spark_does(rows)}, and nothing is kept")
    if keeping is not None and _all_kept_by_tasks(rows):
        how = "tasks keep what is remembered of rows, key by key"
        if isinstance(keeping, Join):
            how = "tasks keep the rows of both streams, key by key"
        return Execution(ExecutionMode.KEYED, how)
    writes = isinstance(rows, PhysicalProject) and rows.in_reader
    then = "tasks write" if writes else "Spark computes the rows of"
    if window_groups(rows) is not None:
        how = f"its readers fold rows into windows, and {then} those that close"
        return Execution(ExecutionMode.WINDOWS, how)
    groups = endless_groups(rows)
    if groups is not None:
        which = "have changed" if groups.partial.calls else "are new"
        how = f"its readers fold rows into groups, and {then} those that {which}"
        return Execution(ExecutionMode.GROUPS, how)
    if window_rows(rows) is not None:
        how = "its readers keep the rows of windows, and Spark computes with those that close"
        return Execution(ExecutionMode.WINDOWS, how)
    if kept_window(rows) is not None:
        return Execution(ExecutionMode.TABLES, "a window keeps its rows until it closes")
    if batch_of_rows(rows) is not None:
        return Execution(ExecutionMode.TABLES, "each micro-batch is sorted by itself")
    return Execution(ExecutionMode.STREAM, _why_a_query(sources, shared, keeping))


def _all_kept_by_tasks(rows: Node) -> bool:
    return all(map(is_kept_by_tasks, remembering(rows)))


def _what_spark_does(rows: Node) -> str:
    if made_of(rows) is not None:
        return "Spark computes columns"
    if read_together(rows):
        return "Spark puts the rows of streams together"
    sorts = batch_of_rows(rows) is not None
    return "Spark sorts the rows of an entry" if sorts else "Spark joins with tables"


def _why_a_query(
    sources: Sequence[DecodedSource], shared: Sequence[DecodedSource], keeping: Node | None
) -> str:
    if keeping is not None:
        return f"{keeping.operator.removeprefix('Physical')} needs more than one micro-batch's rows"
    frames = [node.source.name for node in sources if node.source.comes_as_frame]
    if frames and not shared:
        return f"Spark reads `{frames[0]}`"
    return "Spark computes columns"


def read_together(rows: Node) -> bool:
    """Are entries of several streams read together, though nothing is kept of them?"""
    return any(isinstance(node, PhysicalUnion) and node.by_entry for node in topological(rows))


# --- what a plan is made of -----------------------------------------------------------------------


def rows_of(plan: Node) -> Node:
    """The node whose rows the sinks write: what is below batches, encoders and sinks."""
    node = plan
    while isinstance(node, (Tail, DataSink, PhysicalEncoder, PhysicalBatch)):
        node = node.children[0]
    return node


def kept_window(plan: Node) -> Node | None:
    """The window whose rows an aggregation above it folds when it closes."""
    for node in topological(plan):
        if isinstance(node, Aggregation) and node.folds:
            for below in topological(node):
                if isinstance(below, Window) or is_folding_window(below):
                    return below
    return None


def is_folding_window(node: Node) -> bool:
    """Is it a window that rows cut, and that folds them itself? What it gives comes together in one
    micro-batch, as the rows of a window do that keeps them."""
    return isinstance(node, PhysicalStreamingAggregation) and node.remembers_rows


def batch_of_rows(plan: Node) -> Node | None:
    """The node whose rows are a table of their own in each micro-batch, of which all that stands
    above it is made: a window that keeps its rows, or what is sorted batch by batch."""
    window = kept_window(plan)
    if window is not None:
        return window
    for node in topological(plan):
        if isinstance(node, Sort) and node.per_batch and is_stream(node):
            return node.child
    return None


@dataclass(frozen=True)
class PlainRead:
    """A projection that computes nothing: the reader below it, and what is selected of it."""

    reader: PhysicalReader
    selected: tuple[Path, ...]


def plain_read(rows: Node) -> PlainRead | None:
    """The reader of a plan that only selects values of a source as they stand there; None where
    something is computed, or selected twice."""
    reader = rows.children[0] if isinstance(rows, PhysicalProject) else None
    if not isinstance(rows, PhysicalProject) or not isinstance(reader, PhysicalReader):
        return None
    paths = selected_paths(rows, reader)
    found = tuple(path for path in paths if path is not None)
    if len(found) < len(paths) or len(set(found)) < len(found):
        return None
    return PlainRead(reader, found)


def selected_paths(project: PhysicalProject, reader: PhysicalReader) -> list[Path | None]:
    """For each computed field the column of the reader that it is; None where something has to be
    computed, or taken out of what the reader ships whole. For all of them at once: what a reader
    ships may be 15 000 columns."""
    source = reader.source
    shipped = DecodeProjection(source.schema, reader.shipped, metadata=source.metadata).by_place
    paths = [source_path(named.expr, reader.relation.id) for _, named in project.computed]
    return [p if p is not None and (p, Aspect.VALUE) in shipped else None for p in paths]


def made_of(rows: Node) -> DecodedSource | None:
    """The source of which these rows are made, each of one row and of nothing else; None where rows
    meet others: those of a table, of the same batch, or of batches before."""
    node = rows
    while isinstance(node, (Filter, Project, Generate)):
        (node,) = node.children
    return node if isinstance(node, DecodedSource) else None


class MadeOfEntry(NamedTuple):
    """Rows that are made of those of one stream, one by one, and of tables that they are joined
    with; or of several streams, put together or joined by tasks that keep their rows. And then
    sorted, it may be."""

    sources: tuple[DecodedSource, ...]
    tables: tuple[DecodedSource, ...] = ()
    meets_others: bool = False
    """Does a row meet others of the entry: to be sorted, or because something is remembered?"""


def made_of_entry(rows: Node) -> MadeOfEntry | None:
    """What these rows are made of; None where they meet others in another way."""
    node, tables, meets_others = rows, list[DecodedSource](), False
    while not isinstance(node, DecodedSource):
        match node:
            case Filter() | Project() | Generate():
                (node,) = node.children
            case Sort(child=child):
                node, meets_others = child, True
            case UnaryNode(child=child) if is_kept_by_tasks(node) or isinstance(node, Aggregation):
                node, meets_others = child, True
            case Join(left=left, right=right) if is_kept_by_tasks(node):
                return _made_of_sides((left, right), tables, meets_others=True)
            case PhysicalUnion(inputs=inputs) if node.by_entry:
                return _made_of_sides(inputs, tables, meets_others=meets_others)
            case Join(left=left, right=right) if is_stream(left) != is_stream(right):
                node, other = (left, right) if is_stream(left) else (right, left)
                table = made_of(other)
                if table is None:
                    return None
                tables.append(table)
            case _:
                return None
    return MadeOfEntry((node,), tuple(tables), meets_others)


def _made_of_sides(
    sides: Sequence[Node], tables: Sequence[DecodedSource], *, meets_others: bool
) -> MadeOfEntry | None:
    made = [made_of_entry(side) for side in sides]
    known = [each for each in made if each is not None]
    if len(known) < len(made):
        return None
    return MadeOfEntry(
        tuple(source for each in known for source in each.sources),
        (*tables, *(table for each in known for table in each.tables)),
        meets_others or any(each.meets_others for each in known),
    )


def read_alone(rows: Node) -> PhysicalReader | None:
    """The reader that does everything there is to do for these rows; None if Spark has a part."""
    if isinstance(rows, PhysicalProject) and rows.in_reader:
        return rows.child if isinstance(rows.child, PhysicalReader) else None
    plain = plain_read(rows)
    return None if plain is None else plain.reader
