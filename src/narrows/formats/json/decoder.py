"""The portable JSON kernel: pysimdjson, and generated code that takes only what is demanded.

simdjson validates and indexes a payload at about a gigabyte a second, whatever is asked of it, and
hands out values on request. So what is left to save is Python: the demanded leaves of a row are
read by code that was written for just this projection (`json_source`) into plain lists, which
become Arrow arrays in one go (`json_columns`).

What simdjson refuses although it is valid JSON is read by a slower, exact parser (`json_exact`);
whether a payload is bad depends on the payload alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import simdjson

from narrows.formats.base import OptionMap
from narrows.formats.decoder import Decoded, RecordDecoder
from narrows.formats.json.program import Program
from narrows.formats.kept import Kept
from narrows.formats.kernel import PORTABLE, chosen_kernel
from narrows.formats.time_columns import forms_of
from narrows.projection.columns import DecodeProjection

_CAPACITY = 32 * 1024 * 1024
"""Larger payloads go to the exact parser. simdjson counts elements in 24 bits, and pysimdjson
trusts the count: this is as large as a payload may be without one list of more."""


class JsonDecoder:
    """Decodes objects, one a payload, or lists of objects. Not for two threads at a time."""

    def __init__(self, zone: str = "UTC", **options: object) -> None:
        """The zone is that of timestamps which name none; the options are a source's."""
        self.times = times = forms_of({**options, "timezone": zone})
        parser = simdjson.Parser(max_capacity=_CAPACITY)
        self._programs = Kept(lambda projection: Program(projection, times, parser))

    def decode_with_projection(
        self, payloads: Sequence[bytes], projection: DecodeProjection
    ) -> Decoded:
        return self._programs.of(projection).decode(payloads)


def make(options: OptionMap) -> RecordDecoder:
    given = {name: options[name] for name in ("timestamp_format", "date_format") if name in options}
    zone = str(options.get("timezone", "UTC"))
    if chosen_kernel() == PORTABLE:
        return JsonDecoder(zone, **given)
    from narrows.formats.json.native import NativeJsonDecoder

    return NativeJsonDecoder(zone, **given)
