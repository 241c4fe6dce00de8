"""Decodes random documents with both JSON kernels until they differ, or enough have been tried.

    python tools/fuzz_kernels.py [--documents 1000000] [--seed 1] [--processes 2]

Schemas, demands, zones, valid documents, odd ones and broken ones: see `tests/support/kernels.py`.
A difference ends it with the seed, the case, and what each kernel made of it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from support.kernels import assert_equal_kernels, make_case

BATCH = 200
"""Cases of one seed."""


def run(seed: int) -> tuple[int, int]:
    """Tries one seed; how many documents that were, and how many of them were bad."""
    chance = random.Random(seed)
    documents = bad = 0
    for number in range(BATCH):
        case = make_case(chance.choice, most=40)
        portable, native = JsonDecoder(case.zone), NativeJsonDecoder(case.zone)
        try:
            assert_equal_kernels(case, portable, native)
        except Exception:
            print(f"seed {seed}, case {number}", file=sys.stderr)
            raise
        documents += len(case.documents)
        bad += len(portable.decode_with_projection(case.documents, case.projection).bad)
    return documents, bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    started = time.monotonic()
    documents = bad = 0
    seed = options.seed
    with ProcessPoolExecutor(options.processes) as pool:
        while documents < options.documents:
            seeds = range(seed, seed + 4 * options.processes)
            seed = seeds.stop
            for tried, wrong in pool.map(run, seeds):
                documents += tried
                bad += wrong
            seconds = time.monotonic() - started
            print(f"{documents} documents, {bad} of them bad: equal ({seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
