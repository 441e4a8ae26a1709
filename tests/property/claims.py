"""What the program claims in sentences, as predicates: a random question to a command that claims something, what
it claims, and what is true by something slow and obvious.

Each predicate is a function (said, truth) -> what is false, or "". tests/docs/sentences.py has the sentences that
each stands for. Mutants change what was said so that it is no longer true; a predicate that accepts one is weak.
"""
import collections
import itertools
import pathlib
import re

import searches
import verifier
from kit import random_input
from session import ask_frontier, question, verify_result

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEAR = 1 + 1e-6  # times are sums of many terms


# -- predicates ----------------------------------------------------------------------------------------------

def fastest_at_sizes(said, truth):
    """optimize: a row of 100.0 % is the fastest, no bound is above any time that is known, and exit code 0,
    `complete` and the sentence are of answers all of whose rows are."""
    for row in said["rows"]:
        known = truth["us"].get(row["message_bytes"], row["us"])
        if row["bound_us"] > known * NEAR:
            return f"{row['message_bytes']} bytes: a bound of {row['bound_us']} us, and a schedule of {known}"
        if row["share"] == "100.0 %" and row["us"] > known * NEAR:
            return f"{row['message_bytes']} bytes: 100.0 % of the bound at {row['us']} us, and a schedule of {known}"
    every = bool(said["rows"]) and all(row["share"] == "100.0 %" or row["us"] == 0 for row in said["rows"])
    for what, holds in (("exit code 0", said["code"] == 0), ("complete", said["complete"]), ("no schedule is faster", "no schedule is faster" in said["words"])):
        if holds and not every:
            return f"{what}, and a row below 100.0 %"
    return "nothing better exists" if "nothing better" in said["words"] else ""


def fewest_rounds(said, truth):
    """frontier, bounds: no schedule of any chunk count has fewer rounds per chunk, or fewer steps."""
    if any(steps < said["steps"] for steps, _, _ in truth["costs"]):
        return f"{said['steps']} steps at least, and {truth['costs']}"
    return "" if all(rounds >= said["rate"] * chunks * (1 - 1e-9) for _, rounds, chunks in truth["costs"]) else f"{said['rate']} rounds per chunk at least, and {truth['costs']}"


def bounds_of_machines(said, truth):
    """compare: no schedule beats the latency or bus bandwidth of a machine, speedups are those of rows, and a
    machine is as fast as another without a condition only where all rows of both meet their bounds."""
    met = all(side["us"] <= side["bound_us"] * NEAR for row in said["rows"] for side in row["sides"])
    if not met and not all("not all proven" in words for words in said["conclusions"]):
        return f"{said['conclusions']}, and a row that is not proven"
    for side, times in zip(said["limits"], truth["us"]):
        for size, us, busbw in times:
            if us < side["latency_us"] / NEAR or busbw > side["busbw_gbs"] * NEAR:
                return f"{side}, and {us} us at {size} bytes, {busbw} GB/s"
    ratios = [row["sides"][0]["us"] / row["sides"][1]["us"] for row in said["rows"]]
    return "" if not ratios or all(abs(r / s - 1) < 1e-6 for r, s in zip(ratios, (row["speedup"] for row in said["rows"]))) else "a speedup is not that of its row"


def fastest_point(said, truth):
    """show, library: the point is the fastest of the result at a size."""
    return "" if said["us"] <= min(truth["us"]) * NEAR else f"{said['us']} us, and another point takes {min(truth['us'])}"


def least_order(said, truth):
    """order: what is proven is the least of all orders, a bound is below it."""
    if said["us"] < truth["us"] / NEAR:
        return f"{said['us']} us, which no order takes: {truth['us']}"
    if said["proven"] and said["us"] > truth["us"] * NEAR:
        return f"proven at {said['us']} us, and an order takes {truth['us']}"
    return "" if said["bound_us"] <= truth["us"] * NEAR else f"no order takes less than {said['bound_us']} us, and one takes {truth['us']}"


