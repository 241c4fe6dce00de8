"""The options of HTTP: what they take, and what they mean."""

from __future__ import annotations

from typing import Final

from narrows.connectors.received.options import LOG_OPTIONS
from narrows.plugins.options import OptionSpec

SOURCE_OPTIONS: Final = (
    OptionSpec(
        "max_request_bytes",
        "bytes that a request has at most, when it is unpacked",
        type=int,
        default=16 << 20,
        least=1,
        refuses=lambda option, value: (
            None if int(str(value)) <= LARGEST else f"is at most {LARGEST}"
        ),
    ),
    OptionSpec(
        "remember_requests",
        "how many idempotency keys are remembered: the last ones",
        type=int,
        default=100_000,
        least=1,
    ),
    *LOG_OPTIONS,
)
LARGEST: Final = 32 << 20
"""Bytes that the service takes at most, whatever a stream says."""
