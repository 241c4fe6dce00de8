"""What the client library says is wrong, as an error of ours: its code, its name, its text.

Both ways to fetch raise the same. A text never shows a password, even where the library repeats
what it was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from narrows.errors import Code, NarrowsError, Problem
from narrows.secrets import MASK, Secret, is_secret

Settings = Mapping[str, str | Secret]
"""Properties of the client library: `{"bootstrap.servers": "..", "sasl.password": Secret("..")}`.
"""

PARTITION_EOF: Final = -191

_OFFSET_GONE = (-140, 1)  # no offset to go on from; an offset that is out of range
_TOPIC_GONE = (-188, -190, 3)  # the library knows no such topic or partition; nor does the broker


class KafkaError(NarrowsError):
    """`number` and `name` are those of the library, which passes on the broker's."""

    def __init__(self, number: int, name: str, text: str, hint: str | None = None) -> None:
        super().__init__(Problem(Code.BROKER_ERROR, f"kafka: {text} ({name})", None, hint))
        self.number = number
        self.name = name

    @property
    def says_offset_is_gone(self) -> bool:
        """The partition does not have the offset that was asked for (any more, or yet)."""
        return self.number in _OFFSET_GONE

    @property
    def says_topic_is_gone(self) -> bool:
        return self.number in _TOPIC_GONE


def revealed(settings: Settings) -> dict[str, str]:
    """The settings as the library must have them."""
    return {
        name: str(value.revealed) if isinstance(value, Secret) else value
        for name, value in settings.items()
    }


def without_values(text: str, settings: Settings) -> str:
    """A text of the library's without those of the settings that nobody may see."""
    for name, value in revealed(settings).items():
        is_hidden = isinstance(settings[name], Secret) or is_secret(name) or name.endswith(".pem")
        if value and is_hidden:
            text = text.replace(value, MASK)
    return text
