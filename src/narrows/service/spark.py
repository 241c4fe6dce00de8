"""The session of a service: it starts in the background, and few threads talk to it.

Planning needs no Spark, so a service answers at once; whoever needs Spark waits for it. Every
thread that talks to Spark has a thread of the JVM's to itself, so they are a pool of fixed size
and not the threads of the HTTP server, which come and go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from narrows.errors import Code, NarrowsError, fail

if TYPE_CHECKING:  # it brings pyspark, which takes a second to load
    from narrows.spark.session import Session

P = ParamSpec("P")
T = TypeVar("T")

SparkState = Literal["starting", "up", "failed", "closed"]
THREADS = 16
READY_SECONDS = 120.0
FINISH_SECONDS = 20.0
"""How long micro-batches may take to end, when the service does."""


class BackgroundSession:
    """A session that is there some seconds after it was asked for."""

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open = open_session
        self._session: Future[Session] = Future()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="narrows-spark")
        self._closed = False

    def start(self, then: Callable[[Session], None]) -> None:
        """Opens the session, in a thread of its own, and says when it is there."""

        def run() -> None:
            try:
                session = self._open()
            except BaseException as error:
                self._session.set_exception(error)
                return
            self._session.set_result(session)
            if self._closed:
                session.close()
            else:
                then(session)

        threading.Thread(target=run, name="narrows-spark-start", daemon=True).start()

    @property
    def state(self) -> SparkState:
        if self._closed:
            return "closed"
        if not self._session.done():
            return "starting"
        return "up" if self._session.exception() is None else "failed"

    @property
    def problem(self) -> str | None:
        """Why there is no session."""
        error = self._session.exception() if self._session.done() else None
        if error is None:
            return None
        return error.problems[0].message if isinstance(error, NarrowsError) else str(error)

    @property
    def now(self) -> Session | None:
        """The session, if it is there."""
        return self._session.result() if self.state == "up" else None

    def get(self, seconds: float = READY_SECONDS) -> Session:
        """The session; waits for it."""
        try:
            return self._session.result(seconds)
        except TimeoutError:
            raise fail(
                Code.NOT_READY, "Spark is still starting", hint="`GET /ready` says when it is up"
            ) from None
        except NarrowsError:
            raise
        except Exception as error:
            message = f"Spark did not start: {error}"
            raise fail(Code.SPARK_NOT_STARTED, message, hint="see `spark.log`") from error

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Has a thread of the pool do it."""
        return self._pool.submit(call, *args, **kwargs)

    def call(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Has a thread of the pool do it, and waits."""
        return self.submit(call, *args, **kwargs).result()

    def close(self) -> None:
        """Ends the session and its pipelines; what they have done stays done."""
        session = self.now
        self._closed = True
        if session is not None:
            session.close(finish=FINISH_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)
