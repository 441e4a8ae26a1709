"""Who reads a result and adds as docs/formats.md says, from the left and as "sums" states, ends with the same bits on all ranks: on normal
floats, and as trees. On random machines, with the options that people type, and judged without a line of the project's.
Arguments: the program."""
import collections
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
from program import refused, run_chorale, work  # noqa: E402
from random_input import machine, ranks_of  # noqa: E402


def stated(text, values):
    """The value of "((0 1) 2)": values by the ranks that they come from, added from the left."""
    def read(words):
        word = words.pop(0)
        if word != "(":
            return values[int(word)]
        total = read(words)
        while words[0] != ")":
            total = add(total, read(words))
        words.pop(0)
        return total
    return read(text.replace("(", " ( ").replace(")", " ) ").split())


def add(a, b):
    """Floats with the tree along which they were added; the order of two has no meaning."""
    return a[0] + b[0], frozenset((a[1], b[1]))


def ends(point, ranks, chunk, numbers, uses_sums=True):
    """What each rank has of a chunk at the end: (float, tree), or None."""
    held = [(numbers[n], n) for n in range(ranks)]
    for step in point["schedule"]:
        orders = {(c, n): text for c, n, text in step.get("sums", [])} if uses_sums else {}
        arrivals = collections.defaultdict(list)
        for c, src, dst, _link, *adds in step["sends"]:
            if c == chunk:
                arrivals[dst].append((src, bool(adds)))
        after = list(held)
        for dst, sends in arrivals.items():
            values = {dst: held[dst]}
            for src, adds in sends:
                if not adds:
                    values = {src: held[src]}
            total = next(iter(values.values()))
            for src, adds in sends:
                if adds:
                    values[src] = held[src]
                    total = add(total, held[src])
            after[dst] = stated(orders[chunk, dst], values) if (chunk, dst) in orders else total
        held = after
    return held


def chunks_of(point):
    return sorted({send[0] for step in point["schedule"] for send in step["sends"]})


def examine(result, rng, count):
    ranks = result["topology"]["ranks"]
    for point in result["points"]:
        if point["does"]["collective"] != "allreduce":
            continue  # gathered vectors are added up where they are
        count["points"] += 1
        count["stated"] += any("sums" in step for step in point["schedule"])
        for chunk in chunks_of(point)[:40]:
            numbers = [rng.uniform(-1, 1) * 10 ** rng.randint(-3, 3) for _ in range(ranks)]
            values = ends(point, ranks, chunk, numbers)
            assert len({tree for _, tree in values}) == 1 and len({bits for bits, _ in values}) == 1, (
                f"chunk {chunk} of {point['construction']}: {values}\n{json.dumps(result)[:2000]}")
            count["chunks"] += 1
            count["needed"] += len({tree for _, tree in ends(point, ranks, chunk, numbers, uses_sums=False)}) > 1


rng = random.Random(5)
count = collections.Counter()
options = [["--max-steps", "2"], ["--k", "0", "--max-chunks", "1"], ["--k", "1", "--max-chunks", "2"], ["--max-steps", "3", "--max-chunks", "2"], ["--max-chunks", "1"], ["--max-chunks", "2", "--order", "fixed"]]
for case in range(36):
    drawn = machine(rng, tiny=case % 5 != 0)
    while ranks_of(drawn) > 6:  # on which searches take seconds
        drawn = machine(rng)
    if isinstance(drawn, dict):
        (work / "machine.json").write_text(json.dumps(drawn))
        drawn = "machine.json"
    done = run_chorale("frontier", drawn, "allreduce", *options[case % len(options)], "--conflicts", "100", "--json", "r.json", "-q", code=(0, 2, 3, 20))
    if done.returncode in (2, 20):  # a machine without an AllReduce, or with none in so few steps
        continue
    count["machines"] += 1
    examine(json.loads((work / "r.json").read_text()), rng, count)
for baseline in ("one_shot_allreduce", "two_tree_allreduce", "ring_allreduce", "recursive_doubling_allreduce"):
    run_chorale("classic", baseline, "full:8", "--json", "r.json")
    examine(json.loads((work / "r.json").read_text()), rng, count)
print(f"{count['machines']} machines, {count['points']} points, {count['chunks']} chunks: 0 with ranks that differ; "
      f"{count['stated']} points state sums, without which {count['needed']} chunks would differ")
assert count["machines"] >= 18 and count["stated"] > 0 and count["needed"] > 0

# What is stated is checked; a file that states nothing is read as before, and read and written
# again it is the same file.
(work / "m.json").write_text(json.dumps({"topology": "ends", "ranks": 3, "links": [
    {"src": a, "dst": b} for a in range(3) for b in range(3) if a != b]}))
run_chorale("frontier", "m.json", "allreduce", "--max-steps", "1", "--json", "r.json")
text = (work / "r.json").read_text()
assert '"sums":[[0,2,"(0 1 2)"]]' in text, text
run_chorale("check", "r.json")
(work / "older.json").write_text(text.replace(',"sums":[[0,2,"(0 1 2)"]]', ""))
run_chorale("check", "older.json")
for wrong, says in (('[0,2,"(0 2 1)"]', "is not how the ranks add"), ('[0,1,"(0 1 2)"]', "is not how the ranks add"), ('[9,2,"(0 1 2)"]', "is not how"),
                    ('[0,2]', "is not a sum"), ('[0,2,7]', ""), ('7', "")):
    (work / "wrong.json").write_text(text.replace('[0,2,"(0 1 2)"]', wrong))
    refused("check", "wrong.json", says=says)
print("wrong sums are refused")
