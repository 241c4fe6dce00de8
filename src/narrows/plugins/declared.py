"""What formats and connectors declare, for those who plan: options, and what each can do.

This is the light half of them. The planner asks it before a byte is read, so nothing that decodes,
encodes or connects is loaded for it. What runs is added by `narrows.formats.base.Format` and the
connectors' own classes, in the same objects; `registry.py` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from narrows.files.ranges import TARGET
from narrows.plugins.options import DEFAULT_FORMAT, OptionSpec
from narrows.schema import DataType, Struct

OptionMap = Mapping[str, object]

Guarantee = Literal["exactly once", "at least once", "none"]

_ADDED = "it adds rows, and changes none"

NO_FORMAT = "none"
"""What is shown as the format of a sink that takes rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Declaration:
    """Something that a WITH clause names, and its options; None for a direction it lacks."""

    name: str
    source_options: tuple[OptionSpec, ...] | None = None
    sink_options: tuple[OptionSpec, ...] | None = None
    by_statement: bool = True
    """May statements name it? Some things are declared in other ways."""

    def options(self, *, sink: bool) -> tuple[OptionSpec, ...] | None:
        return self.sink_options if sink else self.source_options

    def columns_in(self, options: OptionMap) -> dict[str, tuple[str, ...]]:
        """The columns of a row that a sink's options name, by option."""
        specs = [spec for spec in self.sink_options or () if spec.name in options]
        return {s.name: s.columns_in(str(options[s.name])) for s in specs if s.columns_in}


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Files hold a payload a line."""

    keep_blank: bool = False
    """Is a blank line a payload?"""
    range_bytes: int = TARGET
    """How much of a file is read in one go; files are cut into ranges of about this size."""


@dataclass(frozen=True, kw_only=True)
class Documents:
    """Files hold payloads one after the other, however many lines each takes. Only who reads a file
    from its start finds where one ends, so files are not cut into ranges."""

    range_bytes: ClassVar[int] = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Container:
    """Files have a structure of their own: the format reads ranges of them by itself."""

    range_bytes: int = TARGET
    """As for lines. Where a file cannot be cut at all: more than a file can have."""
    columnar: bool = False
    """Are columns that nobody asks for not even read?"""
    takes_messages: bool = False
    """Can it decode single payloads, too, when a connector delivers them?"""


Framing = Lines | Documents | Container


@dataclass(frozen=True, kw_only=True, eq=False)
class FormatSpec(Declaration):
    """How payloads are written, as the planner sees it."""

    framing: Framing | None = Lines()
    """How payloads stand in files; None if they cannot: then a connector must deliver each."""
    framing_by_options: Callable[[OptionMap], Framing] | None = None
    """The same, where a source's options can change it."""
    check_schema: Callable[[Struct], str | None] = lambda schema: None
    """Why a source of this format cannot have such columns; None if it can."""
    check_outputs: Callable[[Struct], str | None] = lambda outputs: None
    """Why a sink of this format cannot write such columns; None if it can."""
    has_types: bool = False
    """Do its files say of which types values are? Then not every value can be read as a text."""
    kernel: Callable[[], str] | None = None
    """Which kernel decodes it in this process, for formats that more than one can."""

    suffix: str = ""
    """How the names of its files end; if not given, with the name of the format."""
    supports_by_index_projection: bool = False
    """Can its encoder splice fields that a reader has encoded?"""
    writes_messages: bool = False
    """Can its encoder make a payload of each row, too, for connectors that take messages?"""
    supports_streaming: bool = False
    """Can its encoder write a payload row by row, before the last row is known?"""
    field_options: tuple[str, ...] = ()
    """The options of a sink that change what a field looks like."""

    def __post_init__(self) -> None:
        if not self.suffix:
            object.__setattr__(self, "suffix", f".{self.name}")

    def framing_with(self, options: OptionMap) -> Framing | None:
        """How payloads stand in the files of a source with such options."""
        return self.framing_by_options(options) if self.framing_by_options else self.framing

    @property
    def is_columnar(self) -> bool:
        """Are values packed in its files, column by column? Then columns that nobody asks for are
        not read, and how large a file is does not say how many rows it has."""
        return isinstance(self.framing, Container) and self.framing.columnar

    @property
    def takes_messages(self) -> bool:
        """Can it decode a payload that a connector delivers by itself?"""
        return not isinstance(self.framing, Container) or self.framing.takes_messages


@dataclass(frozen=True, kw_only=True, eq=False)
class ConnectorSpec(Declaration):
    """Where payloads come from or go to, as the planner sees it."""

    delivers: Literal["files", "messages"] = "files"
    """What a source of it reads: files, in which payloads stand as the format says, or payloads.
    And what its sinks write: files of many rows, or a payload for each."""
    metadata: Mapping[str, DataType] = field(default_factory=dict)
    """Columns that come with the payloads of its sources, and that nobody declares: `_topic`. They
    are made when a query names them; `*` does not. Their names begin with `_`. A column of the
    same name that a source declares goes before one of these."""
    has_entries: bool = True
    """Does a stream of it know what it has, so that what a batch reads can be an entry in our log?
    Else it comes as a data frame, and Spark keeps how far it has come."""
    reads_back: Callable[[OptionMap, OptionMap], tuple[str, str] | None] = lambda source, sink: None
    """Would a source with such options read what a sink with those writes? Then what it reads, and
    what the sink writes to."""
    samples: bool = False
    """Can its readers find the newest payload of many, and decode no other? Then streams of it have
    the option `sample`."""
    identity: tuple[str, ...] = ()
    """The options of a source that say what it reads. With another value it is another source."""
    guarantee: Guarantee | Callable[[OptionMap], Guarantee] = "at least once"
    """What its sinks promise of every row, whatever is killed; it may depend on their options."""
    publishes_files: bool | Callable[[OptionMap], bool] = False
    """Do its sinks publish files that are named after pipeline and batch (`files/output_names.py`)?
    Then what a pipeline writes can be watched. It may depend on their options."""
    check_outputs: Callable[[Struct, OptionMap], str | None] = lambda outputs, options: None
    """Why a sink with such options cannot take such columns; None if it can."""
    replaced_by: Callable[[OptionMap], tuple[str, ...] | str] = lambda options: _ADDED
    """The columns by which rows of a sink with such options replace each other, so that the last
    one of each value is what is there in the end; or why they do not."""
    takes_rows: bool = False
    """Do its sinks take rows? Then nothing is encoded, and there is no format to choose."""
    default_sink_format: str = DEFAULT_FORMAT
    source_format: str | None = None
    """The format of what its sources read, where there is none to choose."""

    def promises(self, options: OptionMap) -> Guarantee:
        """The guarantee of a sink with such options."""
        return self.guarantee if isinstance(self.guarantee, str) else self.guarantee(options)

    def can_be_watched(self, options: OptionMap) -> bool:
        """Does a sink with such options publish files that can be watched?"""
        publishes = self.publishes_files
        return publishes if isinstance(publishes, bool) else publishes(options)
