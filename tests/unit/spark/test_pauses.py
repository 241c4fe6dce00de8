from __future__ import annotations

from narrows.spark.running.pauses import Pauses, Ticks


def test_pauses_grow_while_nothing_comes_and_a_dear_look_is_not_repeated_at_once() -> None:
    pauses = Pauses()
    grown = [pauses.after(0.0, found=False) for _ in range(7)]
    assert grown == [0.001, 0.002, 0.004, 0.008, *[0.016] * 3]
    assert pauses.after(3.0, found=True) == 0.0, "the next is likely to be there"
    assert pauses.after(0.0, found=False) == 0.001
    assert pauses.after(3.0, found=False) == 6.0


def test_ticks_are_at_multiples_whatever_was_found_and_none_is_waited_for_that_has_passed() -> None:
    now = 1_000.25
    ticks = Ticks(10.0, clock=lambda: now)
    assert ticks.after(0.25, found=True) == ticks.after(0.0, found=False) == 9.75
    assert ticks.after(0.5, found=True) == 0.0, "the tick of 1000 came while it was busy"
    assert ticks.after(25.0, found=True) == 0.0
