"""Lines of text: to read, each is one row of one STRING column; to write, a template makes them."""

from __future__ import annotations

from narrows.formats.base import Format, Join, OptionMap
from narrows.formats.decoder import RecordDecoder
from narrows.formats.encoder import Encoder
from narrows.plugins.declared import Lines
from narrows.plugins.options import OptionSpec
from narrows.plugins.row_text import columns_of_text
from narrows.schema import STRING, Struct


def _one_string(schema: Struct) -> str | None:
    fits = len(schema) == 1 and schema.fields[0].type == STRING
    return None if fits else "format `text` has one column, a STRING: declare `(line STRING)`"


def _decoder(options: OptionMap) -> RecordDecoder:
    from narrows.formats.text.decoder import TextDecoder

    return TextDecoder(options)


def _encoder(options: OptionMap) -> Encoder:
    from narrows.formats.text.encoder import TextEncoder

    return TextEncoder(options)


_TEMPLATE = OptionSpec(
    "template",
    "what a row looks like: `{column}` stands for a value of the row",
    required=True,
    columns_in=columns_of_text,
    hint="for example '{device} is at {temperature}'",
)


def _joined(options: OptionMap) -> Join | None:
    from narrows.formats.join_lines import join_lines

    return join_lines


FORMAT = Format(
    name="text",
    source_options=(),
    sink_options=(_TEMPLATE,),
    check_schema=_one_string,
    framing=Lines(keep_blank=True),
    decoder=_decoder,
    encoder=_encoder,
    joined=_joined,
    writes_messages=True,
    supports_streaming=True,
)
