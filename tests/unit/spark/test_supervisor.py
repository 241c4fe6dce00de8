"""One thread looks after everything, and what goes wrong with one is nobody else's trouble."""

from __future__ import annotations

import threading
from collections.abc import Callable

from narrows.spark.running.supervisor import Step, Supervisor

DEADLINE = 60.0


class Thing:
    """Does what it is told with each look, until it is over."""

    def __init__(self, look: Callable[[Thing], Step | None] = lambda thing: None) -> None:
        self._look = look
        self.over = threading.Event()
        self.failure: BaseException | None = None
        self.looks = 0
        self.threads: set[str] = set()

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    def look(self) -> Step | None:
        self.looks += 1
        self.threads.add(threading.current_thread().name)
        return self._look(self)

    def fail(self, error: BaseException) -> None:
        self.failure = error
        self.over.set()


def _end(thing: Thing) -> None:
    thing.over.set()


def test_until_all_are_over() -> None:
    before: list[str] = []
    supervisor = Supervisor(lambda: before.append(threading.current_thread().name))
    things = [Thing(_end), Thing(lambda thing: thing.over.set if thing.looks > 2 else None)]
    supervisor.add(*things)
    for thing in things:
        assert thing.over.wait(DEADLINE)
    another = Thing(_end)
    supervisor.add(another)  # be its thread still there, or another one
    assert another.over.wait(DEADLINE)
    seen = set.union(*(thing.threads for thing in (*things, another)))
    assert seen == set(before) == {"narrows-supervisor"}


def test_whatever_one_of_them_raises() -> None:
    def raises(thing: Thing) -> None:
        raise ValueError("in a look")

    def in_a_step() -> None:
        raise ValueError("in a step")

    class Worse(Thing):
        def fail(self, error: BaseException) -> None:
            super().fail(error)
            raise ValueError("even then")

    supervisor, fine = Supervisor(), Thing()
    bad = [Thing(raises), Thing(lambda thing: in_a_step), Worse(raises)]
    supervisor.add(fine, *bad)
    for thing in bad:
        assert thing.over.wait(DEADLINE)
    assert [str(thing.failure) for thing in bad] == ["in a look", "in a step", "in a look"]
    looks, later = fine.looks, threading.Event()
    fine._look = lambda thing: later.set() if thing.looks > looks else None
    assert later.wait(DEADLINE), "it is looked after all the same"
    _end(fine)


def test_everybody_is_looked_at_between_two_steps() -> None:
    """Who fails while others are being started need not wait for all of them."""
    story: list[str] = []
    done = threading.Event()

    def starter(name: str) -> Thing:
        def look(thing: Thing) -> Step:
            def step() -> None:
                story.append(name)
                _end(thing)

            return step

        return Thing(look)

    def watching(thing: Thing) -> None:
        story.append("look")
        if story.count("b") and story.count("a"):
            _end(thing)
            done.set()

    Supervisor().add(starter("a"), starter("b"), Thing(watching))
    assert done.wait(DEADLINE)
    assert story == ["look", "a", "look", "b", "look"]


def test_things_are_added_by_many_threads() -> None:
    supervisor = Supervisor()
    things = [Thing(_end) for _ in range(400)]

    def add(some: list[Thing]) -> None:
        for thing in some:
            supervisor.add(thing, thing)
            supervisor.wake()

    threads = [threading.Thread(target=add, args=(things[n::8],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(thing.over.wait(DEADLINE) for thing in things)
