"""What one asks a cluster: which topics there are, how far they reach, what a group has read.

One connection for everything in this process that has the same options: a query that is planned ten
times a minute does not connect ten times.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from narrows.connectors.base import SourceUnavailableError
from narrows.connectors.kafka.client.faults import KafkaError, Settings, revealed, without_values
from narrows.connectors.kafka.client.settings import settings_of
from narrows.connectors.kafka.client.topics import Extent, Partition, Topics
from narrows.errors import Code, NarrowsError, fail
from narrows.secrets import Secret

if TYPE_CHECKING:  # the library is an extra
    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka import KafkaError as ClientError
    from confluent_kafka.admin import AdminClient

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # or Python would write to stderr what nobody listens to
_ANSWER_SECONDS = 10.0
_MOMENT_SECONDS = 2.0
_KEPT = 8

_PASSING = frozenset(
    (
        *(-195, -193, -187, -185, -180),  # no connection, no address, nobody there, no answer
        -156,  # no leader of any partition: brokers that have just started
        *(5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20),  # no leader, no coordinator, too few replicas
        *(56, 72, 74, 75, 76, 78, 84, 100, 103),  # a leader that is new to it
    )
)
"""Numbers of errors that are over when brokers have found each other again."""


def is_passing(error: KafkaError) -> bool:
    """May trying again help?"""
    return error.number in _PASSING


def require_library() -> None:
    """Is the client library installed? An error says how to get it."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError as error:
        message = f"connector `kafka` needs the package `confluent-kafka`: {error}"
        raise fail(Code.BROKEN_PACKAGE, message, None, "pip install 'narrows[kafka]'") from error


def cluster_of(options: Mapping[str, Any]) -> Cluster:
    """The cluster that these options name, connected when it is asked something."""
    require_library()
    return _cluster(tuple(sorted(settings_of(options).items())))


@lru_cache(maxsize=_KEPT)
def _cluster(settings: tuple[tuple[str, str | Secret], ...]) -> Cluster:
    return Cluster(dict(settings))


