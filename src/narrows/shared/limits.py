"""How much of a shared stream is decoded in one go, where its declaration does not say.

While an entry is decoded the pipelines are busy with the one before, and a pipeline that joins
waits for one at most. An entry that takes all that is there would have everybody wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from narrows.plugins.declared import ConnectorSpec
from narrows.plugins.options import OptionValue
from narrows.plugins.sampling import SAMPLE

BATCH_BYTES = 256 << 20
BATCH_UNITS = 250_000
"""Where a connector counts something else than bytes: payloads, most likely, of a kilobyte each."""

_BYTES = "max_bytes_per_trigger"


def with_limit(
    connector: ConnectorSpec, given: Mapping[str, OptionValue]
) -> dict[str, OptionValue]:
    """The options of a stream; with a limit, if it declares none that its connector has. A sample
    is one payload, however much there is."""
    options = dict(given)
    if SAMPLE.name in options:
        return options
    declared = [spec.name for spec in connector.source_options or () if spec.type is int]
    limits = [
        name for name in declared if name.startswith("max_") and name.endswith("_per_trigger")
    ]
    if limits and not any(options.get(name) is not None for name in limits):
        name = _BYTES if _BYTES in limits else limits[0]
        options[name] = BATCH_BYTES if name == _BYTES else BATCH_UNITS
    return options
