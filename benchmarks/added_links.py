#!/usr/bin/env python3
"""Does a slow link that is added make an answer worse? Asks `optimize` about random machines with and without it, by
the same effort; about both spellings of their rates; and by events.

usage: benchmarks/added_links.py CHORALE [--machines N] [--seed S] [--efforts 1,100]

Machines have 3 to 5 ranks, strongly connected by links of one rate and latency, or of two; the link that is added is 2
or 10 times as slow, or as late, or both, as the slowest. A row for each time that is more than 1 % longer with it,
for each row called complete that is, and for each pair of spellings that differs at all. The last line counts; exit
code 1 where there are any.
"""

import argparse
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

NEAR = 1.01
SIZES = "64K,16M"
COLLECTIVES = ["allgather", "allreduce", "broadcast", "alltoall", "reducescatter"]


def random_machine(rng):
    ranks = rng.randint(3, 5)
    order = rng.sample(range(ranks), ranks)
    pairs = {(order[i - 1], order[i]) for i in range(ranks)}
    others = [(a, b) for a in range(ranks) for b in range(ranks) if a != b and (a, b) not in pairs]
    rng.shuffle(others)
    pairs |= set(others[: rng.randint(0, len(others) - 1)])
    alpha, factor = rng.choice([0.7, 7]), rng.choice([1, 1, 2, 10])
    return {
        "topology": "random",
        "ranks": ranks,
        "links": [dict(src=a, dst=b, alpha_us=alpha, beta_us_per_byte=4e-5 * (factor if (a, b) in others else 1)) for a, b in sorted(pairs)],
    }


def with_slow_link(rng, machine):
    """One more link, slower or later than the slowest."""
    links = machine["links"]
    free = [(a, b) for a in range(machine["ranks"]) for b in range(machine["ranks"]) if a != b and all((a, b) != (link["src"], link["dst"]) for link in links)]
    a, b = rng.choice(free)
    slow, late = rng.choice([(2, 1), (10, 1), (10, 10), (1, 10), (2, 2)])
    added = dict(src=a, dst=b, alpha_us=late * max(link["alpha_us"] for link in links), beta_us_per_byte=slow * max(link["beta_us_per_byte"] for link in links))
    return {**machine, "links": links + [added]}


def by_bandwidth(machine):
    """The same rates as bandwidths of one beta."""
    slowest = max(link["beta_us_per_byte"] for link in machine["links"])
    spelled = copy.deepcopy(machine)
    for link in spelled["links"]:
        link.update(bandwidth=round(slowest / link["beta_us_per_byte"]), beta_us_per_byte=slowest)
    return spelled


class Asked:
    def __init__(self, chorale, folder):
        self.chorale, self.file, self.out = chorale, folder / "machine.json", folder / "out.json"

    def rows(self, machine, collective, *options):
        """[(bytes, microseconds, complete)] of optimize."""
        self.file.write_text(json.dumps(machine))
        self.out.unlink(missing_ok=True)
        subprocess.run([self.chorale, "optimize", self.file, collective, "--sizes", SIZES, "--json", self.out, "-q", *options], stdout=subprocess.DEVNULL)
        return [(row["message_bytes"], row["us"], row["us"] <= row["bound_us"] * (1 + 1e-9)) for row in json.loads(self.out.read_text())["rows"]]


def worse(fewer, more):
    """Rows of `more` that are slower than those of `fewer`."""
    return [f"{size} bytes: {us:.5g} us, and {least:.5g} without it{', complete' if complete else ''}" for (size, least, _), (_, us, complete) in zip(fewer, more, strict=True) if least * NEAR < us]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chorale")
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--efforts", default="1,100")
    arguments = parser.parse_args()
    rows = slower = differ = 0
    with tempfile.TemporaryDirectory() as name:
        asked = Asked(arguments.chorale, pathlib.Path(name))
        for number in range(arguments.machines):
            rng = random.Random(f"added link {arguments.seed} {number}")
            machine, collective = random_machine(rng), rng.choice(COLLECTIVES)
            more = with_slow_link(rng, machine)
            for options in ([*model, "--effort", effort] for effort in arguments.efforts.split(",") for model in ([], ["--time", "events"])):
                answers = [asked.rows(each, collective, *options) for each in (machine, more)]
                rows += len(answers[0])
                found = worse(*answers)
                slower += len(found)
                if answers[1] != asked.rows(by_bandwidth(more), collective, *options):
                    differ += 1
                    found.append("by bandwidth another answer")
                for each in found:
                    print(f"machine {number}, {collective}, {' '.join(options)}: {each}", flush=True)
    print(f"{slower} of {rows} rows slower by a link that was added; {differ} answers differ by their spelling")
    return 1 if slower or differ else 0


if __name__ == "__main__":
    sys.exit(main())
