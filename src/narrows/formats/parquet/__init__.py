"""Parquet: columns to choose, not payloads to decode."""

from __future__ import annotations

from narrows.formats.base import Format, Join, OptionMap
from narrows.formats.decoder import ContainerReader
from narrows.formats.encoder import Encoder
from narrows.plugins.declared import Container
from narrows.plugins.options import OptionSpec


def _reader(options: OptionMap) -> ContainerReader:
    from narrows.formats.parquet.reader import ParquetReader

    return ParquetReader()


def _encoder(options: OptionMap) -> Encoder:
    from narrows.formats.parquet.encoder import make

    return make(options)


def _joined(options: OptionMap) -> Join | None:
    from narrows.formats.parquet.join import joining

    return joining(str(options.get("compression", "zstd")))


FORMAT = Format(
    name="parquet",
    has_types=True,
    source_options=(),
    sink_options=(
        OptionSpec(
            "compression",
            "how pages are compressed",
            default="zstd",
            choices=("zstd", "snappy", "gzip", "lz4", "none"),
        ),
    ),
    framing=Container(range_bytes=128 << 20, columnar=True),  # about as long as a row group
    reader=_reader,
    encoder=_encoder,
    joined=_joined,
    # No streaming: a row group is laid out column by column, and so all its rows must be there
    # before the first byte.
)
