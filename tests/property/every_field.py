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
"""
import collections
import copy
import functools
import json
import math
import subprocess

import verifier
from kit import alterations
from kit.alterations import words_of
from verdicts import FORMS, refutations, verdict


@functools.cache
def reader(program):
    return Reader(program)


class Reader:
    """The reader and `check`; a text at which it ends by a signal is a fault."""

    def __init__(self, program):
        self.program, self.process = program, None

    def ask(self, command, text):
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
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


FILES = {
    "uneven": {"topology": "uneven", "ranks": 3, "links": [{"src": n, "dst": (n + 1) % 3, "bandwidth": 1 + n % 2} for n in range(3)] +
                               [{"src": 2, "dst": 1, "alpha_us": 3, "beta_us_per_byte": 1e-3}], "limits": [{"links": [[1, 2], [2, 1]], "bandwidth": 2}]},
    "pairs": {"collective": "in pairs", "chunks": [{"pre": [0], "post": [1, 2]}, {"pre": [1, 2], "post": [0], "input": 1, "output": 0}]},
    "sums": {"collective": "some sums", "combining": True, "chunks": [{"pre": [0, 1], "post": [2]}, {"pre": [0, 1, 2], "post": [1]}]},
    "able": star(3, multicast=[0], reduce=[0]),
    "both": star(4, multicast=[0]),
    "ways": over_routes(3),
    "nodes": {"hierarchy": "nodes", "node": 1, "levels": [
    {"name": "node", "fan_out": 2, "bandwidth_gbs": 25, "ports": 2, "latency_us": 5, "stream_gbs": 20},
    {"name": "gpu", "fan_out": 4, "shape": "ring", "bandwidth_gbs": 100, "latency_us": 1, "detour": {"bandwidth_gbs": 10, "children": 2}, "exit": {"bandwidth_gbs": 12, "children": 2}}]},
    "after": {"job": "after", "axes": [{"name": "data", "size": 2}, {"name": "tensor", "size": 4}], "reductions": [
    {"name": "activations", "axes": ["tensor"], "bytes": 50331648, "times": 3}, {"name": "gradients", "axes": ["data"], "bytes": 2000000, "after": []},
    {"name": "experts", "axes": ["tensor", "data"], "bytes": 65536, "goal": "alltoall", "after": ["activations"]}]},
    "template": {"job_template": "sizes", "axes": [{"name": "data"}, {"name": "tensor", "most": 4}], "compute_us": "100 / tensor",
                                   "memory_bytes": "1000 / tensor", "room_bytes": 900, "reductions": [{"axes": ["data"], "bytes": "4096 / tensor"}]},
}
OWN = "(node, InsideGroup, ReduceScatter); (node, Parallel(root), AllReduce); (node, InsideGroup, AllGather)"
GENUINE = {
    "allgather": ["frontier", "ring:4", "allgather", "--max-chunks", 2],
    "refuted": ["frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 4],
    "not found": ["frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 4, "--conflicts", 0],
    "families": ["frontier", "hub:3", "allreduce", "--max-chunks", 2],
    "few steps": ["frontier", "line:4", "alltoall", "--max-steps", 3, "--k", 1],
    "able": ["frontier", "./able.json", "allreduce"],
    "multicast": ["frontier", "./both.json", "allgather"],
    "ways": ["frontier", "./ways.json", "allgather"],
    "sums over ways": ["frontier", "./ways.json", "allreduce"],
    "uneven": ["frontier", "./uneven.json", "allgather", "--max-chunks", 2],
    "rooted": ["frontier", "line:3", "gather", "--root", 1],
    "dual": ["frontier", "torus:2x2", "reducescatter"],
    "custom": ["frontier", "./uneven.json", "./pairs.json", "--max-chunks", 2],
    "custom sums": ["frontier", "ring:3", "./sums.json", "--max-chunks", 2],
    "synthesis": ["synthesize", "ring:4", "allgather", "--chunks", 1],
    "algorithm": ["classic", "ring_allreduce", "ring:4"],
    "composed": ["compose", "./nodes.json", "allgather"],
    "placed": ["place", "./nodes.json", "--axes", "data=2,tensor=4", "--reduce", "data", "--bytes", "1M", "--strategies", 3, "--top", 4],
    "conditions": ["place", "./nodes.json", "--axes", "data=2,tensor=4", "--reduce", "data,tensor", "--bytes", "1M", "--inside", "tensor=node", "--order",
                               "tensor<data", "--memory", "node:tensor:1000:9000", "--rules", "paper", "--algo", "ring", "--synthesis", "reduction"],
    "own": ["place", "./nodes.json", "--axes", "data=2,tensor=4", "--reduce", "data,tensor", "--bytes", "1M", "--strategy", OWN],
    "after": ["place", "./nodes.json", "--job", "./after.json", "--top", 3],
    "shift": ["place", "./nodes.json", "--axes", "data=2,tensor=4", "--reduce", "tensor", "--bytes", "1M", "--goal", "shift", "--top", 3],
    "template": ["place", "./nodes.json", "--job", "./template.json", "--top", 2],
}


# -- verdicts on rankings ------------------------------------------------------------------------------------

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


def placed(ranking, path, what, ask):
    """What placement says of a changed ranking."""
    if not FORMS.fits(ranking, "ranking.schema.json"):
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


# -- the property --------------------------------------------------------------------------------------------

def every_field(session):
    """Of the genuine file of the case's number: each field once at least, of a long list a few; all of them if
    that is asked for."""
    name, arguments = list(GENUINE.items())[session.case["number"] % len(GENUINE)]
    for file, text in FILES.items():
        session.write(f"{file}.json", text)
    session.run(*arguments, "--json", "r.json", codes={0, 3})
    genuine, rng, ask = session.read(), session.rng, reader(session.options.programs / "tests/checker").ask
    is_ranking = "chorale_ranking" in genuine

    def expected(changed, path, what):
        if is_ranking:
            return placed(changed, path, what, ask)
        if what == "huge" and FORMS.fits(changed, "result.schema.json"):
            return "unclear", "the verifier counts up to it"
        if path[-2:] == ("collective", "chunks") and what == "turned round":
            return "unclear", "the same chunks in another order than those of the points"
        return verdict(changed, genuine, session.truth, path, undecided)

    undecided = frozenset() if is_ranking else frozenset(verifier.verify(genuine, session.truth if refutations(genuine) else None).undecided)
    session.require((ask("check", json.dumps(genuine))[0], expected(genuine, (), "")[0]) == ("sound", "true"), "every field: not genuine", name)
    cases = [(path, what, new) for path in alterations.places(genuine) if path
             for what, new in alterations.alterations(alterations.at(genuine, path), rng).items()]
    if not session.options.full:
        by_field = collections.defaultdict(list)
        for case in cases:
            by_field[words_of(case[0]), case[1]].append(case)
        cases = [rng.choice(equal) for equal in by_field.values()]
        cases = rng.sample(cases, min(len(cases), 100 if is_ranking else 210))
    for path, what, new in cases:
        changed = alterations.changed(genuine, path, new)
        if changed == genuine:
            continue
        is_true, why = expected(changed, path, what)
        kind, words = ask("check", json.dumps(changed, indent=1 if is_ranking else None))
        session.counts["fields changed"] += 1
        session.counts[f"fields of {'rankings' if is_ranking else 'results'}: {is_true} by the verifier, {kind} by check"] += 1
        where = f"{name}: {words_of(path)} {what}"
        session.require(kind != "ended", f"{where}: the reader ended", words)
        session.require(is_true != "false" or kind not in ("sound", "undecided"), f"{where}: accepted", why)
        session.require(is_true != "true" or kind not in ("false", "refused") or what == "huge" and kind == "refused", f"{where}: {kind}, and it is true", words)
