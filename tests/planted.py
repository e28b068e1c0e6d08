"""Errors planted in the library, one at a time: do the random campaigns find them, and after how many cases?

    python -m tests.planted                        # all of them
    python -m tests.planted --only "real shadow"   # those whose name has this in it

Each is a change of one line, of the kind that is made when writing such code: a bound off by one, a condition that is
left out, a rational answer taken for an integer one. A process of its own imports the library with the change and
runs the campaign's cases, one input of each family in turn (or one tree), until one does not end well. The exit code
is 1 when an error is not found among `--cases`, or when the line that it changes is no longer there.
"""

import argparse
import subprocess
import sys
import time
from importlib.machinery import SourceFileLoader
from itertools import count

from tests.campaigns import ROOT

SETS = {  # name: (file below polyvolta, text, what it becomes)
    "a real shadow taken for the integer one": (
        "sets/conjuncts/project.py",
        "if a == 1 or b == 1:",
        "if a <= 2 or b == 1:",
    ),
    "a difference forgets a row": (
        "sets/conjuncts/implies.py",
        "    for row in rows:\n        outside = complement(row)",
        "    for row in rows[:3]:\n        outside = complement(row)",
    ),
    "gist trusts a bound that is one too weak": (
        "sets/hulls/gist.py",
        "const is not None and const <= row[0]",
        "const is not None and const <= row[0] + 1",
    ),
    "counting skips an end": (
        "sets/counting/count.py",
        "        low, high = ends(rows)\n        return max(0, high - low + 1)",
        "        low, high = ends(rows)\n        return max(0, high - low)",
    ),
    "floor of a floor multiplies once": (
        "sets/values/aff.py",
        "flat.floordiv(atom.den * den)",
        "flat.floordiv(max(atom.den, den))",
    ),
    "rounding takes the higher end": (
        "sets/conjuncts/rounding.py",
        "out[0] = (row[0] + low) // g * g",
        "out[0] = -(-(row[0] + low) // g) * g",
    ),
    "residues on a bound are lost": (
        "sets/engine/residues.py",
        "if equality else [v >= 0 for v in values]",
        "if equality else [v > 0 for v in values]",
    ),
}
TREES = {
    "a lane that ends level comes first": (
        "sched/loops/rows/order.py",
        "if most is None or most < 0:",
        "if most is None or most <= 0:",
    ),
    "the last unrolled iteration is left out": (
        "sched/loops/members.py",
        "for t in range(steps + 1):",
        "for t in range(max(1, steps)):",
    ),
    "strides of 3 are not tested": (
        "sched/loops/conditions.py",
        "if (mine is None or mine(row[0])) and not known.implies_mod(*row)",
        "if row[2] != 3 and (mine is None or mine(row[0])) and not known.implies_mod(*row)",
    ),
    "a common bound is one too tight": (
        "sched/loops/rows/bounds.py",
        "if stated is not None and stated <= const:",
        "if stated is not None and stated <= const + 1:",
    ),
    "a stride of one lane is taken for all": (
        "sched/loops/conditions.py",
        "out.mods = [r for r in first.mods if all(r in s.mods for s in others)]",
        "out.mods = [r for r in first.mods if any(r in s.mods for s in others or systems)]",
    ),
}


def plant(file, old, new):
    """Have the import of a file read other text; KeyError when the text is not there exactly once."""
    path = str(ROOT / "polyvolta" / file)
    read, stats = SourceFileLoader.get_data, SourceFileLoader.path_stats
    with open(path) as source:
        text = source.read()
    if text.count(old) != 1:
        raise KeyError(f"{file} does not have {old!r} once")

    def get_data(self, name):
        return text.replace(old, new).encode() if name == path else read(self, name)

    def path_stats(self, name):
        if name == path:
            raise OSError("no compiled file is taken for it")
        return stats(self, name)

    SourceFileLoader.get_data, SourceFileLoader.path_stats = get_data, path_stats


def of_sets(seed):
    """What comes of each case of the sets' campaign: None, or where it does not end well."""
    from tests.sets import campaign

    limits = campaign.Limits(5, campaign.STEPS, 0)
    for number in count():
        for name, family in campaign.load().items():
            tally = campaign.Tally()
            campaign.run_input(family, campaign.data_of(seed, name, number), tally, limits, f"input {number}")
            for key, n in tally.cases.items():
                yield from [None] * (n - 1)
                yield f"{' / '.join(key)}" if tally.mismatches[key] else None


def of_trees(seed):
    """The same of the campaign of trees."""
    from tests.sched import campaign

    for number in count():
        outcome, message, *_ = campaign.attempt(campaign.data_of(seed, number), True, 5, campaign.STEPS)
        yield message.splitlines()[0][:100] if outcome == "wrong" else None


def first_found(name, cases, seed):
    """Plant an error in this process and run cases until one tells."""
    plant(*{**SETS, **TREES}[name])
    began = time.process_time()
    for n, found in enumerate((of_sets if name in SETS else of_trees)(seed), 1):
        if found:
            return f"found by case {n:,}, after {time.process_time() - began:.1f} s: {found}"
        if n >= cases:
            return None
    return None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="", help="errors whose name has this in it")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        found = first_found(options.here, options.cases, options.seed)
        print(found or f"not found in {options.cases:,} cases")
        return 0 if found else 1
    missed = 0
    for name in (n for n in (*SETS, *TREES) if options.only in n):
        command = [sys.executable, "-m", "tests.planted", "--cases", str(options.cases), "--seed", options.seed]
        done = subprocess.run([*command, "--here", name], cwd=ROOT, capture_output=True, text=True, check=False)
        missed += done.returncode != 0
        print(f"{name}: {(done.stdout or done.stderr).strip().splitlines()[-1]}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
