#!/usr/bin/env python3
"""Is the whole as good as its parts? Asks `optimize` and `frontier`, and on the same question `classic`, `compose`,
`synthesize`, and the same commands with fewer links, fewer chunks, and half the effort.

usage: benchmarks/own_parts.py CHORALE [--questions N] [--first N] [--named] [--seed S] [--effort N]

A row for each part that beats the whole by more than 1 %: the time of a size, or the rounds per chunk at no more
steps. The last line counts the questions that have one; exit code 1 where there are any. Machines are random ones
of 3 to 6 ranks, some of whose links are 2 or 10 times as slow as the others, or as late; --named: NAMED. Questions,
machines and options follow from the seed and the number alone, from --first on. Searches end by their effort and
`synthesize` by its conflicts (or 20 s), so a busy machine has the same rows.
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
SIZES = "4K,64K,1M,16M"
COLLECTIVES = ["allgather", "allreduce", "broadcast", "alltoall", "reducescatter"]
NAMED = [
    (machine, collective)
    for machine in ["dgx1", "dgx1:2", "dgx2:1", "dgx-a100:2", "dgx-a100:4", "dgx-h100:4", "mi250:2", "mi300x:2", "hypercube:4", "hub:8"]
    for collective in ["allreduce", "broadcast", "allgather"]
]


def random_machine(rng):
    """Links of one rate that reach all, and others that are slower, or later, by one factor."""
    ranks = rng.randint(3, 6)
    order = rng.sample(range(ranks), ranks)
    fast = {tuple(sorted((order[i - 1], order[i]))) for i in range(0 if rng.random() < 0.6 else 1, ranks)}
    pairs = [(a, b) for a in range(ranks) for b in range(a) if (b, a) not in fast]
    rng.shuffle(pairs)
    beta, alpha = rng.choice([1e-5, 4e-5]), rng.choice([1, 2])
    factor, spelled = rng.choice([2, 10]), rng.random() < 0.5
    late = alpha * rng.choice([1, 1, factor])
    links = []
    for a, b in sorted(fast):
        links += [dict(src=s, dst=d, bandwidth=factor if spelled else 1, alpha_us=alpha, beta_us_per_byte=beta * (factor if spelled else 1)) for s, d in ((a, b), (b, a))]
    for b, a in sorted(pairs[: rng.randint(1, max(1, len(pairs)))]):
        links += [dict(src=s, dst=d, bandwidth=1, alpha_us=late, beta_us_per_byte=beta * factor) for s, d in ((a, b), (b, a))]
    return {"topology": "random", "ranks": ranks, "links": links}


def slowness(link):
    return link["beta_us_per_byte"] / link["bandwidth"], link["alpha_us"]


def reaches_all(machine):
    for forwards in (True, False):
        seen, todo = {0}, [0]
        while todo:
            at = todo.pop()
            for link in machine["links"]:
                a, b = (link["src"], link["dst"]) if forwards else (link["dst"], link["src"])
                if a == at and b not in seen:
                    seen.add(b)
                    todo.append(b)
        if len(seen) < machine["ranks"]:
            return False
    return True


def without_slowest(machine):
    """None where the fast links do not reach all."""
    slowest = max(map(slowness, machine["links"]))
    fewer = copy.deepcopy(machine)
    fewer["links"] = [link for link in machine["links"] if slowness(link) != slowest]
    return fewer if reaches_all(fewer) else None


class Asked:
    def __init__(self, chorale, folder):
        self.chorale, self.folder = chorale, folder

    def json_of(self, *arguments):
        out = self.folder / "out.json"
        out.unlink(missing_ok=True)
        subprocess.run([self.chorale, *map(str, arguments), "--json", out, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(out.read_text()) if out.exists() else None

    def times(self, machine, collective, *options):
        """{size: microseconds} of optimize."""
        answer = self.json_of("optimize", machine, collective, "--sizes", SIZES, *options)
        return {row["message_bytes"]: row["us"] for row in answer["rows"]} if answer else {}

    def costs(self, command, machine, *options):
        """[(steps, rounds per chunk)] of a result's points."""
        answer = self.json_of(command, machine, *options)
        return [(p["steps"], p["rounds"] / p["chunks"]) for p in answer["points"]] if answer else []


