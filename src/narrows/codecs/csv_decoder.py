"""CSV: a payload is a line, a line is a row.

Arrow splits all lines of a block into fields in one go, and only fields of demanded columns are
made values. Lines are as RFC 4180 has them, but for line ends inside quotes: a line end always ends
the row, because a file is cut into ranges at line ends. An empty field is NULL, `""` is an empty
string. A line with another number of fields than there are columns makes no row, whatever is
demanded, and neither does one that is not UTF-8 or in which a quote is left open.

With `header`, the first line of each file names its columns: those of the schema are looked up by
name, in any order, and read as NULL when the file does not have them. (Spark goes by position and
silently reads one column as another when the order differs.) Only the file knows its header, so
whoever reads it makes a decoder for each file: see `with_header`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.csv

from narrows.codecs.arrow_types import arrow_type
from narrows.codecs.batches import batch_of
from narrows.codecs.conversion import from_text
from narrows.codecs.decoder import BadPayload, Decoded, register_decoder
from narrows.codecs.projection import DecodeProjection
from narrows.codecs.text_decoder import NOT_UTF8, is_utf8
from narrows.errors import Code, InternalError, NarrowsError, Problem, fail
from narrows.schema import Struct, is_scalar


class CsvDecoder:
    def __init__(self, options: Mapping[str, object] | None = None) -> None:
        options = options or {}
        self._delimiter = _checked_delimiter(options.get("delimiter", ","))
        self.has_header = options.get("header") is True
        """Does the first line of each file name the columns? Then `with_header` must be used."""
        self._header: list[str] | None = None
        self._layout: _Layout | None = None

    @staticmethod
    def check_schema(schema: Struct) -> None:
        """Refuses a schema that lines of CSV cannot have."""
        hint = "declare it as STRING, and read it with `from_json`"
        problems = [
            Problem(
                Code.WRONG_TYPE, f"column `{c.name}` is {c.type}: CSV has no such values", hint=hint
            )
            for c in schema
            if not is_scalar(c.type)
        ]
        if problems:
            raise NarrowsError(*problems)

    def with_header(self, line: bytes) -> CsvDecoder:
        """A decoder for the lines of a file that begins with this header."""
        decoder = CsvDecoder({"delimiter": self._delimiter, "header": True})
        text = line.decode("utf-8", errors="replace")
        decoder._header = next(csv.reader([text], delimiter=self._delimiter), [])
        return decoder

    def decode_with_projection(
        self, payloads: Sequence[bytes], projection: DecodeProjection
    ) -> Decoded:
        if self._layout is None or self._layout.projection is not projection:
            self._layout = self._lay_out(projection)
        layout = self._layout
        bad: dict[int, str] = {}
        positions: Sequence[int] = range(len(payloads))
        if layout.problem is not None:
            bad = dict.fromkeys(positions, layout.problem)
            positions, payloads = [], []
        else:
            joined = b"\n".join(payloads)
            if b"\r" in joined or joined.count(b"\n") >= max(len(payloads), 1):
                payloads = [payload.rstrip(b"\r\n") for payload in payloads]
            if not all(payloads) or not is_utf8(joined):
                bad = {p: reason for p in positions if (reason := _unusable(payloads[p]))}
                positions = [p for p in positions if p not in bad]
                payloads = [payloads[p] for p in positions]
        tables = list(layout.parse(positions, payloads, bad)) if payloads else [layout.no_rows]
        table = pa.concat_tables(tables).combine_chunks()
        columns = [layout.column(table, place) for place in range(len(projection.columns))]
        return Decoded(
            batch_of(projection, [values for values, _ in columns], table.num_rows),
            [BadPayload(position, bad[position]) for position in sorted(bad)],
            sum(mistyped for _, mistyped in columns),
            [p for p in positions if p not in bad] if bad else None,
        )

    def _lay_out(self, projection: DecodeProjection) -> _Layout:
        schema = projection.schema
        self.check_schema(schema)
        if self._header is not None:
            places = _places(self._header, schema)
            return _Layout(projection, self._delimiter, places, len(self._header))
        if self.has_header:
            raise InternalError("a file with a header is read by the decoder `with_header` makes")
        places = {name: place for place, name in enumerate(schema.names)}
        return _Layout(projection, self._delimiter, places, len(schema))


def _places(header: Sequence[str], schema: Struct) -> dict[str, int]:
    """Where the columns of a schema stand: as the header spells them, else in another case."""
    exact = {name: place for place, name in reversed(list(enumerate(header)))}
    places = {name: exact.pop(name) for name in schema.names if name in exact}
    folded = {name.casefold(): place for name, place in exact.items()}
    for name in schema.names:
        if name not in places and name.casefold() in folded:
            places[name] = folded.pop(name.casefold())
    return places


def _unusable(payload: bytes) -> str | None:
    if not payload:
        return "empty"
    return None if is_utf8(payload) else NOT_UTF8


class _Layout:
    """How lines of so many fields become the columns of a projection."""

    def __init__(
        self, projection: DecodeProjection, delimiter: str, places: Mapping[str, int], width: int
    ) -> None:
        self.projection = projection
        self.problem = None if places else "the header of the file names none of the columns"
        # To Arrow fields are called by their places, for names in a header may repeat.
        wanted = [places.get(str(column.path[0])) for column in projection.columns]
        self._fields = [None if place is None else str(place) for place in wanted]
        # Of no columns Arrow would make all; one is needed, to count rows by.
        included = sorted({name for name in self._fields if name is not None}) or ["0"]
        self.no_rows = pa.table({name: pa.array([], pa.string()) for name in included})
        self._names = [str(place) for place in range(width)]
        self._delimiter = delimiter
        self._shield = delimiter.encode("ascii") * (width - 1)
        self._convert_options = pyarrow.csv.ConvertOptions(
            include_columns=included,
            column_types=dict.fromkeys(included, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
            check_utf8=False,  # that has been done
        )

    def column(self, table: pa.Table, place: int) -> tuple[pa.Array, int]:
        """A column of the projection, and how many of its values were not of its type."""
        dtype = self.projection.columns[place].dtype
        name = self._fields[place]
        if name is None:
            return pa.nulls(table.num_rows, arrow_type(dtype)), 0
        texts = pa.concat_arrays([pa.array([], pa.string()), *table.column(name).chunks])
        values = from_text(texts, dtype)
        return values, values.null_count - texts.null_count

    def parse(
        self, positions: Sequence[int], payloads: Sequence[bytes], bad: dict[int, str]
    ) -> Iterator[pa.Table]:
        """Fields of the demanded columns. What makes no row goes into `bad`.

        An open quote swallows the lines after it, and a line end inside a payload makes two rows of
        it. Then there is not one row for each payload, and the culprit is found by halving.
        """
        table = self._parse(positions, payloads, bad)
        if table is not None:
            yield table
        elif len(payloads) == 1:
            bad[positions[0]] = "a quote is not closed, or a line ends in the middle"
        else:
            half = len(payloads) // 2
            yield from self.parse(positions[:half], payloads[:half], bad)
            yield from self.parse(positions[half:], payloads[half:], bad)

    def _parse(
        self, positions: Sequence[int], payloads: Sequence[bytes], bad: dict[int, str]
    ) -> pa.Table | None:
        # The row before shields a byte order mark, which Arrow would drop; the row after is there
        # to be swallowed by an open quote in the last payload.
        data = b"\n".join((self._shield, *payloads, self._shield, b""))
        if len(payloads) > 1 and (b"\r" in data or data.count(b"\n") != len(payloads) + 2):
            return None
        wrong: dict[int, str] = {}

        def wrong_number(row: pyarrow.csv.InvalidRow) -> str:
            reason = f"{row.actual_columns} fields instead of {row.expected_columns}"
            wrong[row.number - 2] = reason
            return "skip"

        table = pyarrow.csv.read_csv(
            pa.py_buffer(data),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=self._names
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self._delimiter,
                ignore_empty_lines=False,
                invalid_row_handler=wrong_number,
            ),
            convert_options=self._convert_options,
        )
        if table.num_rows + len(wrong) != len(payloads) + 2:
            return None
        bad.update((positions[number], reason) for number, reason in wrong.items())
        return table.slice(1, table.num_rows - 2)


def _checked_delimiter(delimiter: object) -> str:
    usable = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not isinstance(delimiter, str) or not usable or delimiter in '"\r\n':
        message = f"option `delimiter` takes one ASCII character, not `{delimiter}`"
        raise fail(Code.INVALID_OPTION, message, None, "for example ',' or ';' or a tab")
    return delimiter


register_decoder("csv", CsvDecoder)
