"""What a connector is: how payloads come in, and how they go out.

    source      what there is ──► an entry, journaled ──► ranges for tasks ──► parts, decoded
    sink        rows of a task ──► written, not yet to be seen ──► a receipt ──► published

**Exactly once** comes from one idea. What a micro-batch reads is an *entry*: small, JSON, and in
the log (`entry_log.py`) before anybody reads it. The same entry is always cut into the same ranges,
so a batch that is run again reads the same; and what a batch wrote is published under its number,
so it replaces what it had published before.

Nothing outside of `connectors/` knows which connector it deals with. Admission limits, dead
letters, counts, event time and shared streams work for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Never, Protocol, runtime_checkable

from narrows.connectors.entry_log import Entry, TakenEntries
from narrows.connectors.inbox import Inbox
from narrows.connectors.target import SinkTarget
from narrows.errors import Code, InternalError, NarrowsError, Problem, fail
from narrows.formats.base import Format
from narrows.formats.decoder import ContainerReader, Decoded, RecordDecoder
from narrows.plugins.declared import ConnectorSpec
from narrows.plugins.registry import CONNECTORS
from narrows.projection.columns import DecodeProjection
from narrows.projection.predicate import Predicate
from narrows.schema import Struct

if TYPE_CHECKING:  # planning loads the declarations, and must not load Arrow
    import pyarrow as pa

Available = Any
"""What a source has at a moment; made by its connector, and understood by it alone."""

Position = Mapping[str, Any]
"""Where a payload was found, for people: `{"file": ..., "offset": ...}`."""


# --- sources --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceDeclaration:
    """A stream or table, as far as its connector is concerned."""

    name: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    bounded: bool = False
    pipeline: str | None = None
    """For which one it is read; None for a shared stream, which reads for all, and for queries."""
    reader: str | None = None
    """Who takes entries of it: another name for each, and the same after a restart. None for
    queries, which take none."""
    schema: Struct | None = None
    """The columns of its payloads; None where nobody has asked for them."""
    folder: str | None = None
    """Where sources of its connector may keep what they must not lose: a folder of the state
    folder, for all of them. None where nothing can be kept."""

    def limit(self, option: str) -> int | None:
        value = self.options.get(option)
        return value if isinstance(value, int) else None


class Range(Protocol):
    """Payloads that one task reads one after the other. Carried to the workers."""

    @property
    def key(self) -> str:
        """The same for the same payloads: dead letters and counts are named after it, so that
        reading twice leaves them once."""


@runtime_checkable
class Segmented(Protocol):
    """A range whose rows were read from other ranges before: where they stood there.

    `runs` has the number of such a range and how many of its rows follow, in the order of the rows.
    """

    @property
    def batch(self) -> int: ...

    @property
    def runs(self) -> Sequence[tuple[int, int]]: ...


class Share(NamedTuple):
    """What one task reads of an entry, and the place that each range has there."""

    ranges: Sequence[Range]
    places: Sequence[int]


class Lag(NamedTuple):
    """How far a stream's reader is behind; None for what cannot be told."""

    payloads: int | None = None
    bytes: int | None = None
    units: int | None = None
    """What its connector takes one by one: files, segments."""
    partitions: Mapping[str, int] | None = None
    """Payloads, for each part that its connector reads by itself: `{"orders:0": 17}`."""


class SourceUnavailableError(NarrowsError):
    """A source cannot be asked now, and may be asked again later: a broker that is away.

    Raised by `available`, `admit` or `split` while a pipeline runs, it is asked again for as long
    as the pipeline runs, with pauses that grow. Raised by a reader, it fails the task.
    """

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(Problem(Code.SOURCE_UNAVAILABLE, reason, hint=hint))


