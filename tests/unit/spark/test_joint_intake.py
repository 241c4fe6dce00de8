"""What is read together of two sources, whatever dies between the logs of both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from narrows.connectors import entry_log
from narrows.connectors.base import SourceUnavailableError
from narrows.connectors.entry_log import EntryLog
from narrows.spark.entries.intake import Intake
from narrows.spark.entries.joint_intake import JOINT_LOG, JointIntake
from support.copying import Copying


class Two:
    def __init__(self, folder: Path) -> None:
        self.sources = []
        for name in ("l", "r"):
            (folder / name).mkdir()
            self.sources.append(Copying(folder / name))
        self.log = folder / JOINT_LOG

    def begin(self) -> JointIntake:
        """A new process."""
        return JointIntake([source.read for source in self.sources], self.log)

    def steps(self) -> list[Sequence[int | None]]:
        log = EntryLog(self.log)
        return [log.entry(number)["reads"] for number in range(log.last() + 1)]


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


def _take_all(intake: JointIntake) -> None:
    available = intake.look()
    while (entry := intake.new(available)) is not None:
        intake.take(entry)


def test_a_step_has_what_is_new_of_each(two: Two) -> None:
    left, right = two.sources
    intake = two.begin()
    left.put(4)  # three at most in an entry
    right.put(1)
    _take_all(intake)
    assert two.steps() == [[0, 0], [1, None]]
    right.put(1)
    _take_all(intake)
    _take_all(two.begin())
    assert two.steps()[2:] == [[None, 1]]
    assert intake.read_with(EntryLog(two.log).entry(1)) == [1, None]


@pytest.mark.parametrize("taken", [1, 2])
def test_what_was_taken_and_is_in_no_step_is_in_the_next(two: Two, taken: int) -> None:
    """It died after so many logs were written, and before that of all of them was."""
    for source in two.sources:
        source.put(1)
    for intake in two.begin().intakes[:taken]:
        entry = intake.new(intake.look())
        assert entry is not None
        intake.take(entry)
    two.sources[0].put(1)
    _take_all(two.begin())
    assert two.steps() == [[0, 0], [1, None]]


def test_one_that_cannot_be_asked_does_not_hold_up_the_other(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source in two.sources:
        source.put(1)
    intake = two.begin()
    first, look = intake.intakes[0], Intake.look

    def away(self: Intake) -> object:
        if self is first:
            raise SourceUnavailableError("it is away")
        return look(self)

    monkeypatch.setattr(Intake, "look", away)
    with pytest.raises(SourceUnavailableError):  # a bounded run is to tell
        intake.look()
    entry = intake.new(intake.look_patiently())
    assert entry is not None
    intake.take(entry)
    assert two.steps() == [[None, 0]]
    assert intake.problem is not None
    assert "it is away" in intake.problem
    monkeypatch.undo()
    _take_all(two.begin())
    assert two.steps() == [[None, 0], [0, None]]


def test_steps_of_long_ago_are_folded_to_how_far_they_came(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_log, "_KEPT", 2)
    monkeypatch.setattr(entry_log, "_WORTH_FOLDING", 3)
    intake = two.begin()
    for number in range(8):
        two.sources[number % 2].put(1)
        _take_all(intake)
    intake.fold(7)
    two.sources[0].put(1)
    again = two.begin()
    _take_all(again)
    assert again.read_with(again.log.entry(8)) == [4, None]
