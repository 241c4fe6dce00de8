"""Settings of single queries, on a session that is a dictionary."""

from __future__ import annotations

from typing import Any

import pytest

from narrows.logical.relational_nodes import OneRow
from narrows.spark.streaming.query_settings import query_settings

FILES = "spark.sql.streaming.checkpointFileManagerClass"
EMPTY = "spark.sql.streaming.noDataMicroBatches.enabled"


class Session:
    def __init__(self, version: str, settings: dict[str, str]) -> None:
        self.version, self.conf, self.settings = version, self, settings

    def get(self, key: str, default: str | None) -> str | None:
        return self.settings.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value

    def unset(self, key: str) -> None:
        del self.settings[key]


@pytest.mark.parametrize(
    ("version", "own", "expected"),
    [
        ("4.3.0", None, "FileSystemBasedCheckpointFileManager"),
        ("4.3.1", "org.example.Theirs", "Theirs"),
        ("4.2.0", None, "None"),
    ],
)
def test_what_a_query_needs_is_set_while_it_starts(
    version: str, own: str | None, expected: str
) -> None:
    before = {EMPTY: "true"} | ({} if own is None else {FILES: own})
    session: Any = Session(version, dict(before))
    with query_settings(session, OneRow(), closes_later=True):
        assert session.settings[EMPTY] == "false"
    assert before.items() <= session.settings.items()
    # The query's thread looks at this later.
    assert str(session.settings.get(FILES)).rpartition(".")[2] == expected
