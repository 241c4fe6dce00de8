"""One package a format: payload bytes to Arrow columns and back. Arrow, but no Spark.

What a format of your own needs is here; see docs/encoding.md.
"""

from narrows.formats.base import Format, find_format
from narrows.formats.decoder import BadPayload, Decoded, DecodedPart
from narrows.formats.encoder import Encoded, RowColumns, Values
from narrows.plugins.declared import Container, Lines
from narrows.plugins.options import OptionSpec

__all__ = [
    "BadPayload",
    "Container",
    "Decoded",
    "DecodedPart",
    "Encoded",
    "Format",
    "Lines",
    "OptionSpec",
    "RowColumns",
    "Values",
    "find_format",
]
