"""The options of topics: what is taken, what is refused, what the client library gets of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from narrows import Catalog
from narrows.connectors.kafka.client.faults import revealed
from narrows.connectors.kafka.client.settings import settings_of
from narrows.errors import NarrowsError
from narrows.sql.scope import Name

SECRET = "hunter2"


def declared(*options: str) -> Catalog:
    given = ", ".join(("connector = 'kafka'", *options))
    catalog = Catalog()
    catalog.execute(f"CREATE STREAM s (n BIGINT) WITH ({given})")
    return catalog


def test_properties_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    catalog = declared(
        "brokers = 'a:9092, b:9092'",
        "topic = 't'",
        "kafka.sasl.password = '${KAFKA_PASSWORD}'",
        "kafka.fetch.min.bytes = 10",
        "kafka.socket.keepalive.enable = true",
    )
    settings = settings_of(catalog.find_source(Name("s", None)).options)
    assert settings["bootstrap.servers"] == "a:9092, b:9092"
    assert settings["fetch.min.bytes"] == "10"
    assert settings["socket.keepalive.enable"] == "true"
    assert settings["isolation.level"] == "read_committed"
    assert "topic" not in settings
    assert SECRET not in str(settings)
    assert revealed(settings)["sasl.password"] == SECRET


@pytest.mark.parametrize(
    ("written", "pattern"),
    [(r"r'^o\.\d+$'", r"^o\.\d+$"), (r"'^o\\.\\d+$'", r"^o\.\d+$"), ("'^o[.]x$'", "^o[.]x$")],
)
def test_patterns_are_written_as_any_string_is(written: str, pattern: str) -> None:
    """A backslash in a string of SQL stands before what it quotes, unless the string is raw."""
    catalog = declared("brokers = 'a'", f"topic = {written}")
    assert catalog.find_source(Name("s", None)).options["topic"] == pattern


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.pem", "ssl.key.password"])
def test_secrets_are_not_shown(name: str) -> None:
    catalog = declared("brokers = 'a'", "topic = 't'", f"kafka.{name} = '{SECRET}'")
    assert SECRET not in str(catalog.execute("DESCRIBE STREAM s"))
    with pytest.raises(NarrowsError) as caught:
        declared("brokers = 'a'", "topic = 't'", f"kafka.{name} = '{SECRET}'", "x = 1")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        "kafka.group.id = 'g'",
        "kafka.isolation.level = 'read_uncommitted'",
        "kafka.enable.auto.commit = true",
        "kafka.plugin.library.paths = '/tmp/evil.so'",
        "kafka.bootstrap.servers = 'a'",
        "topic = 'a b'",
        "topic = ''",
        "topic = 'a,'",
        "topic = '^(a'",
        "brokers = 'a b'",
        "patience = 'long'",
        "max_messages_per_trigger = 0",
        "start_at = 'yesterday'",
    ],
)
def test_what_is_refused(wrong: str) -> None:
    name = wrong.split(" ")[0]
    others = [each for each in ("brokers = 'a'", "topic = 't'") if not each.startswith(name)]
    with pytest.raises(NarrowsError, match=f"option `{name}`"):
        declared(*others, wrong)


def test_where_the_library_is_missing_it_is_said_how_to_get_it() -> None:
    code = """
import sys
sys.modules["confluent_kafka"] = None
from narrows.connectors.base import SourceDeclaration, find_connector
options = {"brokers": "a", "topic": "t", "patience": "1 second"}
try:
    find_connector("kafka").source(SourceDeclaration("s", "json", options)).available()
except Exception as error:
    print(error)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "connector `kafka` needs the package `confluent-kafka`" in answer.stdout, answer.stderr
    assert "pip install 'narrows[kafka]'" in answer.stdout
