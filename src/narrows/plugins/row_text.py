"""Texts that are made of a row: `topic = '{site}-alarms'`.

A name in braces stands for the value of that column; `{{` and `}}` are braces. The columns are
columns of the pipeline's query, which the planner checks and keeps; the text is made in the workers
(`connectors/row_texts.py`). Any option of any sink may be one, if it says so:

    OptionSpec("topic", "where rows go", columns_in=columns_of_text)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

ColumnsIn = Callable[[str], tuple[str, ...]]
"""The columns that an option's value names. Raises `RowTextError` where it is not well formed."""

_PIECE = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<column>[^{}]*)\}|(?P<lone>[{}])|(?P<text>[^{}]+)")


class RowTextError(ValueError):
    """A text that is not well formed; `start` and `end` say where in it."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


@dataclass(frozen=True)
class Column:
    """The value of a column."""

    name: str


@dataclass(frozen=True)
class RowText:
    """Constant pieces and columns, one after the other.

    >>> parse_row_text("{site}-alarms")
    RowText(pieces=(Column(name='site'), '-alarms'))
    >>> parse_row_text("{{x}}").constant
    '{x}'
    """

    pieces: tuple[str | Column, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(piece.name for piece in self.pieces if isinstance(piece, Column))

    @property
    def constant(self) -> str | None:
        """The text, if it is the same for all rows."""
        texts = [piece for piece in self.pieces if isinstance(piece, str)]
        return "".join(texts) if len(texts) == len(self.pieces) else None


def parse_row_text(text: str) -> RowText:
    pieces: list[str | Column] = []
    for found in _PIECE.finditer(text):
        if found["lone"]:
            message = f"`{found['lone']}` stands alone; write it twice if you mean the character"
            raise RowTextError(message, found.start(), found.end())
        if found["column"] is None:
            pieces.append(found["text"] or found["brace"][0])
        elif not found["column"].strip():
            raise RowTextError("there is no column between the braces", found.start(), found.end())
        else:
            pieces.append(Column(found["column"].strip()))
    return RowText(tuple(pieces))


def parse_column_or_text(text: str) -> RowText:
    """A column by its name, or a text with columns in braces.

    >>> parse_column_or_text("id"), parse_column_or_text("k-{id}").columns
    (RowText(pieces=(Column(name='id'),)), ('id',))
    """
    parsed = parse_row_text(text)
    name = parsed.constant
    if name is None:
        return parsed
    if not name.strip():
        raise RowTextError("it names no column", 0, len(text))
    return RowText((Column(name.strip()),))


def parse_named_texts(text: str) -> dict[str, RowText]:
    """Texts by name, as a JSON object: `{"site": "{site}", "by": "narrows"}`."""
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise RowTextError("it is no JSON object of texts", 0, len(text))
    try:
        return {name: parse_row_text(value) for name, value in given.items()}
    except RowTextError as error:
        raise RowTextError(str(error), 0, len(text)) from error


def columns_of_list(text: str) -> tuple[str, ...]:
    """Columns by their names, with commas between them.

    >>> columns_of_list("site, day"), columns_of_list("")
    (('site', 'day'), ())
    """
    if not text:
        return ()
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise RowTextError("there is no column between two commas", 0, len(text))
    return names


def columns_of_text(text: str) -> tuple[str, ...]:
    return parse_row_text(text).columns


def columns_of_column_or_text(text: str) -> tuple[str, ...]:
    return parse_column_or_text(text).columns


def columns_of_named_texts(text: str) -> tuple[str, ...]:
    return tuple(name for text in parse_named_texts(text).values() for name in text.columns)