def beaten_times(whole, part):
    return [f"{size} bytes: {us:.4g} us, and {whole[size]:.4g}" for size, us in part.items() if size in whole and us * NEAR < whole[size]]


def beaten_costs(whole, part):
    found = []
    for steps, rate in part:
        own = min((r for s, r in whole if s <= steps), default=None)
        if own is None or rate * NEAR < own:
            found.append(f"{steps} steps: {rate:.4g} rounds per chunk, and {own if own is None else round(own, 4)}")
    return found


def classics(asked):
    listed = subprocess.run([asked.chorale, "classic", "list"], capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines()[1:] if line and not line.startswith(" ")]


def parts_of(asked, machine, fewer, collective, options, effort, names):
    """(name, what of the whole it beats), of each part."""
    whole_us = asked.times(machine, collective, *options, "--effort", effort)
    whole = asked.costs("frontier", machine, collective, *options, "--effort", effort)
    if not whole or not whole_us:
        yield "no answer", ["nothing was found"]
        return
    yield "optimize, half the effort", beaten_times(whole_us, asked.times(machine, collective, *options, "--effort", effort // 2))
    yield "frontier, half the effort", beaten_costs(whole, asked.costs("frontier", machine, collective, *options, "--effort", effort // 2))
    if fewer is not None:
        yield "optimize, fewer links", beaten_times(whole_us, asked.times(fewer, collective, *options, "--effort", effort))
    yield "frontier, fewer chunks", beaten_costs(whole, asked.costs("frontier", machine, collective, *options, "--max-chunks", 4, "--effort", effort))
    ranks = json.loads(machine.read_text())["ranks"] if isinstance(machine, pathlib.Path) else None
    for chunks in sorted({1, 2, ranks or 8}):
        yield f"synthesize, {chunks} chunks", beaten_costs(whole, asked.costs("synthesize", machine, collective, *options, "--chunks", chunks, "--conflicts", 1000, "--time-limit", 20))
        yield f"compose, {chunks} chunks", beaten_costs(whole, asked.costs("compose", machine, collective, *options, "--min-chunks", chunks))
    for name in names:
        if name.endswith(collective):
            yield f"classic {name}", beaten_costs(whole, asked.costs("classic", name, machine, *options))


def questions(arguments, folder):
    """(title, machine, the same with fewer links or None, collective, options)"""
    if arguments.named:
        for machine, collective in NAMED[arguments.first : arguments.first + arguments.questions]:
            yield f"{machine} {collective}", machine, None, collective, ["--switches-forward-only"]
        return
    for number in range(arguments.first, arguments.first + arguments.questions):
        rng = random.Random(f"own parts {arguments.seed} {number}")
        machine, file, smaller = random_machine(rng), folder / "machine.json", folder / "fewer.json"
        fewer = without_slowest(machine)
        file.write_text(json.dumps(machine))
        if fewer:
            smaller.write_text(json.dumps(fewer))
        yield f"random {number}", file, smaller if fewer else None, rng.choice(COLLECTIVES), []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chorale")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--named", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", type=int, default=100)
    arguments = parser.parse_args()
    asked, beaten = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = Asked(arguments.chorale, folder)
        names = classics(program)
        for title, machine, fewer, collective, options in questions(arguments, folder):
            asked += 1
            found = [(part, each) for part, all_of in parts_of(program, machine, fewer, collective, options, arguments.effort, names) for each in all_of]
            beaten += bool(found)
            for part, each in found:
                print(f"{title}, {collective}: {part}: {each}", flush=True)
    print(f"{beaten} of {asked} questions beaten")
    return 1 if beaten else 0


if __name__ == "__main__":
    sys.exit(main())
