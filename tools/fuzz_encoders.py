"""Encodes random rows with both JSON encoders until they differ, or enough have been tried.

    python tools/fuzz_encoders.py [--cases 100000] [--seed 1] [--processes 2]

Two thirds of the cases are documents, from which the native kernel writes fragments without
decoding them first - half of these mostly such as it may copy -, one third are Arrow columns: see
`tests/support/encoders.py`. A difference ends it with the seed, the case, and what each wrote.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.formats.kernel import PORTABLE, VARIABLE
from support.encoders import (
    assert_equal_encoders,
    assert_equal_fragments,
    make_copied_case,
    make_fragment_case,
)

BATCH = 200
"""Cases of one seed, of each kind."""


def run(seed: int) -> tuple[int, int]:
    """Tries one seed; how many cases that were, and how many documents."""
    os.environ[VARIABLE] = PORTABLE  # for what is not asked of the native one by name
    chance = random.Random(seed)
    documents = 0
    for number in range(BATCH):
        try:
            case = make_fragment_case(chance.choice, most=20)
            copied = make_copied_case(chance.choice, most=20)
            assert_equal_fragments(case)
            assert_equal_fragments(copied)
            assert_equal_encoders(chance.choice)
        except Exception:
            print(f"seed {seed}, case {number}", file=sys.stderr)
            raise
        documents += len(case.documents) + len(copied.documents)
    return 3 * BATCH, documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    started = time.monotonic()
    cases = documents = 0
    seed = options.seed
    with ProcessPoolExecutor(options.processes) as pool:
        while cases < options.cases:
            seeds = range(seed, seed + 4 * options.processes)
            seed = seeds.stop
            for tried, read in pool.map(run, seeds):
                cases += tried
                documents += read
            seconds = time.monotonic() - started
            print(f"{cases} cases, {documents} documents: equal ({seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
