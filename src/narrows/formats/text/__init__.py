"""Lines of text: each is one row of one STRING column."""

from __future__ import annotations

from narrows.formats.base import Format, OptionMap
from narrows.formats.decoder import RecordDecoder
from narrows.plugins.declared import Lines
from narrows.schema import STRING, Struct


def _one_string(schema: Struct) -> str | None:
    fits = len(schema) == 1 and schema.fields[0].type == STRING
    return None if fits else "format `text` has one column, a STRING: declare `(line STRING)`"


def _decoder(options: OptionMap) -> RecordDecoder:
    from narrows.formats.text.decoder import TextDecoder

    return TextDecoder(options)


FORMAT = Format(
    name="text",
    source_options=(),
    check_schema=_one_string,
    framing=Lines(keep_blank=True),
    decoder=_decoder,
)
