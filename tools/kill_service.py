"""Kills a service ten times, or as often as you say, while statements and rows come in.

    python tools/kill_service.py [KILLS] [SEED]

In the end everything is there that was answered, and every row was written once. The tests do the
same with two kills.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.service_process import killed_again_and_again


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    print(f"{kills} kills, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="narrows-kill-") as folder:
        killed_again_and_again(Path(folder), kills, random.Random(seed))
    print("everything was there, every row once")


if __name__ == "__main__":
    main()