def best_methods(said, truth):
    """reshard, alltoallv: no method that is printed is below the bound, and the plan is the fastest."""
    if said["bound_us"] > min(truth["us"]) * NEAR:
        return f"a bound of {said['bound_us']} us, and a method of {min(truth['us'])}"
    return "" if said["us"] <= min(truth["us"]) * NEAR else f"the plan takes {said['us']} us, and a method {min(truth['us'])}"


def best_placements(said, truth):
    """place: best first, each by its best strategy; none that is priced otherwise is better."""
    if said["us"] != sorted(said["us"]):
        return "not in order"
    return "" if not said["us"] or said["us"][0] <= min(truth["us"]) * NEAR else f"the best takes {said['us'][0]} us, and another {min(truth['us'])}"


def rates_after_failures(said, truth):
    """library failures: no rate beats its bound, nor what the failure leaves, nor any schedule that exists."""
    for row in said["rows"]:
        if row["of_bound"] > NEAR or row["most_of_whole"] > 0 and row["of_whole"] > row["most_of_whole"] * NEAR:
            return f"a rate above its bound: {row}"
    return "" if said["whole"] >= truth["least"] / NEAR else f"{said['whole']} rounds per chunk, and at least {truth['least']}"


def best_wiring(said, truth):
    """design: no schedule on a graph of its family takes less than the bound, nor, if that is proven, than what
    was found; circulants are in every family."""
    least = said["found"] if said["proven"] else said["bound"]
    return "" if least <= min(truth["rates"], default=least) * NEAR else f"{least} rounds per chunk, and a circulant has {min(truth['rates'])}"


PREDICATES = {each.__name__: each for each in (fastest_at_sizes, fewest_rounds, bounds_of_machines, fastest_point, least_order, best_methods, best_placements, rates_after_failures,
                                                   best_wiring)}


def slower(rows):
    return [{**row, "us": row["us"] * 3, "share": "100.0 %"} for row in rows]


# What is false of any question, whatever was answered.
MUTANTS = {
    "fastest_at_sizes": [lambda said: {**said, "rows": slower(said["rows"])},
                         lambda said: {**said, "rows": [{**row, "bound_us": row["us"] * 1.01} for row in said["rows"]]},
                         lambda said: {**said, "code": 0, "rows": [{**row, "share": "99.9 %"} for row in said["rows"]]},
                         lambda said: {**said, "complete": True, "rows": [{**row, "share": "99.9 %"} for row in said["rows"]]},
                         lambda said: {**said, "words": "search: complete in time by steps, no schedule is faster", "rows": [{**row, "share": "0.9 %"} for row in said["rows"]]},
                         lambda said: {**said, "words": "search: complete, nothing better exists"}],
    "fewest_rounds": [lambda said: {**said, "steps": 99}, lambda said: {**said, "rate": 1e6}],
    "bounds_of_machines": [lambda said: {**said, "limits": [{"latency_us": 1e12, "busbw_gbs": 1e12}] * 2}, lambda said: {**said, "limits": [{"latency_us": 0, "busbw_gbs": 0}] * 2},
                           lambda said: {**said, "conclusions": ["as fast as"], "rows": [{**row, "sides": [{**side, "bound_us": 0} for side in row["sides"]]} for row in said["rows"]]}],
    "fastest_point": [lambda said: {"us": said["us"] * 1.01}],
    "least_order": [lambda said: {**said, "us": said["us"] * 1.01, "proven": True}, lambda said: {**said, "us": said["us"] * 0.99},
                    lambda said: {**said, "bound_us": said["us"] * 1.01}],
    "best_methods": [lambda said: {**said, "bound_us": said["us"] * 1e3}, lambda said: {**said, "us": said["us"] * 1e3}],
    "rates_after_failures": [lambda said: {**said, "rows": [{**row, "of_bound": 1.01} for row in said["rows"]]}, lambda said: {**said, "whole": 0}],
    "best_wiring": [lambda said: {"proven": True, "found": 1e6, "bound": said["bound"]}, lambda said: {"proven": False, "found": said["found"], "bound": 1e6}],
    "best_placements": [lambda said: {"us": [us * 1.01 for us in said["us"]]}, lambda said: {"us": said["us"][:1] * 2 + [us / 2 for us in said["us"][:1]]}],
}


