"""Windows of a stream: one class for each kind. Here they are registered."""

from narrows.stateful.windows.count import CountWindow
from narrows.stateful.windows.hopping import HoppingWindow
from narrows.stateful.windows.session import SessionWindow
from narrows.stateful.windows.sliding import SlidingWindow
from narrows.stateful.windows.state import StateWindow
from narrows.stateful.windows.tumbling import TumblingWindow
from narrows.stateful.windows.window import StreamWindow

WINDOWS: tuple[type[StreamWindow], ...] = (
    TumblingWindow,
    HoppingWindow,
    SessionWindow,
    SlidingWindow,
    CountWindow,
    StateWindow,
)

__all__ = [
    "WINDOWS",
    "CountWindow",
    "HoppingWindow",
    "SessionWindow",
    "SlidingWindow",
    "StateWindow",
    "StreamWindow",
    "TumblingWindow",
]
