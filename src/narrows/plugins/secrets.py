"""Options that refer to the environment, for the connectors that use them.

`password = '${KAFKA_PASSWORD}'` stays what it is - in the catalog, in DESCRIBE, in what is sent to
workers - until a connector connects. It asks for `resolved(options)` there, keeps nothing of it,
and so a password is only ever where it is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from narrows.errors import Code, fail
from narrows.plugins.options import REFERENCE, OptionValue
from narrows.secrets import Secret

Resolved = str | int | float | bool
"""An option's value in the open."""


def resolved(options: Mapping[str, OptionValue]) -> dict[str, Resolved]:
    """The options with what this process's environment has for `${NAME}`, and secrets in the open.

    Not for anybody's eyes: do not log it, keep it or put it into an error.
    """
    return {name: _resolved(name, value) for name, value in options.items()}


def _resolved(option: str, given: OptionValue) -> Resolved:
    value = given.revealed if isinstance(given, Secret) else given
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> str:
        name = reference[1]
        if name not in os.environ:
            raise fail(
                Code.INVALID_OPTION,
                f"option `{option}` refers to the environment variable `{name}`, which is not set",
                hint="set it where the pipeline runs; on a cluster, for the executors as well",
            )
        return os.environ[name]

    return REFERENCE.sub(found, value)
