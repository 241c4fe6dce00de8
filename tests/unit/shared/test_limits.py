"""What one entry of a shared stream takes where its declaration does not say."""

from __future__ import annotations

import pytest

from narrows.plugins.declared import ConnectorSpec
from narrows.plugins.options import OptionSpec, OptionValue
from narrows.shared.limits import BATCH_BYTES, BATCH_UNITS, with_limit

FILES, BYTES, PAYLOADS = (
    OptionSpec(f"max_{what}_per_trigger", "", type=int) for what in ("files", "bytes", "payloads")
)
PATH = OptionSpec("path", "")


@pytest.mark.parametrize(
    ("has", "given", "added"),
    [
        ((PATH, FILES, BYTES), {"path": "x"}, {"max_bytes_per_trigger": BATCH_BYTES}),
        ((PATH, PAYLOADS), {"path": "x"}, {"max_payloads_per_trigger": BATCH_UNITS}),
        ((FILES, BYTES), {"max_files_per_trigger": 3}, {}),
        ((PAYLOADS,), {"max_payloads_per_trigger": 3}, {}),
        ((PATH,), {"path": "x"}, {}),
        (None, {}, {}),
    ],
)
def test_the_limit_is_one_that_the_connector_has(
    has: tuple[OptionSpec, ...] | None,
    given: dict[str, OptionValue],
    added: dict[str, OptionValue],
) -> None:
    connector = ConnectorSpec(name="c", source_options=has)
    assert with_limit(connector, given) == {**given, **added}