def require(session, name, said, truth):
    """The claim holds, and each of its mutants does not where there is something to be wrong about."""
    session.counts[f"claims of {name}"] += 1
    false = PREDICATES[name](said, truth)
    session.require(not false, f"claims: {name}", false)
    for number, mutant in enumerate(MUTANTS[name]):
        session.counts[f"mutants of {name} refused"] += bool(PREDICATES[name](mutant(said), truth))


# -- machines ------------------------------------------------------------------------------------------------

def of_links(case, kept):
    """The machine with these links alone."""
    machine = case["machine"]
    new = {old: at for at, old in enumerate(kept)}
    limits = [{**limit, "links": [new[l] for l in limit["links"] if l in new]} for limit in machine.get("limits", [])]
    return {**machine, "links": [machine["links"][l] for l in kept], "limits": [limit for limit in limits if limit["links"]]}


def without_slow_links(case):
    """The machine without its slowest links, by rate and by latency: a schedule of it is one of the whole."""
    links = case["machine"]["links"]
    for slowness in (lambda link: link.get("beta_us_per_byte", 4e-5) / link.get("bandwidth", 1), lambda link: link.get("alpha_us", 1),
                     lambda link: link.get("beta_us_per_byte", 4e-5)):
        classes = sorted({slowness(link) for link in links})
        for most in classes[:-1][-2:]:
            yield of_links(case, [l for l, link in enumerate(links) if slowness(link) <= most])


def possible_costs(session, machine, asked):
    """(steps, rounds, chunks) of schedules, by exhaustive search; [] where it gives up."""
    found = []
    for chunks in (1, 2):
        if asked == "allreduce":
            answers = [session.truth.excess(machine, verifier.chunks_of({"collective": "allreduce"}, machine.ranks, chunks))]
        else:
            answers = [session.truth.excess(machine, verifier.chunks_of(asked if isinstance(asked, dict) else {"collective": asked, "root": session.case["root"]},
                                                                         machine.ranks, chunks))]
        for answer in answers:
            found += [(s, s + e, chunks) for s, e in enumerate(answer[0] if answer else []) if e < verifier.NEVER]
    return found


# -- questions, one a command --------------------------------------------------------------------------------

def ask_optimize(session, machine, sizes, name):
    """What it says, or None where it refuses."""
    arguments = ["optimize", *question(session, {**session.case, "machine": machine}), "--sizes", ",".join(map(str, sizes)), "--search-time", "100ms", "--json", name]
    code, text, _ = session.run(*arguments, codes={0, 2, 3, 20}, seconds=5)
    if code in (2, 20):
        return None
    table = session.read(name)
    shares = [re.search(r"[\d.]+ %| - ", line) for line in text.splitlines() if re.match(r" *\d+(\.\d+)? ([KMG]i)?B ", line)]
    if table["conclusion"] == "nothing moves":  # and no table is printed
        shares = [None] * len(table["rows"])
    elif not session.require(len(shares) == len(table["rows"]), "claims: a row without its share of the bound", text[:500]):
        return None
    rows = [{**row, "share": share[0].strip() if share else "-"} for row, share in zip(table["rows"], shares)]
    return {"code": code, "complete": table["complete"], "in_rounds": table["complete_in_rounds"], "rows": rows, "words": " ".join(text.split()),
            "blocks": table["blocks_per_message"]}


