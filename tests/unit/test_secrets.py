"""Passwords and tokens: shown to nobody, and taken from the environment where they are used."""

from __future__ import annotations

import json
import pickle

import pytest

import narrows.plugins.registry as registry
from narrows.catalog.describe import ResultTable
from narrows.errors import Code, NarrowsError, fail
from narrows.planner.catalog import Catalog
from narrows.plugins.declared import ConnectorSpec
from narrows.plugins.options import Option, OptionSpec, OptionValue
from narrows.plugins.secrets import resolved
from narrows.secrets import Secret, is_secret, without_passwords, without_secrets

WORD = "hunter2"
VAULT = ConnectorSpec(
    name="vault",
    takes_rows=True,
    sink_options=(
        OptionSpec("user", "who"),
        OptionSpec("sasl.password", "what nobody may see"),
        OptionSpec("pin", "nor this", secret=True),
        OptionSpec("level", "how much", type=int),
        OptionSpec("code", "nor this", type=int, secret=True),
    ),
)


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog that knows a connector with secrets."""
    found = registry.CONNECTORS.get
    monkeypatch.setattr(
        registry.CONNECTORS, "get", lambda name, *more: VAULT if name == "vault" else found(name)
    )
    return Catalog()


def _described(catalog: Catalog, options: str) -> dict[str, str]:
    catalog.execute(f"CREATE SINK k WITH (connector = 'vault', {options})")
    (answer,) = catalog.execute("DESCRIBE SINK k")
    assert isinstance(answer, ResultTable)
    return {name.removeprefix("WITH "): value for name, value in answer.rows}


def _refused(catalog: Catalog, options: str) -> str:
    with pytest.raises(NarrowsError) as caught:
        catalog.execute(f"CREATE SINK k WITH (connector = 'vault', {options})")
    assert WORD not in repr(caught.value)
    return str(caught.value)


# --- which ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "sasl.password",
        "ssl.key.password",
        "token",
        "api_key",
        "secret",
        "client-secret",
        "aws.secret_access_key",
        "sasl.jaas.config",
        "sslpassword",
        "header.authorization",
        "credentials",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["path", "key", "key.format", "password_file", "token_url", "user", "config"]
)
def test_names_of_other_options(name: str) -> None:
    assert not is_secret(name)


# --- shown ----------------------------------------------------------------------------------------


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(WORD)
    for text in (str(secret), repr(secret), f"{secret}", f"{secret:>5}", repr({"a": secret})):
        assert WORD not in text
    assert secret.revealed == WORD
    assert pickle.loads(pickle.dumps(secret)).revealed == WORD
    with pytest.raises(TypeError):
        json.dumps({"password": secret})
    with pytest.raises(TypeError):
        "".join([secret])  # type: ignore[list-item]
    assert {secret} == {Secret(WORD)} != {Secret("other")}
    assert secret != WORD


def test_numbers_may_be_secrets(catalog: Catalog) -> None:
    shown = _described(catalog, "code = 4711")
    assert shown["code"] == "***"
    assert "4711" not in repr(catalog.sink("k"))
    assert resolved(catalog.sink("k").options)["code"] == 4711


URL = f"mqtt://me:{WORD}@broker:1883/x"


def test_passwords_in_urls(catalog: Catalog) -> None:
    assert _described(catalog, f"user = '{URL}'")["user"] == "mqtt://me:***@broker:1883/x"
    assert resolved(catalog.sink("k").options)["user"] == URL
    assert WORD not in _refused(catalog, f"user = '{URL}', levle = 1")
    assert WORD not in _refused(catalog, f"level = '{URL}'")
    assert WORD not in str(fail(Code.UNREADABLE_FILE, f"cannot connect to {URL}: refused"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://a.b/c:d@e", "https://a.b/c:d@e"),
        ("http://user@host:80/x", "http://user@host:80/x"),
        ("amqp://u:${PW}@h", "amqp://u:${PW}@h"),
        ("amqp://u:p@ss@h/v", "amqp://u:***@h/v"),
        ("redis://:pw@h", "redis://:***@h"),
        ("see `mqtt://a:b@c` and mqtts://d:e@f", "see `mqtt://a:***@c` and mqtts://d:***@f"),
    ],
)
def test_which_part_of_a_url_is_a_password(text: str, shown: str) -> None:
    assert without_passwords(text) == shown


def test_long_texts_take_no_longer_than_they_are_long() -> None:
    for text in ("a" * 300_000, "a:" * 150_000, "a://" * 75_000, "a://b:" + "c" * 300_000):
        assert without_passwords(text) == text


def test_describe_masks_secrets(catalog: Catalog) -> None:
    shown = _described(catalog, f"user = 'me', sasl.password = '{WORD}', pin = '{WORD}'")
    assert shown["user"] == "me"
    assert shown["sasl.password"] == shown["pin"] == "***"
    assert WORD not in repr(catalog.sink("k"))


def test_describe_shows_references(catalog: Catalog) -> None:
    assert _described(catalog, "pin = '${PIN}'")["pin"] == "${PIN}"


@pytest.mark.parametrize(
    "options",
    [
        f"sasl.password = '{WORD}', levle = 1",
        f"`sasl`.password = '{WORD}', level = 'x'",
        f"pin = '{WORD}', level = 'x'",
        f"sasl.pasword = '{WORD}'",
        f"sasl.password = {WORD}",
        f"sasl.password = '{WORD}' '{WORD}' level = 1",
        f"sasl.password = '{WORD}, level = 1",
        f'sasl.password = "{WORD}", level = 1 x',
    ],
)
def test_errors_do_not_show_secrets(catalog: Catalog, options: str) -> None:
    assert WORD not in _refused(catalog, options)


def test_errors_about_secrets_do_not_show_them() -> None:
    spec = OptionSpec("pin", "a number", type=int, secret=True)
    with pytest.raises(NarrowsError) as caught:
        spec.check(Option(WORD))
    assert "not `***`" in str(caught.value)


def test_carets_stay_where_they_are(catalog: Catalog) -> None:
    lines = _refused(catalog, f"sasl.password = '{WORD}', levle = 1").splitlines()
    (line,) = [line for line in lines if "levle = 1" in line]
    (caret,) = [line for line in lines if "^" in line]
    assert line.index("levle") == caret.index("^")


def test_queries_are_shown_as_they_are() -> None:
    text = "SELECT token FROM s WHERE s.token = t.other AND a = 'x'"
    assert without_secrets(text) == text


# --- used -----------------------------------------------------------------------------------------


def test_references_are_resolved_where_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NARROWS_TEST_PIN", WORD)
    options: dict[str, OptionValue] = {
        "a": "${NARROWS_TEST_PIN}",
        "b": Secret("x"),
        "c": 1,
        "d": "u:${NARROWS_TEST_PIN}@h",
    }
    assert resolved(options) == {"a": WORD, "b": "x", "c": 1, "d": f"u:{WORD}@h"}
    assert type(resolved(options)["b"]) is str


def test_a_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NARROWS_TEST_PIN", raising=False)
    with pytest.raises(NarrowsError) as caught:
        resolved({"other": Secret(WORD), "pin": "x${NARROWS_TEST_PIN}"})
    assert caught.value.code is Code.INVALID_OPTION
    assert "`pin` refers to the environment variable `NARROWS_TEST_PIN`" in str(caught.value)
    assert WORD not in str(caught.value)
