"""Driver and task know each other before they talk, and know when the other is gone."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from narrows.worker.link import Address, Link, LinkClosedError, Listener, connect


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener("127.0.0.1")
    yield listener
    listener.close()


@pytest.fixture
def accepted(listener: Listener) -> Iterator[list[Link | None]]:
    """Who was let in; the listener waits for one, in a thread."""
    found: list[Link | None] = []
    thread = threading.Thread(target=lambda: found.append(listener.accept()))
    thread.start()
    yield found
    listener.close()
    thread.join(60)
    assert not thread.is_alive()
    for link in found:
        if link is not None:
            link.close()


def _await(found: list[Link | None]) -> Link:
    for _ in range(6_000):
        if found:
            link = found[0]
            assert link is not None
            return link
        threading.Event().wait(0.01)
    raise AssertionError("nobody was let in")


def test_messages_of_any_size_there_and_back(
    listener: Listener, accepted: list[Link | None]
) -> None:
    task = connect(listener.address)
    driver = _await(accepted)
    for message in (b"", b"{}", bytes(range(256)) * 40_000):
        sending = threading.Thread(target=driver.send, args=(message,))
        sending.start()
        assert task.receive() == message
        sending.join()
    task.close()
    with pytest.raises(LinkClosedError):
        driver.receive()


def test_who_does_not_know_the_secret_is_sent_away(
    listener: Listener, accepted: list[Link | None]
) -> None:
    wrong = Address(listener.address.host, listener.address.port, b"guessed")
    with pytest.raises(ConnectionError):
        connect(wrong)
    with socket.create_connection(listener.address[:2]) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        with contextlib.suppress(ConnectionError):  # the end may come as a reset
            while stranger.recv(1 << 10):
                pass  # a challenge, and an answer to what it said
    task = connect(listener.address)  # the listener was not kept from letting in the next
    _await(accepted).send(b"welcome")
    assert task.receive() == b"welcome"
    task.close()


def test_a_task_talks_to_its_driver_only() -> None:
    """After its driver has died, somebody else may listen at the port."""
    other = Listener("127.0.0.1")
    thread = threading.Thread(target=other.accept)
    thread.start()
    with pytest.raises(ConnectionError):
        connect(Address(other.address.host, other.address.port, b"the secret of another"))
    other.close()
    thread.join(60)
    assert not thread.is_alive()


def test_closing_wakes_up_whoever_waits(listener: Listener, accepted: list[Link | None]) -> None:
    task = connect(listener.address)
    driver, ended = _await(accepted), threading.Event()

    def wait() -> None:
        with pytest.raises(LinkClosedError):
            driver.receive()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    driver.close()
    assert ended.wait(60)
    with pytest.raises(LinkClosedError):
        task.receive()
    task.close()


def test_the_secret_is_not_shown(listener: Listener) -> None:
    assert str(listener.address) == f"127.0.0.1:{listener.address.port}"
