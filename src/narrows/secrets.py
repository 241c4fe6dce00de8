"""Passwords, tokens and keys among options: what is one, and how a text is shown without them."""

from __future__ import annotations

import difflib
import re

MASK = "***"

_WORDS = ("password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "credentials")
_MORE_WORDS = ("credential", "authorization", "accesskey", "privatekey", "secretkey")
_KEYS = ("api", "access", "private", "secret", "account", "encryption")
_NEAR = 0.8
"""How near a misspelt name must be to one of the words."""


class Secret:
    """A text or number that shows itself to nobody. Whoever must know it asks for `revealed`.

    It is no `str` on purpose: `json.dumps`, `"".join` and whatever else takes texts would show it.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str | int) -> None:
        self._value = value

    @property
    def revealed(self) -> str | int:
        return self._value

    def __str__(self) -> str:
        return MASK

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))


def is_secret(option: str) -> bool:
    """Is an option of this name one that nobody may see? By its last word: `sasl.password`, but not
    `password_file`."""
    *before, last = _words(option)
    if last == "key":
        return bool(before) and before[-1] in _KEYS
    # Kafka's way to write a user and a password into one text.
    jaas = last == "config" and before[-1:] == ["jaas"]
    key = last == "pem" and before[-1:] == ["key"]  # all of a private key, not its file
    return last in _WORDS or last in _MORE_WORDS or last.endswith("password") or jaas or key


def without_passwords(text: str) -> str:
    """A text in which URLs have no passwords: `mqtt://me:***@host`. Not those that refer to the
    environment, `mqtt://me:${PASSWORD}@host`: they are none."""
    return _URL_PASSWORD.sub(rf"\1{MASK}", text) if "://" in text else text


def without_secrets(text: str) -> str:
    """SQL text with `*` for every character of what options like `password` are given, and of
    passwords in URLs.

    One for one, because messages point at places in it.
    """

    def masked(given: re.Match[str]) -> str:
        key, between, value = given.groups()
        name = re.sub(r"[`\s]", "", key).lower()
        if not (is_secret(name) or _looks_misspelt(name)):
            return given[0]
        if value[0] not in "'\"" and not _in_options(text, given.start()):
            return given[0]  # a column that a query compares with another
        return f"{key}{between}{_STARRED.sub('*', value)}"

    text = _GIVEN.sub(masked, text)
    return _URL_PASSWORD.sub(_starred, text) if "://" in text else text


def _starred(found: re.Match[str]) -> str:
    return found[1].ljust(len(found[0]), "*")


def _in_options(text: str, place: int) -> bool:
    """Does this stand in the brackets of a WITH? Those are not as long as a query may be."""
    return _IN_OPTIONS.search(text, max(0, place - 10_000), place) is not None


def _words(option: str) -> list[str]:
    return re.split(r"[._-]", option.lower())


def _looks_misspelt(option: str) -> bool:
    return bool(difflib.get_close_matches(_words(option)[-1], _WORDS, n=1, cutoff=_NEAR))


_KEY = r"(?:`[^`]{0,100}+`|\w{1,100}+)"
_VALUE = r"""'(?:\\.|[^'\\])*(?:'|\Z)|"(?:\\.|[^"\\])*(?:"|\Z)"""
_GIVEN = re.compile(
    rf"(?<!\w)({_KEY}(?:\s{{0,9}}[.-]\s{{0,9}}{_KEY}){{0,9}})(\s{{0,99}}=\s{{0,99}})"
    rf"((?:(?:{_VALUE})\s*)+|[^\s,()'\"=;]+)",
    re.DOTALL,
)
"""A key, the equals sign and a value: strings that stand side by side, maybe without an end, or a
word. Everything before the sign has bounds, and is looked at from where a word begins: a name of a
megabyte would take hours else."""
_IN_OPTIONS = re.compile(r"\bWITH\s*\([^()]*\Z", re.IGNORECASE)
_STARRED = re.compile(r"[^'\"\s]")
_URL_PASSWORD = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@'\"`]{0,200}:)(?!\$\{\w{1,200}\}@)[^\s/'\"`]{1,500}(?=@)"
)
"""`scheme://user:` and a password before the last `@` of the host's part."""