def optimize(session):
    case, rng = session.case, session.rng
    sizes = sorted(rng.sample([1, 1000, 1 << 16, 1 << 20, 1 << 24, 1 << 30], 2))
    said = ask_optimize(session, case["machine"], sizes, "o.json")
    if said is None or not said["rows"]:
        session.counts["questions without an answer"] += 1
        return
    us = {row["message_bytes"]: min(row["us"], row["baseline_us"] or row["us"]) for row in said["rows"]}
    if isinstance(case["machine"], dict) and "switches" not in case["machine"]:
        fewer = list(without_slow_links(case))
        for machine in fewer[:2] if session.options.quick else fewer:
            other = ask_optimize(session, machine, sizes, "other.json")
            session.counts["machines without their slow links"] += other is not None
            for row in other["rows"] if other else []:
                us[row["message_bytes"]] = min(us.get(row["message_bytes"], row["us"]), row["us"])
        alphas, betas = ({link.get(key, usual) for link in case["machine"]["links"]} for key, usual in
                         (("alpha_us", case["machine"].get("alpha_us", 1)), ("beta_us_per_byte", 4e-5)))
        if len(alphas) == len(betas) == 1:
            for steps, rounds, chunks in possible_costs(session, verifier.Machine.read(case["machine"]), case["collective"]):
                session.counts["costs by exhaustive search"] += 1
                for size in us:
                    block = -(-size // said["blocks"])
                    us[size] = min(us[size], steps * min(alphas) + rounds / chunks * block * min(betas))
    require(session, "fastest_at_sizes", said, {"us": us})


def frontier(session):
    """Its points, what it is complete for, its bound on the rate; what `bounds` has of the same."""
    session.result = ask_frontier(session)
    searches.exact(session)
    text = session.run("bounds", *question(session, session.case), "--chunks", 1)[1]
    rate, steps = re.search(r"any chunk count: +(\d+)(?:/(\d+))?", text), re.search(r"any schedule: +(\d+) steps? at least", text)
    costs = possible_costs(session, verifier.Machine.read(session.result["topology"]), session.case["collective"])
    if costs:
        said = {"rate": int(rate[1]) / int(rate[2] or 1) if rate else 0, "steps": int(steps[1]) if steps else 0}
        require(session, "fewest_rounds", said, {"costs": costs})


def synthesize(session):
    session.result = ask_frontier(session)
    searches.exact_question(session)


def shown(session):
    """Of a result at a size, against each of its points alone."""
    result = ask_frontier(session)
    if not result["points"]:
        return
    size = session.rng.choice([0, 1000, 1 << 20, 1 << 30])

    def time_of(points):
        session.write("some.json", {**result, "points": points, "claims": [], "openings": [], "complete": False, "complete_chunks": 0, "stopped": "time limit"})
        session.run("show", "some.json", "--bytes", max(size, 1), "--json", "sizes.json")
        return session.read("sizes.json")["rows"][0]["us"]
    session.run("show", "r.json", "--bytes", max(size, 1), "--json", "sizes.json")
    row = session.read("sizes.json")["rows"][0]
    us = row["us"]
    alone = [{**p, "proven": False, "on_frontier": True} for p in result["points"][:4]]
    times = [us] + [time_of([p]) for p in alone]
    require(session, "fastest_point", {"us": us}, {"us": times})
    session.require(row["least_us"] <= min(times) * NEAR, "claims: fastest_point", f"a bound of {row['least_us']} us, and a point of {min(times)}")


def compare(session):
    case, rng = session.case, session.rng
    second = random_input.machine(rng, tiny=True)
    names = [session.write("a.json", each) if isinstance(each, dict) else each for each in (case["machine"],)] + [session.write("b.json", second) if isinstance(second, dict) else second]
    code, _, _ = session.run("compare", *names, "allgather", "--sizes", "1K,16M", "--search-time", "100ms", "--json", "compared.json", codes={0, 2, 3}, seconds=10)
    if code == 2:
        return
    said = session.read("compared.json")
    rows = [row for sizes in said["sizes"] for row in sizes["rows"] if all(side["us"] > 0 for side in row["sides"])]
    limits = [(side or [{"latency_us": 0, "busbw_gbs": 1e30}])[0] for side in said["limits"]]
    us = [[(row["message_bytes"], row["sides"][side]["us"], row["sides"][side]["busbw_gbs"]) for row in rows] for side in (0, 1)]
    if rows:
        require(session, "bounds_of_machines", {"limits": limits, "rows": rows, "conclusions": said["conclusions"]}, {"us": us})


def order(session):
    """Rings of nodes below a tree of two levels of switches: every order of at most six hosts."""
    rng = session.rng
    leaves = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
    hosts = [(f"n{leaf}{i}", leaf) for leaf, count in enumerate(leaves) for i in range(count)][:6]
    count, taper, gbs, size = len(hosts), rng.choice([1, 2, 4]), 10, 1_000_000
    ring = rng.choice([k for k in range(1, count + 1) if count % k == 0])
    groups = count // ring
    if ring < 2:
        return
    tree = [f"SwitchName=s{leaf} Nodes={','.join(host for host, at in hosts if at == leaf)}" for leaf in sorted({at for _, at in hosts})]
    session.write("t.conf", "\n".join([*tree, f"SwitchName=top Switches={','.join(f's{leaf}' for leaf in sorted({at for _, at in hosts}))}"]) + "\n")
    axes = f"data={ring},rest={groups}" if groups > 1 else f"data={ring}"
    code, text, _ = session.run("order", "./t.conf", "--axes", axes, "--node-ranks", 1, "--reduce", "data", "--bytes", size, "--node-gbs", gbs, "--taper", taper, "--json", "o.json",
                                codes={0, 2})
    if code == 2:
        return
    edge = 2 * (ring - 1) / ring * size
    below = {leaf: sum(at == leaf for _, at in hosts) for _, leaf in hosts}

    def time_of(places):
        loads = {}
        for group in range(groups):
            members = [places[d * groups + group] for d in range(ring)]
            for a, b in zip(members, members[1:] + members[:1]):
                loads["out", a] = loads.get(("out", a), 0) + edge / gbs
                if hosts[a][1] != hosts[b][1]:
                    for key in (("up", hosts[a][1]), ("down", hosts[b][1])):
                        loads[key] = loads.get(key, 0) + edge / (gbs * below[key[1]] / taper)
        return max(loads.values()) / 1e3
    said = session.read("o.json")
    bound = re.search(r"no order takes less than ([\d.]+) (us|ms|s)", " ".join(text.split()))
    least = min(map(time_of, itertools.permutations(range(count))))
    # Three digits are printed.
    bound_us = float(bound[1]) * {"us": 1, "ms": 1e3, "s": 1e6}[bound[2]] * 0.99 if bound else said["us"] if said["proven"] else 0
    require(session, "least_order", {"us": said["us"], "proven": said["proven"], "bound_us": bound_us}, {"us": least})


def reshard(session):
    rng = session.rng
    ranks = rng.choice([2, 3, 4])
    machine, count = rng.choice([(f"full:{2 * ranks}", 2 * ranks), (f"ring:{2 * ranks}", 2 * ranks), (f"full:{ranks}", ranks), ("dgx1", 8), ("mesh:3x3", 9), ("dgx-a100:2", 16)])
    first, to = [sorted(rng.sample(range(count), ranks)) for _ in range(2)]
    layout = lambda: [rng.choice(["replicate", "shard(0)", "shard(1)"])]
    session.write("reshard.json", {"reshard": "random", "from": {"ranks": first, "mesh": [ranks]}, "to": {"ranks": to, "mesh": [ranks]},
                                   "tensors": [{"name": f"t{i}", "shape": [12 * ranks, 12 * ranks], "count": rng.randint(1, 3), "from": layout(), "to": layout()}
                                               for i in range(rng.randint(1, 2))]})
    code, _, _ = session.run("reshard", machine, "./reshard.json", "--search-time", "100ms", "--json", "plan.json", codes={0, 2, 3}, seconds=5)
    if code == 0 and session.read("plan.json")["methods"]:
        said = session.read("plan.json")
        us = [method["us"] for method in said["methods"]]
        if min(us) > 0:
            require(session, "best_methods", {"us": us[-1], "bound_us": said["bound_us"] or 0}, {"us": us})


def alltoallv(session):
    rng = session.rng
    nodes, ranks = rng.choice([1, 2, 3]), rng.choice([1, 2, 3])
    count = nodes * ranks
    counts = [[0 if rng.random() < 0.3 else rng.choice([1, 1000, 10**6, 10**8]) for _ in range(count)] for _ in range(count)]
    session.write("counts.csv", "\n".join(",".join(map(str, row)) for row in counts) + "\n")
    nic, node, latency = rng.choice([10, 50]), rng.choice([50, 450]), rng.choice([0, 0, 5])
    rates = f"nic={nic},node={node},latency={latency}"
    code, _, _ = session.run("alltoallv", "./counts.csv", "--nodes", nodes, "--rates", rates, "--json", "plan.json", codes={0, 2})
    if code == 0:
        said = session.read("plan.json")
        if said["us"] > 0:
            require(session, "best_methods", {"us": said["us"], "bound_us": said["bound_us"]}, {"us": [said["us"], said["direct_us"]]})
            if latency == 0:  # in pieces as small as one likes
                false = PREDICATES["best_methods"]({"us": 0, "bound_us": said["bound_us"]}, {"us": relayed(counts, ranks, nic, node)})
                session.require(not false, "claims: best_methods", false)
                session.counts["Alltoallvs with relays"] += 1


def relayed(counts, ranks, nic, node):
    """Microseconds of the busiest port, where a part of one message inside a node goes by the NICs of its ends and
    of a rank in another node, which returns it."""
    count = len(counts)

    def loads(part, i, j, k):
        load = collections.Counter()
        for a in range(count):
            for b in range(count):
                size = counts[a][b] * (1 - part if (a, b) == (i, j) else 1) if a != b else 0
                port, rate = ("node", node) if a // ranks == b // ranks else ("nic", nic)
                load[port, "out", a] += size / rate
                load[port, "in", b] += size / rate
        for rank, direction in ((i, "out"), (k, "in"), (k, "out"), (j, "in")):
            load["nic", direction, rank] += part * counts[i][j] / nic
        return max(load.values()) / 1e3
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j and i // ranks == j // ranks and counts[i][j] > 0]
    return [loads(0, 0, 0, 0)] + [loads(part / 16, i, j, k) for i, j in pairs for k in range(count) if k // ranks != i // ranks for part in (1, 2, 4, 6, 8)]


def place(session):
    rng = session.rng
    machine, axes = rng.choice([("a100:2", "data=2,tensor=16"), ("a100:4", "data=8,tensor=8"), ("rack:1x2x2x4", "a=8,b=2"), ("a100:2", "a=4,b=8")])
    reduce = rng.choice([name.split("=")[0] for name in axes.split(",")])
    session.run("place", machine, "--axes", axes, "--reduce", reduce, "--bytes", rng.choice(["1K", "1M", "1GB"]), "--algo", rng.choice(["ring", "tree", "auto"]), "--json", "p.json")
    best = session.read("p.json")["best"]
    us = [each["us"] for each in best]
    if us:
        require(session, "best_placements", {"us": us}, {"us": us + [each["allreduce_us"] for each in best]})
        session.run("check", "p.json", codes={0, 3})


def library(session):
    """A library of a machine and what may fail of it: its answers are verified again, and rates after failures
    are below their bounds. Each rank receives the blocks of all others over its links."""
    machine, least = session.rng.choice([("ring:4", 3 / 2), ("full:4", 1), ("mesh:2x2", 3 / 2)])
    session.write("l.json", {"machines": [machine], "collectives": ["allgather"], "max_chunks": 2, "conflicts": 100})
    session.run("library", "build", "./l.json", "--failures", 1, "-o", "l.db", codes={0, 3}, seconds=60)
    session.run("library", "verify", "l.db", codes={0, 3}, seconds=60)
    session.run("library", "failures", "l.db", "--json", "f.json", codes={0, 3}, seconds=60)
    rows = session.read("f.json")["rows"]
    whole = min((row["rounds_per_chunk"] * row["of_whole"] for row in rows if row["of_whole"] > 0 and row["failure"].startswith("link")), default=least)
    require(session, "rates_after_failures", {"rows": rows, "whole": whole}, {"least": least})


def repair(session):
    """An answer that is repaired after a failure is one of the machine that is left."""
    machine, chunks = session.rng.choice([("full:3", 2), ("ring:3", 2), ("full:4", 1), ("ring:4", 1)])
    asked = session.rng.choice(["allgather", "broadcast", "reduce", "alltoall"])
    session.run("frontier", machine, asked, "--max-chunks", chunks, "--json", "old.json", codes={0, 3})
    session.code, _, _ = session.run("frontier", machine, asked, "--max-chunks", chunks, "--without-link", "0-1", "--repair", "old.json", "--json", "r.json", codes={0, 3})
    session.result = session.read()
    verify_result(session, session.result, "repair")
    searches.exact(session)


def design(session):
    """A wiring against all circulants of as many ports, by schedules that are found on them."""
    ranks = session.rng.randint(4, 6)
    degree = session.rng.randint(2, 3 if ranks % 2 == 0 else 2)
    session.run("design", "--ranks", ranks, "--degree", degree, "--for", "alltoall", "--search-time", "200ms", "--json", "d.json", codes={0, 3})
    said = session.read("d.json")
    rates = []
    for steps in itertools.chain.from_iterable(itertools.combinations(range(1, ranks // 2 + 1), count) for count in range(1, degree + 1)):
        links = {(a, (a + sign * step) % ranks) for a in range(ranks) for step in steps for sign in (1, -1)}
        if len(links) != ranks * degree or len(random_input.reachable(links, ranks, 0)) < ranks:
            continue
        session.write("circulant.json", {"topology": "circulant", "ranks": ranks, "links": [{"src": a, "dst": b} for a, b in sorted(links)]})
        session.run("frontier", "./circulant.json", "alltoall", "--conflicts", 50, "--time-limit", "500ms", "--json", "c.json", codes={0, 3})
        rates += [p["rounds"] / p["chunks"] for p in session.read("c.json")["points"]]
    rate = said["best"][0]["rates"][0]
    if rate["found"]:
        require(session, "best_wiring", {"proven": said["proven"], "found": rate["found"][0] / rate["found"][1], "bound": rate["bound"][0] / rate["bound"][1]}, {"rates": rates})


def tune(session):
    """Of all schedules of a program the first is the fastest by its price."""
    program = session.rng.choice(["sgd", "adam", "rms_norm"])
    session.run("tune", ROOT / f"examples/{program}.chorale", "--machine", "ring:4", "--json", "tuned.json", codes={0, 3}, seconds=20)
    said = session.read("tuned.json")
    us = [candidate["price_us"] for candidate in said["candidates"]]
    require(session, "fastest_point", {"us": us[said["ranking"][0]]}, {"us": us})


def checked(session):
    session.result = ask_frontier(session)
    session.run("check", "r.json", codes={0, 3})


def asked(session):
    """A question to the command of the case."""
    session.counts["questions"] += 1
    globals()[session.case["command"]](session)
