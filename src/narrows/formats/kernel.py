"""Which kernel decodes and encodes JSON: the native one where it is installed, else the portable.

`NARROWS_KERNEL` says `native` or `portable`, for whoever wants to be sure or to compare. Results
are the same, so each process may decide for itself: a worker without the native kernel uses the
portable one.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any

from narrows.errors import Code, fail

NATIVE = "native"
PORTABLE = "portable"
VARIABLE = "NARROWS_KERNEL"

_MODULE = "narrows_kernel"
_PROTOCOL = 5
"""What this version of Narrows and the kernel agree about; another one is as good as none."""


def chosen_kernel() -> str:
    """The name of the kernel for JSON in this process."""
    wish = os.environ.get(VARIABLE, "")
    if wish not in ("", NATIVE, PORTABLE):
        message = f"there is no kernel `{wish}`, which {VARIABLE} asks for"
        raise fail(Code.INVALID_OPTION, message, None, f"say {NATIVE} or {PORTABLE}")
    if wish == PORTABLE:
        return PORTABLE
    if is_native_usable():
        return NATIVE
    if wish == NATIVE:
        message = f"{VARIABLE} asks for the native kernel, which is not installed"
        hint = "`make setup` builds it where Rust is installed"
        raise fail(Code.INVALID_OPTION, message, None, hint)
    return PORTABLE


def is_native_usable() -> bool:
    """Is the native kernel installed, and the one that belongs to this version of Narrows?"""
    if importlib.util.find_spec(_MODULE) is None:
        return False
    try:
        return load_native().PROTOCOL == _PROTOCOL  # type: ignore[no-any-return]
    except (ImportError, AttributeError):
        return False


def load_native() -> Any:
    return importlib.import_module(_MODULE)
