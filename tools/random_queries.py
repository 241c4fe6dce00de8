"""Runs random queries on random documents, pruned and not, until they differ or it is enough.

    python tools/random_queries.py [--pairs 1000000] [--seconds S] [--seed 1] [--processes 2]

A pair is a query and a document. Each is answered from whole documents, from documents that were
cut to the plan's demand in the meanest way, and from what each JSON kernel decodes for the plan:
see `tests/support/pruning.py`. No JVM. A difference ends it with the seed and the case.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from support.pruning import check_many

QUERIES, ROWS = 20, 25
"""Of one seed."""


def run(seed: int) -> int:
    """Tries one seed; how many pairs that were."""
    try:
        check_many(seed, QUERIES, ROWS, [JsonDecoder(), NativeJsonDecoder()])
    except BaseException:
        print(f"seed {seed}", file=sys.stderr)
        raise
    return QUERIES * ROWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    began, pairs, seed = time.monotonic(), 0, options.seed
    with ProcessPoolExecutor(options.processes) as pool:
        while pairs < options.pairs and time.monotonic() - began < options.seconds:
            seeds = range(seed, seed + 20 * options.processes)
            seed = seeds.stop
            pairs += sum(pool.map(run, seeds))
            seconds = time.monotonic() - began
            print(f"{pairs} pairs, up to seed {seed - 1}: the same ({seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
