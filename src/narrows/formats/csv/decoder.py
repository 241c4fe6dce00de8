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

from narrows.arrow.batches import batch_of
from narrows.arrow.conversion import from_text
from narrows.arrow.names import places_by_name
from narrows.arrow.types import arrow_type
from narrows.errors import Code, InternalError, fail
from narrows.formats.base import OptionMap
from narrows.formats.decoder import BadPayload, Decoded
from narrows.formats.text.decoder import NOT_UTF8, is_utf8
from narrows.formats.time_columns import TimeForms, counted, forms_of, rewritten, rewritten_dates
from narrows.projection.columns import DecodeProjection
from narrows.schema import DATE, TIMESTAMP, DataType

_NO_TEXTS = pa.array([], pa.string())


class CsvDecoder:
    def __init__(self, options: OptionMap | None = None) -> None:
        self._options = options = options or {}
        self._delimiter = _checked_delimiter(options.get("delimiter", ","))
        self._times = forms_of(options)
        self.has_header = options.get("header") is True
        """Does the first line of each file name the columns? Then `with_header` must be used."""
        self._header: list[str] | None = None
        self._layout: _Layout | None = None

    def with_header(self, line: bytes) -> CsvDecoder:
        """A decoder for the lines of a file that begins with this header."""
        decoder = CsvDecoder(self._options)
        text = line.decode("utf-8", errors="replace")
        try:
            decoder._header = next(csv.reader([text], delimiter=self._delimiter), [])
        except csv.Error:
            decoder._header = []  # whatever it is, it names no column
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
        parsed = layout.parse(positions, payloads, bad) if payloads else ()
        table = pa.concat_tables([layout.no_rows, *parsed])
        columns, mistyped = layout.columns(table)
        return Decoded(
            batch_of(projection, columns, table.num_rows),
            [BadPayload(position, bad[position]) for position in sorted(bad)],
            mistyped,
            [p for p in positions if p not in bad] if bad else None,
        )

    def _lay_out(self, projection: DecodeProjection) -> _Layout:
        schema = projection.schema
        if self._header is not None:
            places, width = places_by_name(self._header, schema), len(self._header)
        elif self.has_header:
            raise InternalError("a file with a header is read by the decoder `with_header` makes")
        else:
            places, width = {name: place for place, name in enumerate(schema.names)}, len(schema)
        return _Layout(projection, places, width, self._delimiter, self._times)


def _unusable(payload: bytes) -> str | None:
    if not payload:
        return "empty"
    return None if is_utf8(payload) else NOT_UTF8


class _Layout:
    """How lines of so many fields become the columns of a projection."""

    def __init__(
        self,
        projection: DecodeProjection,
        places: Mapping[str, int],
        width: int,
        delimiter: str,
        times: TimeForms,
    ) -> None:
        self.projection = projection
        self.problem = None if places else "the header of the file names none of the columns"
        # To Arrow fields are called by their places, for names in a header may repeat.
        wanted = [places.get(str(column.path[0])) for column in projection.columns]
        self._fields = [None if place is None else str(place) for place in wanted]
        # Of no columns Arrow would make all; one is needed, to count rows by.
        included = sorted({name for name in self._fields if name is not None}) or ["0"]
        self.no_rows = pa.table(dict.fromkeys(included, _NO_TEXTS))
        self._names = [str(place) for place in range(width)]
        self._delimiter = delimiter
        self._times = times
        self._shield = delimiter.encode("ascii") * (width - 1)
        self._convert_options = pyarrow.csv.ConvertOptions(
            include_columns=included,
            column_types=dict.fromkeys(included, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
            check_utf8=False,  # that has been done
        )

    def columns(self, table: pa.Table) -> tuple[list[pa.Array], int]:
        """The columns of the projection, and how many of their values were not of their types.

        Columns of one type are converted together: for 15 000 columns and the few rows of a block
        it is the number of calls that counts.
        """
        rows = table.num_rows
        made: dict[int, pa.Array] = {}
        mistyped = 0
        by_type: dict[DataType, list[int]] = {}
        for place, column in enumerate(self.projection.columns):
            if self._fields[place] is None:
                made[place] = pa.nulls(rows, arrow_type(column.dtype))
            else:
                by_type.setdefault(column.dtype, []).append(place)
        for dtype, places in by_type.items():
            chunks = [chunk for p in places for chunk in table.column(self._fields[p]).chunks]
            texts = pa.concat_arrays([_NO_TEXTS, *chunks])
            values = self._values(texts, dtype)
            mistyped += values.null_count - texts.null_count
            for number, place in enumerate(places):
                made[place] = values.slice(number * rows, rows)
        return [made[place] for place in range(len(self.projection.columns))], mistyped

    def _values(self, texts: pa.Array, dtype: DataType) -> pa.Array:
        times = self._times
        if dtype == TIMESTAMP:
            if times.unit is not None:
                return counted(texts, times.unit).cast(arrow_type(dtype))
            texts = rewritten(texts, times.timestamp)
        elif dtype == DATE:
            texts = rewritten_dates(texts, times.date)
        return from_text(texts, dtype, times.zone)

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