class Cluster:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.message_bytes: dict[str, tuple[int, float]] = {}
        """What was measured of the messages of a source, and when (`source/sample.py`)."""
        self._kept: AdminClient | None = None
        self._trouble = ""
        self._committers: dict[str, Consumer] = {}
        self._committing: threading.Thread | None = None

    @property
    def _client(self) -> AdminClient:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        if self._kept is None:
            consumers_only = ("isolation.level", "queued.max.messages.kbytes")
            given: dict[str, Any] = revealed(self.settings)
            given = {name: value for name, value in given.items() if name not in consumers_only}
            try:
                given["error_cb"] = self._note
                self._kept = AdminClient(given, logger=_LOG)
            except KafkaException as error:
                said = without_values(error.args[0].str(), self.settings)
                raise fail(Code.INVALID_OPTION, f"kafka: {said}") from None
        return self._kept

    # --- what there is ----------------------------------------------------------------------------

    def topic_names(self) -> list[str]:
        """All topics but those that Kafka keeps for itself."""
        found = self._asked("which topics there are", lambda: self._listed())
        return sorted(name for name in found if not name.startswith("__"))

    def _listed(self) -> Iterable[str]:
        self._client.poll(0)
        names: Iterable[str] = self._client.list_topics(timeout=_ANSWER_SECONDS).topics
        return names

    def topics(
        self, names: Iterable[str], seconds: float | None = None
    ) -> tuple[Topics, list[str]]:
        """How far topics reach that everybody may read, and which of them are not there. An answer
        may take so long."""
        from confluent_kafka import TopicCollection, TopicPartition

        wanted = list(names)
        seconds = _ANSWER_SECONDS if seconds is None else seconds
        if not wanted:
            return Topics({}), []
        self._client.poll(0)
        described = self._client.describe_topics(TopicCollection(wanted), request_timeout=seconds)
        ids: dict[str, str] = {}
        missing: list[str] = []
        places: list[TopicPartition] = []
        for name, future in described.items():
            found = self._present(f"topic `{name}`", future)
            if found is None:
                missing.append(name)
                continue
            ids[name] = str(found.topic_id or "")
            places += [TopicPartition(name, partition.id) for partition in found.partitions]
        # Both are asked before either has answered: who polls a topic waits for both.
        asked = [
            self._ask_offsets(places, which, seconds)
            for which in (_which().earliest(), _which().latest())
        ]
        first, ends = map(self._answered_offsets, asked)
        # A partition may have gone in between.
        extents = {
            place: Extent(first[place], max(first[place], end))
            for place, end in ends.items()
            if place in first
        }
        return Topics(extents, ids), missing

    def offsets_at(self, places: Iterable[Partition], time: int) -> dict[Partition, int]:
        """The first offsets that are not older than this, in milliseconds since 1970; not for
        partitions that have no such."""
        from confluent_kafka import TopicPartition

        wanted = [TopicPartition(*place) for place in places]
        asked = self._ask_offsets(wanted, _which().for_timestamp(time), _ANSWER_SECONDS)
        found = self._answered_offsets(asked)
        return {place: offset for place, offset in found.items() if offset >= 0}

    def _ask_offsets(
        self, places: list[TopicPartition], which: Any, seconds: float
    ) -> Mapping[TopicPartition, Future[Any]]:
        from confluent_kafka import IsolationLevel

        if not places:
            return {}
        answers: Mapping[TopicPartition, Future[Any]] = self._client.list_offsets(
            dict.fromkeys(places, which),
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=seconds,
        )
        return answers

    def _answered_offsets(
        self, answers: Mapping[TopicPartition, Future[Any]]
    ) -> dict[Partition, int]:
        found = {}
        for place, future in answers.items():
            partition = Partition(place.topic, place.partition)
            answer = self._present(f"the offsets of {partition}", future)
            if answer is not None:
                found[partition] = int(answer.offset)
        return found

    # --- what was read ----------------------------------------------------------------------------

    def commit(self, group: str, ends: Mapping[Partition, int]) -> bool:
        """Has every tool that looks at the group see how far it has come. Is that known to be done?

        It is for people: a broker that is away or takes its time is not waited for, and whoever
        commits next should say it all. What will not pass, such as a right that is missing, is
        raised. A consumer commits, for the library's requests to a group's coordinator end the
        process when the connection is lost meanwhile (librdkafka issue 4605).
        """
        from confluent_kafka import KafkaException, TopicPartition

        if self._committing is not None and self._committing.is_alive():
            return False
        if not ends:
            return True
        answers: list[list[ClientError]] = []
        places = [TopicPartition(*place, offset) for place, offset in ends.items()]
        consumer = self._committer(group)

        def commit() -> None:
            try:
                taken = consumer.commit(offsets=places, asynchronous=False)
                answers.append([place.error for place in taken or () if place.error is not None])
            except KafkaException as error:
                answers.append([error.args[0]])

        self._committing = threading.Thread(target=commit, name="narrows-kafka-group", daemon=True)
        self._committing.start()
        self._committing.join(_MOMENT_SECONDS)
        for error in answers[0] if answers else ():
            failure = self._failure(f"a commit to group `{group}`", error)
            if not isinstance(failure, SourceUnavailableError):
                raise failure
        return answers == [[]]

    def _committer(self, group: str) -> Consumer:
        from confluent_kafka import Consumer

        if group not in self._committers:
            given: dict[str, Any] = {**revealed(self.settings), "group.id": group}
            self._committers[group] = Consumer(given, logger=_LOG)
        return self._committers[group]

    # --- answers ----------------------------------------------------------------------------------

    def _present(self, what: str, future: Future[T]) -> T | None:
        """An answer; None where it is that there is no such topic or partition."""
        try:
            return self._asked(what, future.result)
        except KafkaError as error:
            if error.says_topic_is_gone:
                return None
            raise

    def _asked(self, what: str, ask: Callable[[], T]) -> T:
        from confluent_kafka import KafkaException

        try:
            answer = ask()
        except TimeoutError:
            raise self._away(what, "it does not answer") from None
        except KafkaException as error:
            raise self._failure(what, error.args[0]) from None
        self._trouble = ""
        return answer

    def _failure(self, what: str, error: ClientError) -> NarrowsError:
        text = without_values(error.str(), self.settings)
        found = KafkaError(error.code(), error.name(), f"asked for {what}: {text}")
        if is_passing(found) or error.retriable():
            self._client.poll(0)  # it may have said more about what is wrong
            return self._away(what, text)
        return found

    def _away(self, what: str, reason: str) -> SourceUnavailableError:
        brokers = self.settings["bootstrap.servers"]
        more = f": {self._trouble}" if self._trouble else ""
        return SourceUnavailableError(f"kafka at {brokers}, asked for {what}: {reason}{more}")

    def _note(self, error: ClientError) -> None:
        self._trouble = without_values(error.str(), self.settings)


def _which() -> Any:
    """What says which offsets one asks for; the library has no types for it."""
    from confluent_kafka import admin

    untyped: Any = admin
    return untyped.OffsetSpec
