"""JSON: objects, one a line or one a message; or, with `multiline`, over several lines."""

from __future__ import annotations

from collections.abc import Iterator

from narrows.formats.base import Format, Join, OptionMap
from narrows.formats.decoder import FoundDocuments, RecordDecoder
from narrows.formats.encoder import Encoder
from narrows.formats.kernel import chosen_kernel
from narrows.formats.time_patterns import TIME_OPTIONS
from narrows.plugins.declared import Documents, Framing, Lines
from narrows.plugins.options import OptionSpec


def _decoder(options: OptionMap) -> RecordDecoder:
    from narrows.formats.json.decoder import make

    return make(options)


def _documents(chunks: Iterator[bytes]) -> Iterator[FoundDocuments]:
    from narrows.formats.json.documents import find_documents

    return find_documents(chunks)


def _framing(options: OptionMap) -> Framing:
    return Documents() if options.get("multiline") is True else Lines()


def _encoder(options: OptionMap) -> Encoder:
    from narrows.formats.json.encoder import make

    return make(options)


def _joined(options: OptionMap) -> Join | None:
    from narrows.formats.join_lines import join_lines

    return join_lines if options.get("layout", "lines") == "lines" else None


FORMAT = Format(
    name="json",
    source_options=(
        OptionSpec(
            "multiline",
            "a file is a list of objects, or objects one after the other, over as many lines as"
            " they take",
            type=bool,
            default=False,
            of_files=True,
        ),
        *TIME_OPTIONS,
    ),
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
    framing_by_options=_framing,
    decoder=_decoder,
    documents=_documents,
    encoder=_encoder,
    joined=_joined,
    kernel=chosen_kernel,
    supports_by_index_projection=True,
    writes_messages=True,
    supports_streaming=True,
    field_options=("omit_null_columns",),
)
