#!/usr/bin/env python3
"""Every single field of genuine files changed, one at a time, generically: removed, another number, below
zero, far too large, another text, of another kind, a member more, an element less or twice. What is false
then, `check` refuses; what is not, it accepts.

Who reports what is false: of results docs/schemas for the form (form.py) and verifier.py for the rest; of
rankings placement itself, which is asked the question that the changed file asks, and whose answer the file
has to be.

Fields that are information only, so that any value of their form is true:
  seconds                    how long a search took
  limits                     what a search was not to exceed: it narrows what was found, and `stopped` may not name one that there was not
  names of machines, limits  no statement
  alpha_us, beta_us_per_byte what the machine is said to be; where ways were chosen, they have to be those of the ways
  of a ranking: names of the hierarchy, the job and its reductions; choices, fitting, placed, sizes but the first, memory_bytes, compute_us: their
  template is not in the file, and `check` says so; own.fault: the strategy that it is about is not in the file

Usage: every_field.py CHORALE CHECKER EXHAUSTIVE SOURCE_DIRECTORY [SEED] [--full] [--only NAME]
"""
import collections
import copy
import functools
import json
import math
import operator
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale, work  # noqa: E402

import exhaustive
import form
import verifier

chorale, checker, searcher, source = map(os.path.abspath, sys.argv[1:5])
full = "--full" in sys.argv
only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
seed = int(next((word for word in sys.argv[5:] if word.isdigit()), 4))
dice = random.Random(seed)
print(f"seed {seed}")
forms = form.Forms(pathlib.Path(source) / "docs" / "schemas")
truth = exhaustive.Exhaustive(searcher)