class SourceConnector(ABC):
    """A declared stream or table. Made on the driver and, for `split`, in the workers."""

    @abstractmethod
    def available(self) -> Available:
        """What there is to read now. Raises where a table is not there at all."""

    @abstractmethod
    def admit(self, log: TakenEntries, available: Available) -> Entry | None:
        """What the next micro-batch reads: the first that is available and not in the log, as much
        of it as the stream's limits allow. None if there is nothing."""

    @abstractmethod
    def whole(self, available: Available) -> Entry:
        """All that is available as one entry, for a bounded read."""

    @abstractmethod
    def split(self, entry: Entry, tasks: int) -> Sequence[Share]:
        """Shares out an entry to so many tasks at most; the same entry always in the same way."""

    @abstractmethod
    def size(self, entry: Entry) -> int:
        """Bytes of payload that an entry stands for, about."""

    @abstractmethod
    def version(self, available: Available) -> str:
        """Changes whenever what is available does."""

    def lag(self, log: TakenEntries, available: Available) -> Lag:
        """What is available and not in the log."""
        return Lag()

    def committed(self, entry: Entry) -> None:  # noqa: B027 (most need not know)
        """Everything up to this entry is published. What it raises stops nobody: there is a
        warning, and the next entry tells of this one, too."""

    def folded(self, entries: Iterable[Entry]) -> Entry | None:
        """One entry that says of what was taken all that these say together, in their order; None
        where that would be no shorter. Nobody will read what it stands for."""
        return None

    def reserve(self) -> None:  # noqa: B027 (most keep what they have)
        """Somebody is about to read it, so what is there now must not go before. Only on the
        driver; of all who start together, before the first of them reads."""

    # --- sources that must listen -----------------------------------------------------------------

    def start(self) -> None:  # noqa: B027 (most are asked, and need not listen)
        """Somebody reads it from now on, and until `stop`, whatever comes. Only on the driver, and
        not for those who want no more than what is there."""

    def stop(self) -> None:  # noqa: B027
        """Nobody reads it any more, for now. Called also where `start` has raised or was not."""

    @property
    def problem(self) -> str | None:
        """What keeps new payloads from coming, though what has come can be read; None if all is
        well. For people."""
        return None


# --- reading, in the workers ----------------------------------------------------------------------


@dataclass(frozen=True)
class Decoding:
    """How a task decodes what it reads."""

    format: Format
    decoder: Callable[[], RecordDecoder]
    """What decodes payloads: the same for all ranges of a worker."""
    container: Callable[[], ContainerReader]
    """What reads files of a format that is a container."""
    projection: DecodeProjection
    """What is wanted of the payloads."""
    metadata: tuple[str, ...] = ()
    """Which metadata columns are wanted; a reader makes these, in this order, and no others."""
    skipping: Predicate | None = None
    """Rows for which this does not hold need not be decoded at all."""
    encodes: bool = False
    """Are parts of the payloads copied into a sink's payloads?"""
    takes_null_payloads: bool = False
    """Is a payload that is NULL a row? It is where a query asks for metadata alone, and then the
    projection is empty. Else there is nothing to decode, and nothing bad about it either."""


class Payloads(Protocol):
    """Payloads that were decoded together, for whoever wants to see one that is bad."""

    def payload(self, number: int) -> bytes: ...

    def position(self, number: int) -> Position: ...


class Part(NamedTuple):
    """Some rows of a range, and the payloads that they came from; None where there are none."""

    decoded: Decoded
    size: int
    payloads: Payloads | None = None
    metadata: Sequence[pa.Array | pa.Scalar] = ()
    """For each column of `Decoding.metadata` its values: one for each payload, bad ones included
    (for each row, where there are no payloads); or a scalar, where all have the same."""


class LostRangeError(NarrowsError):
    """What a range stands for, or the rest of it, cannot be had, and trying again will not help.

    It is one dead letter, under the `key` of what is lost; the rows so far are good.
    """

    def __init__(
        self, key: str, position: Position, reason: str, *, damaged: bool, counted: bool = True
    ) -> None:
        super().__init__(Problem(Code.UNREADABLE_FILE, reason))
        self.key = key
        self.position = position
        self.reason = reason
        self.damaged = damaged
        """It is there, but not what it should be. Else it is gone, which `on_missing` is about."""
        self.counted = counted
        """Is it for this range to count the loss, where counts are not kept by key?"""


