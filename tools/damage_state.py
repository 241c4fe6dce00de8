"""Damages a state folder file by file, and looks at what the next run says.

    python tools/damage_state.py [--only TEXT]              every kind of file, in every way
    python tools/damage_state.py --random 200 [--seed 1]    any file, in any way, at random

Every line is one case: the file goes on as it should (`healed`), is named in an error (`told`), or
is a bug (`WRONG`): something else was said, or a row is lost or there twice and nobody said so. The
suite runs a part of it (`tests/spark/test_damaged_state.py`).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.spark.run.embedded import embedded_session
from support.damage import DAMAGES, random_damage
from support.damaged_state import StateUnderTest, check_case

Case = tuple[str, str, Callable[[Path], None]]
"""A file, what is done to it, and how."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="files with this in their names")
    parser.add_argument("--random", type=int, default=0, help="so many random cases")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"spark.sql.shuffle.partitions": "1"}
        spark = embedded_session("local[2]", settings, Path(folder) / "spark.log")
        under_test = StateUnderTest(spark, Path(folder))
        chosen = at_random(under_test, options.seed) if options.random else each(under_test)
        for name, way, damage in chosen:
            if options.only not in name:
                continue
            said = check_case(under_test, name, damage).replace(folder, "")
            outcomes[said.partition(":")[0]] += 1
            print(f"{name} {way}: {said}", flush=True)
            if options.random and outcomes.total() == options.random:
                break
        spark.stop()
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return 1 if outcomes["WRONG"] else 0


def each(under_test: StateUnderTest) -> Iterator[Case]:
    for name in under_test.kinds():
        for way, damage in DAMAGES.items():
            yield name, way, damage


def at_random(under_test: StateUnderTest, seed: int) -> Iterator[Case]:
    """Kinds first, then one of the kind, so that the many files of a kind do not crowd out others.
    The way has a number of its own, by which it can be done again."""
    kinds: dict[str, list[str]] = {}
    for name in under_test.files():
        kinds.setdefault(under_test.kind(name), []).append(name)
    for number in range(seed, sys.maxsize):
        chance = random.Random(number)
        name = chance.choice(kinds[chance.choice(sorted(kinds))])
        way, damage = random_damage(chance)
        yield name, f"seed {number}, {way}", damage


if __name__ == "__main__":
    sys.exit(main())