class Checker:
    """The reader and `check`; a text at which it ends by a signal is a fault."""

    def __init__(self):
        self.process = None

    def ask(self, command, text):
        if self.process is None:
            self.process = subprocess.Popen([checker], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        body = text.encode()
        try:
            self.process.stdin.write(f"{command} {len(body)}\n".encode() + body)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline().decode()
        if not line:
            code = self.process.wait()
            self.process = None
            return "ended", f"by {code}"
        kind, _, words = line.strip().partition(" ")
        if kind == "ranking":
            return kind, self.process.stdout.read(int(words) + 1).decode()  # and the end of the line
        return kind, words


ask = Checker().ask


def write(name, value):
    (work / name).write_text(json.dumps(value))
    return f"./{name}"


def made(*arguments, codes=(0, 3)):
    done = run_chorale(*arguments, "--json", "made.json", code=None)
    assert done.returncode in codes, (arguments, done)
    return json.loads((work / "made.json").read_text())


def star(ranks, **more):
    return {"topology": "star", "ranks": ranks, "switches": 1, "links": [{"src": n, "dst": ranks, "both_ways": True} for n in range(ranks)], **more}


def over_routes(ranks):
    """A star whose ways are reported to be chosen."""
    wires = [link for n in range(ranks) for link in ({"src": n, "dst": ranks, "alpha_us": 0.5}, {"src": ranks, "dst": n, "alpha_us": 0.25})]
    pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    ports = [([l for l, (a, b) in enumerate(pairs) if (b if back else a) == n], 1) for n in range(ranks) for back in (0, 1)]
    ports.append(([l for l, (a, _) in enumerate(pairs) if a < 2], 2))
    return {"topology": "ways", "ranks": ranks, "links": [{"src": a, "dst": b, "bandwidth": 1, "alpha_us": 0.75} for a, b in pairs],
            "limits": [{"name": f"port {i}", "links": links, "bandwidth": width} for i, (links, width) in enumerate(ports)],
            "underlay": {"topology": "ways", "ranks": ranks, "switches": 1, "links": wires, "limits": [{"name": "wide", "links": [0, 2], "bandwidth": 2}]},
            "ways": [[2 * a, 2 * b + 1] for a, b in pairs]}


uneven = write("uneven.json", {"topology": "uneven", "ranks": 3, "links": [{"src": n, "dst": (n + 1) % 3, "bandwidth": 1 + n % 2} for n in range(3)] +
                               [{"src": 2, "dst": 1, "alpha_us": 3, "beta_us_per_byte": 1e-3}], "limits": [{"links": [[1, 2], [2, 1]], "bandwidth": 2}]})
pairs = write("pairs.json", {"collective": "in pairs", "chunks": [{"pre": [0], "post": [1, 2]}, {"pre": [1, 2], "post": [0], "input": 1, "output": 0}]})
sums = write("sums.json", {"collective": "some sums", "combining": True, "chunks": [{"pre": [0, 1], "post": [2]}, {"pre": [0, 1, 2], "post": [1]}]})
able = write("able.json", star(3, multicast=[0], reduce=[0]))
both = write("both.json", star(4, multicast=[0]))
ways = write("ways.json", over_routes(3))
nodes = write("nodes.json", {"hierarchy": "nodes", "node": 1, "levels": [
    {"name": "node", "fan_out": 2, "bandwidth_gbs": 25, "ports": 2, "latency_us": 5, "stream_gbs": 20},
    {"name": "gpu", "fan_out": 4, "shape": "ring", "bandwidth_gbs": 100, "latency_us": 1, "detour": {"bandwidth_gbs": 10, "children": 2}, "exit": {"bandwidth_gbs": 12, "children": 2}}]})
after = write("after.json", {"job": "after", "axes": [{"name": "data", "size": 2}, {"name": "tensor", "size": 4}], "reductions": [
    {"name": "activations", "axes": ["tensor"], "bytes": 50331648, "times": 3}, {"name": "gradients", "axes": ["data"], "bytes": 2000000, "after": []},
    {"name": "experts", "axes": ["tensor", "data"], "bytes": 65536, "goal": "alltoall", "after": ["activations"]}]})
template = write("template.json", {"job_template": "sizes", "axes": [{"name": "data"}, {"name": "tensor", "most": 4}], "compute_us": "100 / tensor",
                                   "memory_bytes": "1000 / tensor", "room_bytes": 900, "reductions": [{"axes": ["data"], "bytes": "4096 / tensor"}]})

GENUINE = {
    "allgather": lambda: made("frontier", "ring:4", "allgather", "--max-chunks", 2),
    "refuted": lambda: made("frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 4),
    "cut": lambda: made("frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 3, "--conflicts", 1, "--cubes", 4),
    "not found": lambda: made("frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 4, "--conflicts", 0),
    "families": lambda: made("frontier", "hub:3", "allreduce", "--max-chunks", 2),
    "few steps": lambda: made("frontier", "line:4", "alltoall", "--max-steps", 3, "--k", 1),
    "able": lambda: made("frontier", able, "allreduce"),
    "multicast": lambda: made("frontier", both, "allgather"),
    "ways": lambda: made("frontier", ways, "allgather"),
    "sums over ways": lambda: made("frontier", ways, "allreduce"),
    "uneven": lambda: made("frontier", uneven, "allgather", "--max-chunks", 2),
    "rooted": lambda: made("frontier", "line:3", "gather", "--root", 1),
    "dual": lambda: made("frontier", "torus:2x2", "reducescatter"),
    "custom": lambda: made("frontier", uneven, pairs, "--max-chunks", 2),
    "custom sums": lambda: made("frontier", "ring:3", sums, "--max-chunks", 2),
    "synthesis": lambda: made("synthesize", "ring:4", "allgather", "--chunks", 1),
    "algorithm": lambda: made("classic", "ring_allreduce", "ring:4"),
    "composed": lambda: made("compose", nodes, "allgather"),
    "placed": lambda: made("place", nodes, "--axes", "data=2,tensor=4", "--reduce", "data", "--bytes", "1M", "--strategies", 3, "--top", 4),
    "conditions": lambda: made("place", nodes, "--axes", "data=2,tensor=4", "--reduce", "data,tensor", "--bytes", "1M", "--inside", "tensor=node", "--order",
                               "tensor<data", "--memory", "node:tensor:1000:9000", "--rules", "paper", "--algo", "ring", "--synthesis", "reduction"),
    "own": lambda: made("place", nodes, "--axes", "data=2,tensor=4", "--reduce", "data,tensor", "--bytes", "1M", "--strategy", OWN),
    "after": lambda: made("place", nodes, "--job", after, "--top", 3),
    "shift": lambda: made("place", nodes, "--axes", "data=2,tensor=4", "--reduce", "tensor", "--bytes", "1M", "--goal", "shift", "--top", 3),
    "template": lambda: made("place", nodes, "--job", template, "--top", 2),
}
OWN = "(node, InsideGroup, ReduceScatter); (node, Parallel(root), AllReduce); (node, InsideGroup, AllGather)"

# -- alterations ---------------------------------------------------------------------------------------------


def places(value, path=()):
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def alterations(value, at_key):
    """(name, function of the holder and key) for a field."""
    def to(new):
        def change(holder, key):
            holder[key] = new
        return change

    def removed(holder, key):
        del holder[key]
    yield "removed", removed
    if isinstance(value, bool):
        yield "turned", to(not value)
        yield "another kind", to(1)
    elif isinstance(value, (int, float)):
        for name, new in (("+1", value + 1), ("-1", value - 1), ("sign", -value if value else -1), ("zero", 0), ("huge", 10 ** 12), ("part", value + 0.5)):
            if new != value:
                yield name, to(new)
        yield "another kind", to(str(value))
        yield "null", to(None)
    elif isinstance(value, str):
        yield "longer", to(value + "x")
        yield "empty", to("")
        yield "a name", to(dice.choice(["allgather", "frontier", "direct", "ring", "time limit", "data", "node", "partition", "reduce"]))
        yield "another kind", to(0)
    elif value is None:
        yield "number", to(1)
        yield "text", to("")
    elif isinstance(value, list):
        yield "empty", to([])
        if value:
            yield "without its last", to(value[:-1])
            yield "its last twice", to([*value, value[-1]])
            yield "turned round", to(value[::-1])
        yield "another kind", to({})
    else:
        yield "a member more", to({**value, "more": 1})
        for key in sorted(KNOWN.keys() - value.keys()):
            yield f"{key} more", to({**value, key: KNOWN[key]})
            if key in ("multicast", "reduce"):
                yield f"{key} more, of a limit", to({**value, key: True})
        yield "another kind", to([])


# Members that are known somewhere, for what has them not.
KNOWN = {"multicast": [0], "reduce": [0], "alpha_us": 2, "beta_us_per_byte": 1e-5, "both_ways": True, "switches": 1, "limits": [], "name": "x", "root": 1,
         "combining": True, "chunks_per_block": 2, "prices": [], "group": [0], "rank": 0, "chunk": 0, "cubes": [], "formula_sha256": "x", "ways": [], "from_us": 1,
         "to_us": 1, "one_by_one_us": 1, "own": {"fault": "x"}, "choices": 1, "sizes": [], "fitting": 1, "exchange": {"us": 1, "latency_us": 1, "binding": "x"},
         "ancestor": "node", "ports": 2, "rails": True, "detour": {"bandwidth_gbs": 1}, "after": [], "input": 1, "output": 1}


def words_of(path):
    return ".".join("[]" if isinstance(key, int) else key for key in path)


# -- verdicts ------------------------------------------------------------------------------------------------

def refutations(result):
    try:
        topology = {key: result["topology"].get(key) for key in ("ranks", "links", "limits")}
        return {json.dumps([topology, result["collective"], {**claim, "seconds": 0}], sort_keys=True) for claim in result["claims"]
                if claim["certificate"]["kind"] == "refutation"}
    except (KeyError, TypeError, AttributeError):
        return set()


@functools.cache
def undecided_of(text):
    result = json.loads(text)
    return set(verifier.verify(result, truth if refutations(result) else None).undecided)


def judged(result, genuine, path, what):
    """"false", "true" or "unclear", and why."""
    if not forms.fits(result, "result.schema.json"):
        return "false", "not of the form"
    if what == "huge":
        return "unclear", "the verifier counts up to it"
    if path[-2:] == ("collective", "chunks") and what == "turned round":
        return "unclear", "the same chunks in another order than those of the points"
    said = verifier.verify(result, truth if refutations(result) else None)
    if said.faults:
        return "false", said.faults[0]
    if path[-1:] == ("formula_sha256",):
        return "false", "no formula has that hash"
    if not refutations(result) <= refutations(genuine):
        return "unclear", "another refutation"
    more = set(said.undecided) - undecided_of(json.dumps(genuine))
    return ("unclear", more.pop()) if more else ("true", "")


def alike(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a == b
    return math.isclose(a, b, rel_tol=1e-9)


STATEMENTS = ("matrices", "priced", "without_strategy", "best")  # all else is the question, of the template, or a time


def compared(ranking, lengths):
    """What a ranking states, with as many strategies as the other one lists."""
    ranking = {key: value for key, value in copy.deepcopy(ranking).items() if key in STATEMENTS}
    for m, matrix in enumerate(ranking["best"]):
        for r, reduction in enumerate(matrix["reductions"]):
            reduction.pop("own", None)
            if m < len(lengths):
                reduction["strategies"] = reduction["strategies"][:max(1, lengths[m][r])]
    return ranking


def placed(ranking, genuine, path, what):
    """The same of a ranking."""
    if not forms.fits(ranking, "ranking.schema.json"):
        return "false", "not of the form"
    if ranking["priced"] < ranking["matrices"]:
        return "unclear", "cut short, so nothing is said of the others"
    if path[:1] == ("sizes",) or path[:1] in (("choices",), ("fitting",), ("placed",)):
        return "unclear", "of the template"
    has_own = any("own" in reduction for matrix in ranking["best"] for reduction in matrix["reductions"])
    if has_own and path and path[0] != "best":
        return "unclear", "the time of a strategy that is the user's"
    if path and path[-1] == "pattern" and what in ("removed", "empty"):
        return "unclear", "older files have none, which an empty one states"
    if what == "own more":
        return "unclear", "of a strategy that is not there, or of what has none"
    if "own" in path:
        return ("unclear", "of a strategy that is not there") if path[-1] in ("fault", "own") else ("false", "another strategy, or time")
    kind, text = ask("place", json.dumps(ranking))
    if kind != "ranking":
        return "false", f"asks for what there is not: {text}"
    lengths = [[len(reduction["strategies"]) for reduction in matrix["reductions"]] for matrix in ranking["best"]]
    if alike(compared(ranking, lengths), compared(json.loads(text), lengths)):
        return "true", ""
    if path[-1:] == ("best",) or len(path) == 2 or "orders" in path:
        prices = [[matrix["us"] for matrix in each["best"]] for each in (ranking, json.loads(text))]
        if alike(prices[0], prices[1][:len(prices[0])]):
            return "unclear", "others of the same price"
    return "false", "placement says something else"


counts, faults, refused_as = collections.Counter(), [], collections.Counter()
for name, make in GENUINE.items():
    if only and only != name:
        continue
    began = time.monotonic()
    genuine = make()
    is_ranking = "chorale_ranking" in genuine
    oracle = placed if is_ranking else judged
    kind, words = ask("check", json.dumps(genuine))
    assert kind == "sound", (name, kind, words)
    verdict, why = oracle(genuine, genuine, (), "")
    assert verdict == "true", (name, verdict, why)
    cases = [(path, what, change) for path in places(genuine) if path
             for what, change in alterations(functools.reduce(operator.getitem, path, genuine), path[-1])]
    if not full:  # every field once at least, and no field of a long list often
        by_field = collections.defaultdict(list)
        for case in cases:
            by_field[words_of(case[0]), case[1]].append(case)
        cases = [dice.choice(alike_) for alike_ in by_field.values()]
        cases = dice.sample(cases, min(len(cases), 100 if is_ranking else 240))
    for path, what, change in cases:
        changed = copy.deepcopy(genuine)
        change(functools.reduce(operator.getitem, path[:-1], changed), path[-1])
        if changed == genuine:
            continue
        text = json.dumps(changed, indent=1 if is_ranking else None)
        verdict, why = oracle(changed, genuine, path, what)
        kind, words = ask("check", text)
        counts["fields of rankings" if is_ranking else "fields of results", verdict, kind] += 1
        where = f"{name}: {words_of(path)} {what}"
        if kind == "ended":
            faults.append(f"{where}: the reader ended {words}")
        elif verdict == "false" and kind in ("sound", "undecided"):
            faults.append(f"{where}: accepted, and {why}")
        elif verdict == "true" and kind in ("false", "refused") and not (what == "huge" and kind == "refused"):
            faults.append(f"{where}: {kind}, and it is true: {words}")
    print(f"{name}: {len(cases)} in {time.monotonic() - began:.1f} s", flush=True)
truth.close()
for kind, number in collections.Counter(fault for fault in faults).most_common(60):
    print("FAULT", kind)
for (of, verdict, kind), number in sorted(counts.items()):
    print(f"{number:6} {of}: {verdict} by the verifier, {kind} by check")
print(f"{sum(counts.values())} fields changed, {len(faults)} faults")
sys.exit(1 if faults else 0)
