"""CSV: a line is a row."""

from __future__ import annotations

from narrows.formats.base import Format, Join, OptionMap
from narrows.formats.decoder import RecordDecoder
from narrows.formats.encoder import Encoder
from narrows.formats.time_patterns import TIME_OPTIONS
from narrows.plugins.options import OptionSpec
from narrows.schema import Struct, is_nested

_OPTIONS = (
    OptionSpec(
        "header",
        "the first line of a file names the columns",
        type=bool,
        default=False,
        of_files=True,
    ),
    OptionSpec("delimiter", "what stands between values", default=","),
)


def _flat(columns: Struct) -> str | None:
    nested = [field.name for field in columns if is_nested(field.type)]
    return f"format `csv` has no nested values, and `{nested[0]}` is one" if nested else None


def _decoder(options: OptionMap) -> RecordDecoder:
    from narrows.formats.csv.decoder import CsvDecoder

    return CsvDecoder(options)


def _encoder(options: OptionMap) -> Encoder:
    from narrows.formats.csv.encoder import make

    return make(options)


def _joined(options: OptionMap) -> Join | None:
    from narrows.formats.join_lines import join_below_header, join_lines

    return join_below_header if options.get("header") else join_lines


FORMAT = Format(
    name="csv",
    source_options=(*_OPTIONS, *TIME_OPTIONS),
    sink_options=_OPTIONS,
    check_schema=_flat,
    check_outputs=_flat,
    decoder=_decoder,
    encoder=_encoder,
    joined=_joined,
    supports_by_index_projection=True,
    writes_messages=True,
    supports_streaming=True,
    field_options=("delimiter",),
)
