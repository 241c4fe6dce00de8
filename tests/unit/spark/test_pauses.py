from __future__ import annotations

from narrows.spark.streaming.pauses import Pauses


def test_pauses_grow_while_nothing_comes_and_a_dear_look_is_not_repeated_at_once() -> None:
    pauses = Pauses()
    assert [pauses.after(0.0) for _ in range(7)] == [0.001, 0.002, 0.004, 0.008, *[0.016] * 3]
    pauses.found()
    assert pauses.after(0.0) == 0.001
    assert pauses.after(3.0) == 6.0
