"""Kills drivers, JVMs and Python workers of running pipelines, and counts rows in the end.

    python tools/kill.py [--kills 200] [--seed 1] [--round 25]

Pipelines of every kind (`tests/support/all_kinds.py`) run in one process while files arrive. After
each round of kills a run that nobody kills reads what is left, and what was written is compared
with what is owed, row by row. A round has a folder and a seed of its own, the next number: `--seed
3 --kills 25` plays the third round alone. The suite plays a short one (`tests/spark/test_kill.py`).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.killing import Killing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, default=25)
    options = parser.parse_args()
    began, killed, seed = time.monotonic(), Counter[str](), options.seed
    signals = rows = 0
    while killed.total() < options.kills:
        folder = Path(tempfile.mkdtemp(prefix=f"narrows-kill-{seed}-"))
        print(f"seed {seed}: {folder}", flush=True)
        killing = Killing(folder, seed, say=lambda text: print(f"  {text}", flush=True))
        least = min(options.round, options.kills - killed.total())
        while (left := least - killing.killed.total()) > 0:
            killing.live(killing.draw(left), every=2.0)
        wrong = killing.finish()
        killed += killing.killed
        signals += killing.signals
        rows += killing.rows
        seconds = time.monotonic() - began
        print(f"{killed.total()} kills of {signals} processes in {seconds:.0f} s: {dict(killed)}")
        print(f"{rows} rows; {killing.ended_by_themselves} runs ended by themselves", flush=True)
        if wrong:
            print(f"seed {seed}: see {folder}", *wrong, sep="\n", file=sys.stderr)
            return 1
        shutil.rmtree(folder)
        seed += 1
    print("every row is there once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
