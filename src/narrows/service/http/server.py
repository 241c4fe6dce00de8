"""The application on a socket, until somebody ends it.

SIGTERM and Ctrl-C end it cleanly: whoever watches is let go, pipelines stop, and what they have
done stays done.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import uvicorn

from narrows.service.core import Service
from narrows.service.http.app import create_app
from narrows.service.security import check_listening

LogFormat = Literal["lines", "json"]
_GOODBYE = 3
"""Seconds that open connections have to end, before pipelines are stopped."""


def serve(
    service: Service,
    files: Sequence[Path],
    *,
    host: str,
    port: int,
    token: str | None,
    log_format: LogFormat,
) -> None:
    """Serves until it is told to end. What is wrong with the state folder or the files is raised
    before anybody is listened to."""
    check_listening(host, token)
    set_up_logging(log_format)
    service.open(files)
    app = create_app(service, token=token)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=log_format == "json",
        server_header=False,
        timeout_graceful_shutdown=_GOODBYE,
    )
    _Server(config, service).run()


class _Server(uvicorn.Server):
    """Lets those go who watch, as soon as it is to end: they would stay for ever."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: object) -> None:
        """To be told to end is no failure: the exit code is 0. A second Ctrl-C does not wait."""
        self._service.closing.set()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


# --- logs -----------------------------------------------------------------------------------------


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=True)


class PlainLines(logging.Formatter):
    """A line for people; what came from elsewhere cannot begin another one, nor move a cursor."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        text = super().formatMessage(record)
        return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def set_up_logging(log_format: LogFormat) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else PlainLines())
    for name in ("narrows", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