class RangeReader(Protocol):
    """Reads ranges of one source, in a worker.

    It is made for every share, and nobody closes it: what is dear to make, like a connection, its
    connector keeps for the next.
    """

    def parts(self, read: Any) -> Iterator[Part]:
        """The rows of a range; `read` is one that the source's `split` made."""


@runtime_checkable
class SamplingReader(RangeReader, Protocol):
    """A reader that can find the newest payload, and leave the others undecoded."""

    def newest(self, ranges: Sequence[Any]) -> Iterator[Part]:
        """The newest payload of ranges, which stand in the order in which their payloads came;
        nothing where there is none. What is lost is raised as `parts` does."""


# --- sinks ----------------------------------------------------------------------------------------


Receipt = Any
"""What a task wrote, as JSON, for whoever publishes it."""


class SinkTask(Protocol):
    """The rows of one task on their way into a sink."""

    def add(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> Receipt:
        """All rows are written, though nobody sees them yet."""

    def discard(self) -> None:
        """The task has failed: nothing of what it wrote will be published."""


class SinkConnector(ABC):
    """A sink of a pipeline: its tasks write in the workers, the driver publishes."""

    @abstractmethod
    def open_task(self, batch: int, task: int) -> SinkTask:
        """Takes the rows of one task of a batch. A batch that is run again has the same number, and
        a task that is tried again has the same; how many tasks there are may differ."""

    @abstractmethod
    def publish(self, batch: int, receipts: Sequence[Receipt]) -> None:
        """Makes visible what the tasks of a batch wrote, in place of what it showed before."""

    @abstractmethod
    def discard(self, receipts: Sequence[Receipt]) -> None:
        """Removes what the tasks of a failed batch wrote."""

    def sweep(self) -> None:  # noqa: B027 (not everything leaves something behind)
        """Removes what crashes left. Only while no task of the pipeline runs."""


# --- the connector --------------------------------------------------------------------------------


def _none(*given: object) -> Never:
    raise InternalError("the connector has no such direction")


@dataclass(frozen=True, kw_only=True, eq=False)
class Connector(ConnectorSpec):
    """What a connector declares, and what runs: functions that make it of a declaration.

    Their modules should be imported inside of them: planning loads the object, and must not load
    Arrow, nor a client library.
    """

    source: Callable[[SourceDeclaration], SourceConnector] = _none
    reader: Callable[[SourceDeclaration, Decoding], RangeReader] = _none
    sink: Callable[[SinkTarget], SinkConnector] = _none
    place: Callable[[Mapping[str, Any], str], str] = lambda options, folder: folder
    """Where a sink with such options keeps what it writes; it may use a folder of ours."""

    put_back: Callable[[SourceDeclaration, str, bytes], None] | None = None
    """Puts a payload among what a stream has, under a name, so that every pipeline reads it once;
    the same payload under the same name is put back once, however often that is asked for. None
    where nothing can be put back."""

    compact: Callable[[SinkTarget, int], tuple[int, int]] | None = None
    """Puts small files of a sink together, into such as have so many bytes; how many files, and
    into how many. None where there are none."""

    inbox: Callable[[SourceDeclaration], Inbox] | None = None
    """Where payloads can be brought to a stream, by whoever has some; None where they cannot."""

    def __post_init__(self) -> None:
        for column in self.metadata:
            if not column.startswith("_"):
                message = f"metadata column `{column}` of connector `{self.name}` must begin with _"
                raise ValueError(message)
        reads = self.source_options is not None and self.has_entries
        needed = {"source": reads, "reader": reads, "sink": self.sink_options is not None}
        for part, is_needed in needed.items():
            if is_needed and getattr(self, part) is _none:
                message = f"connector `{self.name}` declares what needs a {part}, and has none"
                raise ValueError(message)


def find_connector(name: str) -> Connector:
    """A connector by its name, on the driver and in the workers."""
    found = CONNECTORS.find(name)
    if not isinstance(found, Connector):
        message = f"connector `{name}` is declared, but cannot run: it is a {type(found).__name__}"
        raise fail(Code.BROKEN_PACKAGE, message, None, "make it a `narrows.connectors.Connector`")
    return found
