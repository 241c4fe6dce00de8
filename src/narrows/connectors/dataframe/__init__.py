"""Payloads that are a column of a data frame of the user's: of Kafka, Delta, anything.

No statement declares such a source, `session.register` does. Spark reads the payloads, and keeps in
its checkpoint how far it has come; what is left to us is to decode them (`spark/read/`).
"""

from __future__ import annotations

from narrows.catalog.options import EVENT_TIME_OPTIONS
from narrows.connectors.base import Connector

CONNECTOR = Connector(
    name="dataframe",
    source_options=EVENT_TIME_OPTIONS,  # also of one that is a table
    by_statement=False,
    delivers="messages",
    has_entries=False,
)
