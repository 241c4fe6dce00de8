"""What a format is: one object, for those who plan and for those who decode and encode.

    FORMAT = Format(name="mine", source_options=(), decoder=MyDecoder)

What it declares is `FormatSpec`; what runs are functions that make a decoder, a reader or an
encoder of the options of a source or sink. They are called in the workers. Their modules should be
imported there, too, inside of the functions: planning loads the object, and must not load Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Never

from narrows.errors import Code, InternalError, fail
from narrows.formats.decoder import ContainerReader, FoundDocuments, RecordDecoder
from narrows.formats.encoder import Encoder
from narrows.plugins.declared import Container, FormatSpec
from narrows.plugins.registry import FORMATS

OptionMap = Mapping[str, object]
"""The options of a source or a sink, and `timezone`: the zone of times that name none."""


Join = Callable[[Sequence[Path], IO[bytes]], int]
"""Writes the rows of several files into one, in their order; answers with how many of the files it
has taken, one at least: where one is of another kind than those before it, it ends."""


def _none(given: object) -> Never:
    raise InternalError("the format has no such direction")


@dataclass(frozen=True, kw_only=True, eq=False)
class Format(FormatSpec):
    decoder: Callable[[OptionMap], RecordDecoder] = _none
    """Makes what decodes payloads: those that stand on lines, and those that are delivered."""
    reader: Callable[[OptionMap], ContainerReader] = _none
    """Makes what reads files that are containers."""
    documents: Callable[[Iterator[bytes]], Iterator[FoundDocuments]] = _none
    """Finds the payloads in the bytes of a file that holds `Documents`; see `FoundDocuments`."""
    encoder: Callable[[OptionMap], Encoder] = _none
    joined: Callable[[OptionMap], Join | None] = lambda options: None
    """How files that a sink with such options has written become one; None if each must stay as it
    is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        reads, writes = self.source_options is not None, self.sink_options is not None
        needed = {
            "decoder": reads and self.takes_messages,
            "reader": reads and isinstance(self.framing, Container),
            "encoder": writes,
        }
        for part, is_needed in needed.items():
            if is_needed and getattr(self, part) is _none:
                raise ValueError(f"format `{self.name}` declares what needs a {part}, and has none")


def find_format(name: str) -> Format:
    """A format that statements have named, ready to run."""
    found = FORMATS.find(name)
    if not isinstance(found, Format):
        message = f"format `{name}` is declared, but cannot run: it is a {type(found).__name__}"
        raise fail(Code.BROKEN_PACKAGE, message, None, "make it a `narrows.formats.Format`")
    return found
