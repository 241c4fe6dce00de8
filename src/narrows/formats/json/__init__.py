"""JSON: objects, one a line or one a message."""

from __future__ import annotations

from narrows.formats.base import Format, OptionMap
from narrows.formats.decoder import RecordDecoder
from narrows.formats.encoder import Encoder
from narrows.formats.kernel import chosen_kernel
from narrows.plugins.options import OptionSpec


def _decoder(options: OptionMap) -> RecordDecoder:
    from narrows.formats.json.decoder import make

    return make(options)


def _encoder(options: OptionMap) -> Encoder:
    from narrows.formats.json.encoder import make

    return make(options)


FORMAT = Format(
    name="json",
    source_options=(),
    sink_options=(
        OptionSpec(
            "layout",
            "one object a line, or one list of objects a file",
            default="lines",
            choices=("lines", "array"),
            of_files=True,
        ),
        OptionSpec(
            "omit_null_columns", "leave out columns that are NULL", type=bool, default=False
        ),
    ),
    decoder=_decoder,
    encoder=_encoder,
    kernel=chosen_kernel,
    supports_by_index_projection=True,
    writes_messages=True,
    supports_streaming=True,
    field_options=("omit_null_columns",),
)
