"""Rows on the terminal.

They are files in the state folder, where they survive whoever wrote them.
"""

from __future__ import annotations

from narrows.connectors.base import Connector
from narrows.connectors.file import CONNECTOR as FILES

CONNECTOR = Connector(
    name="console",
    sink_options=(),
    takes_rows=True,
    publishes_files=True,
    guarantee=FILES.guarantee,
    sink=FILES.sink,
)
