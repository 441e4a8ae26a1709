"""The commands of the program, each a way to make a random case and a way to do and verify it;
benchmarks/attack.py drives them.

A case is what JSON can hold, and follows from a random.Random; doing it draws from another one, of the case's
own seed.
"""
import copy
import json
import os
import re
import shutil
import signal
import time

import exhaustive
import forgeries
import verifier
import random_input
from random_input import flip
from session import (NOTHING, NOT_WRITTEN, SLACK, Found, ask_frontier, by_engine, check, cost, covered, engine_of, few_of_any, frontier_of, verify_result, machine_of, no_path,
                     options, possible, question)

FORGERIES = 25  # a result


# -- commands
# ---------------------------------------------------------------------------------------------------

def make_tiny(rng):
    machine = random_input.machine(rng, tiny=True)
    collective, root_ = random_input.collective(rng, random_input.ranks_of(machine), tiny=True)
    space, effort = random_input.frontier_options(rng, tiny=True)
    if flip(rng, 0.3):
        space["--k"] = rng.choice([0, 0, 1])
    return {"machine": machine, "collective": collective, "root": root_, "space": space, "effort": effort}


def tiny(session, case, rng):
    """Frontiers and single questions of all engines against exhaustive search."""
    code, result = ask_frontier(session, case, case["space"], [*case["effort"], "--time-limit", "4s"], 4)
    machine, asked = verifier.Machine.read(result["topology"]), result["collective"]
    space = verifier.Space({"min_chunks": case["space"].get("--min-chunks", 1), "max_chunks": case["space"].get("--max-chunks")})
    space.extra, space.steps = case["space"].get("--k"), case["space"].get("--max-steps")
    any_chunks = space.most == verifier.NEVER
    truth = session.truth.frontier(machine, asked, space)
    if truth is not None and any_chunks:
        return few_of_any(session, result, truth, space)
    if truth is None:
        session.counts["too large for exhaustive search"] += 1
        return
    if flip(rng, 0.3):
        check(session)
    if code == 3:
        session.counts["undecided on tiny machines"] += 1
    else:
        session.counts["exhaustive comparisons"] += 1
        session.counts["exhaustive comparisons with --k"] += space.extra is not None
        if not exhaustive.same(frontier_of(result), truth):
            session.fault("frontier: is not that of the exhaustive search", f"{frontier_of(result)} is not {truth}")
    for p in result["points"]:
        if space.has(p["steps"], p["rounds"]) and not any(t[0] <= p["steps"] and t[1] * p["chunks"] <= p["rounds"] * t[2] for t in truth):
            session.fault("frontier: a point that is better than possible", f"{cost(p)}, {truth}")
    for _ in range(2):
        single(session, case, rng, machine, asked)


def single(session, case, rng, machine, asked):
    """One question with or without budgets, of one engine, against exhaustive search."""
    pieces = rng.choice(space_chunks(case))
    answer = session.truth.excess(machine, verifier.chunks_of(asked, machine.ranks, pieces))
    if answer is None or not answer[1]:
        return
    fewest = [s + e for s, e in enumerate(answer[0])]
    budget = {}
    if flip(rng, 0.7):
        budget["--steps"] = max(1, rng.randint(len(fewest) - 3, len(fewest) + 1))
    if flip(rng, 0.7):
        least = min(fewest[:budget.get("--steps", len(fewest)) + 1], default=verifier.NEVER)
        budget["--rounds"] = max(1, (least if least < verifier.NEVER else 3) + rng.choice([-2, -1, -1, 0, 0, 1]))
    engine = engine_of(rng)
    arguments = ["synthesize", *question(session, case), "--chunks", pieces, *options(budget, []), "--engine", engine, "--json", "s.json",
                 "--time-limit", "4s", *(["--no-bounds"] if flip(rng, 0.2) else [])]
    code, _, _ = session.run(*arguments, codes={0, 3, 20}, seconds=4,
                             refusals=f"{no_path(case)}|{by_engine(engine)}")
    session.counts["single questions"] += 1
    if code == 3:
        session.counts[f"undecided on tiny machines by {engine}"] += 1
        if len(budget) < 2 and engine == "sat" and not session.options.conflicts:
            session.fault("synthesize: does not end on a tiny machine")
        return
    session.counts["exhaustive comparisons"] += 1
    session.counts[f"exhaustive comparisons by {engine}"] += 1
    steps, rounds = budget.get("--steps"), budget.get("--rounds", verifier.NEVER)
    true = [(s, r) for s, r in enumerate(fewest) if r < verifier.NEVER and r <= rounds and (steps is None or s <= steps)]
    if bool(true) != (code == 0):
        session.fault(f"synthesize: wrong verdict of {engine}", f"exit code {code}, exhaustive search: rounds by steps {fewest}")
    if code == 0:
        result = session.result("s.json")
        verify_result(session, result, "synthesize")
        found = cost(result["points"][0])
        if (steps is not None and found[0] > steps) or found[1] > rounds:
            session.fault("synthesize: outside of the budget", str(found))
        if steps is None and true and found[0] != min(s for s, _ in true):
            session.fault("synthesize: not the fewest steps", f"{found}, exhaustive search: {fewest}")
        if steps is not None and "--rounds" not in budget and true and found[1] != min(r for _, r in true):
            session.fault("synthesize: not the fewest rounds", f"{found}, exhaustive search: {fewest}")


def space_chunks(case):
    least = case["space"].get("--min-chunks", 1)
    return range(least, case["space"].get("--max-chunks", least + 1) + 1)


def make_frontier(rng):
    machine = random_input.machine(rng)
    collective, root_ = random_input.collective(rng, random_input.ranks_of(machine))
    space, effort = random_input.frontier_options(rng)
    limit = rng.choice([["--conflicts", "0"], ["--conflicts", "1"], ["--time-limit", "1ms"], ["--memory-limit", rng.choice(["1", "100K", "2M"])],
                        [], [], [], []])
    return {"machine": machine, "collective": collective, "root": root_, "space": space, "effort": effort, "limit": limit}


def limited(case):
    """Never without any limit: some of these machines are hard."""
    return [*case["effort"], *([] if "--conflicts" in case["limit"] else ["--conflicts", "200"]),
            *([] if "--time-limit" in case["limit"] else ["--time-limit", "1s"]), *case["limit"]]


def without_jobs(effort):
    """synthesize has none."""
    return effort[:effort.index("--jobs")] + effort[effort.index("--jobs") + 2:] if "--jobs" in effort else effort


def seconds_of(case):
    return 0.001 if "--time-limit" in case["limit"] else 1


def frontier(session, case, rng):
    """One frontier; then what another question states about the same."""
    _, result = ask_frontier(session, case, case["space"], limited(case), seconds_of(case))
    if flip(rng, 0.4):
        check(session)
    then = rng.choice([larger, larger, another_way, contradiction, contradiction, None, None])
    if then:
        then(session, case, rng, result)


def larger(session, case, rng, result):
    """A larger space, or a larger limit, never gives less."""
    space, limit = dict(case["space"]), list(case["limit"])
    key = rng.choice(sorted({*space, "--max-chunks"} - {"--min-chunks"}) + (["limit"] if "--conflicts" in limit else []))
    if key == "limit":
        limit = ["--conflicts", "100"]
    elif key == "--max-chunks" and key not in space:
        return  # any number already
    elif key == "--max-chunks" and flip(rng, 0.5):
        space[key] += 1
    elif flip(rng, 0.5):
        del space[key]
    else:
        space[key] += 1
    _, more = ask_frontier(session, case, space, limited({**case, "limit": limit}), seconds_of(case), "more.json")
    if {"time limit", "memory limit"} & {result["stopped"], more["stopped"]}:
        return
    # Without a k the walk is another one: docs/formats.md.
    if "--k" in case["space"] and "--k" not in space and more["stopped"] == "conflict limit":
        return
    session.counts["larger spaces"] += 1
    for p in result["points"]:
        if not covered(p, more["points"]):
            session.fault("frontier: a larger space gives less", f"{cost(p)} is lost; before: {session.commands[0]}")


def another_way(session, case, rng, result):
    """Seeds, bounds, symmetries and jobs do not change a complete answer."""
    effort = rng.choice([["--seed", "7"], ["--no-bounds"], ["--no-symmetry"], ["--jobs", "2"], ["--no-bounds", "--no-symmetry"]])
    changed = {**case, "effort": effort, "limit": []}
    _, second = ask_frontier(session, changed, case["space"], limited(changed), 1, "second.json")
    if result["complete"] and second["complete"]:
        session.counts["the same another way"] += 1
        if not exhaustive.same(frontier_of(result), frontier_of(second)):
            session.fault("frontier: two ways, two answers", f"{frontier_of(result)} by {session.commands[0]}; {frontier_of(second)}")


def contradiction(session, case, rng, result):
    """Does synthesize find what the frontier excludes, or refute what it has?"""
    space = verifier.Space(result)
    space.steps = case["space"].get("--max-steps")
    pieces = rng.choice(space.chunks)
    near = rng.choice(result["points"]) if result["points"] else {"steps": rng.randint(1, 4), "rounds": rng.randint(1, 6), "chunks": 1}
    rounds = max(1, near["rounds"] * pieces // near["chunks"])
    steps = max(1, near["steps"])
    budget = rng.choice([{"--steps": steps, "--rounds": rounds}, {"--steps": steps, "--rounds": max(1, rounds - 1)},
                         {"--steps": max(1, steps - 1), "--rounds": rounds}, {"--steps": steps + 1, "--rounds": max(1, rounds - 1)},
                         {"--steps": steps}, {"--rounds": rounds}, {}])
    code, found = ask_synthesize(session, case, rng, pieces, budget)
    session.counts["contradictions looked for"] += 1
    if result["complete"]:
        for p in found["points"]:
            if space.has(p["steps"], p["rounds"]) and not covered(p, result["points"]):
                session.fault("synthesize finds what a complete frontier lacks", f"{cost(p)}; before: {session.commands[0]}")
    if code == 20:
        for p in result["points"]:
            if (p["chunks"] == pieces and p["method"] in ("direct", "dual") and p["steps"] <= budget.get("--steps", verifier.NEVER) and
                    p["rounds"] <= budget.get("--rounds", verifier.NEVER)):
                session.fault("synthesize refutes what frontier has", f"{cost(p)}; before: {session.commands[0]}")


def ask_synthesize(session, case, rng, pieces, budget):
    session.counts["synthesized"] += 1
    engine = engine_of(rng) if random_input.ranks_of(case["machine"]) <= 5 else "sat"
    (session.folder / "s.json").unlink(missing_ok=True)
    code, _, _ = session.run("synthesize", *question(session, case), "--chunks", pieces, *options(budget, []), "--engine", engine, "--json", "s.json",
                             *limited({**case, "effort": without_jobs(case["effort"])}),
                             codes={0, 3, 20}, seconds=seconds_of(case), refusals=f"{no_path(case)}|{by_engine(engine)}")
    found = session.result("s.json")
    verify_result(session, found, "synthesize")
    if code == 0 and not found["points"]:
        session.fault("synthesize: exit code 0 without a schedule")
    for p in found["points"]:
        if code == 0 and (p["steps"] > budget.get("--steps", verifier.NEVER) or p["rounds"] > budget.get("--rounds", verifier.NEVER)):
            session.fault("synthesize: outside of the budget", str(cost(p)))
    if code == 20 and not budget and possible(found):
        session.fault("synthesize: impossible without a budget, where it is not")
    return code, found


def synthesize(session, case, rng):
    budget = rng.choice([{}, {"--steps": rng.randint(1, 4)}, {"--rounds": rng.randint(1, 8)}, {"--steps": rng.randint(1, 4), "--rounds": rng.randint(1, 8)}])
    ask_synthesize(session, case, rng, rng.choice(space_chunks(case)), budget)
    if flip(rng, 0.5):
        check(session, "s.json")
    if flip(rng, 0.3):
        session.run("bounds", *question(session, case), "--chunks", rng.randint(1, 5), *rng.choice([[], ["--steps", rng.randint(1, 6)]]), codes={0})


def make_forge(rng):
    small = flip(rng, 0.6)
    case = make_tiny(rng) if small else {**make_frontier(rng), "limit": []}
    return {**case, "limit": rng.choice([[], [], [], ["--conflicts", "1"]])}


def refutations(result):
    """With all that their formulas depend on, which the verifier does not see."""
    topology = {key: result["topology"].get(key) for key in ("ranks", "links", "limits")}
    return {json.dumps([topology, result["collective"], {**claim, "seconds": 0}], sort_keys=True) for claim in result["claims"]
            if claim["certificate"]["kind"] == "refutation"}


def forge(session, case, rng):
    """What the verifier calls false `check` must refuse, and accept what is true."""
    if flip(rng, 0.8):
        _, result = ask_frontier(session, case, case["space"], limited(case), 1)
    else:
        _, result = ask_synthesize(session, case, rng, rng.choice(space_chunks(case)), {} if flip(rng, 0.5) else {"--steps": rng.randint(1, 4)})
    session.write("genuine.json", result)
    check(session, "genuine.json")
    if not session.faults:  # it is genuine
        forge_some(session, result, rng, FORGERIES, forgeries.ALL)


def forge_some(session, result, rng, number, kinds):
    """This many; of a file of half a megabyte or more, which take seconds to verify, two."""
    text = json.dumps(result)
    for _ in range(number if len(text) < 500_000 else min(number, 2)):
        forged = json.loads(text)  # a copy: much quicker than copy.deepcopy
        forgery = rng.choice(kinds)
        changed = forgery(forged, rng)
        if not changed or forged == result:
            continue
        said = verifier.verify(forged, session.truth)
        if not said.faults and not refutations(forged) <= refutations(result):
            said.undecided.append("a refutation of another formula")
        session.write("forged.json", forged)
        code, _, errors = session.run("check", "forged.json", "--time-limit", "3s", codes={0, 2, 3}, seconds=3)
        false = bool(said.faults) or changed == forgeries.FALSE
        if false and code == 3:  # not all was checked, since other work has the processors
            code, _, errors = session.run("check", "forged.json", "--time-limit", "60s", codes={0, 2, 3}, seconds=60)
        session.counts["forgeries"] += 1
        session.counts[f"forgeries, {'false' if false else 'undecided by the verifier' if said.undecided else 'still true'}"] += 1
        if false and code != 2:
            session.fault(f"check: accepts what is false: {forgery.__name__}", said.faults[0] if said.faults else "another formula")
            session.faults[-1]["forged"] = forged
        elif not false and not said.undecided and code == 2:
            session.fault(f"check: refuses what is true: {forgery.__name__}", errors[:300])
            session.faults[-1]["forged"] = forged


def make_interrupt(rng):
    case = make_frontier(rng)
    case["space"] |= {"--max-chunks": rng.randint(4, 12)}
    return {**case, "limit": [], "after": rng.choice([0.02, 0.1, 0.5]), "signal": rng.choice([signal.SIGINT, signal.SIGTERM])}


def interrupt(session, case, rng):
    """Ctrl-C and SIGTERM end it within a second of CPU, and what was found is kept."""
    command = rng.choice(["frontier", "frontier", "synthesize"])
    space = case["space"] if command == "frontier" else {"--chunks": case["space"].get("--max-chunks", 4)}
    effort = case["effort"] if command == "frontier" else without_jobs(case["effort"])
    arguments = [command, *question(session, case), *options(space, effort), "--json", "r.json"]
    code, cpu, before = session.interrupted(arguments, case["after"], case["signal"])
    session.counts["interrupted"] += code == 130
    if code == -case["signal"] and before < 0.05:
        return  # it had hardly begun
    if code not in (0, 3, 20, 130) and not (code == 2 and no_path(case) != NOTHING):
        session.fault(f"{command}: exit code {code} after a signal")
        raise Found()
    if cpu > SLACK * (2 if "--jobs" in effort else 1):
        session.fault(f"{command}: goes on after a signal", f"{cpu:.1f} s of CPU")
    if code != 2:
        result = session.result()
        verify_result(session, result, f"{command}, interrupted")
        if command == "frontier" and not result["points"] and "--max-steps" not in space and possible(result):
            session.fault("frontier: empty answer after a signal")


TARGETS = ["cuda", "nccl", "mpi", "msccl-xml", "mscclpp", "json", "dot", "simgrid", "goal", "chakra", "html"]
# What a target cannot express.
CANNOT = "|".join(["cannot express", "can hold", "needs", "at most", "has no schedules", "no rank", "nothing", "does not", "cannot", "has no such collective", "do not know"])


CLASSIC = ["ring_allgather", "ring_allreduce", "multi_ring_reducescatter", "multi_ring_allreduce", "tree_broadcast", "tree_allreduce",
           "two_tree_allreduce", "binomial_reduce", "binomial_scatter", "recursive_doubling_allgather", "halving_doubling_allreduce", "direct_allreduce",
           "one_shot_allreduce", "direct_alltoall"]


def make_lower(rng):
    case = make_frontier(rng)
    case["space"].pop("--max-steps", None)
    case["space"].setdefault("--max-chunks", 4)  # else schedules have thousands of chunks, which not every format is for
    return {**case, "limit": rng.choice([[], ["--conflicts", "1"]])}


def lower(session, case, rng):
    """Every emitter, what reads it, and the executors."""
    if flip(rng, 0.2):
        code, _, _ = session.run("classic", rng.choice(CLASSIC), machine_of(session, case), "--json", "r.json", codes={0, 2})
        if code == 2:
            return  # it needs another machine
        result = session.result()
        verify_result(session, result, "classic")
        check(session)
    else:
        _, result = ask_frontier(session, case, case["space"], limited(case), 1)
    if not result["points"]:
        return
    session.counts["lowered"] += 1
    for target in rng.sample(TARGETS, 3):
        out = session.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        extra = rng.choice([[], [], ["--channels", 2] if target in ("json", "dot") else [], ["--point", 0]])
        code, text, errors = session.run("emit", "r.json", "--target", target, "-o", "out", *extra, codes={0, 2})
        session.counts[f"emitted for {target}"] += code == 0
        session.counts["not expressible"] += code == 2
        if code == 2 and not re.search(CANNOT, " ".join(errors.split())):
            session.fault(f"emit: refuses for {target}", (errors + text)[:300])
        files = sorted(path for path in out.rglob("*") if path.is_file())
        if code == 0 and (not files or any(path.stat().st_size == 0 for path in files)):
            session.fault(f"emit: wrote nothing for {target}", text[-200:])
        if code == 2 and bool(files) != (NOT_WRITTEN in errors):
            session.fault(f"emit: refuses for {target}, and wrote", files[0].name)
        for path in files if target in ("msccl-xml", "mscclpp", "json") else []:
            session.run("program", path.relative_to(session.folder), *rng.choice([[], ["--bytes", "100", "--iterations", 1, "--depth", 64]]), codes={0, 4})
            session.counts["programs judged"] += 1
    for transport in rng.sample(["threads", "kernel"], 1):
        extra = rng.choice([[], [], ["--in-place"]])
        code, _, errors = session.run("run", "r.json", "--transport", transport, "--bytes", rng.choice(["1", "100", "4K"]), "--point", rng.choice(["0", "all"]),
                                      "--iterations", 1, "--warmup", 0, *extra, codes={0, 2})
        session.counts[f"run on {transport}"] += code == 0
        if code == 2 and not re.search(CANNOT + "|in place", errors):
            session.fault(f"run: refuses on {transport}", errors[:300])
    if flip(rng, 0.2) and shutil.which("mpirun"):
        code, said = session.run_with_mpi(result["topology"]["ranks"], "run", "r.json", "--transport", "mpi", "--bytes", "100", "--point", "0",
                                          "--iterations", "1", "--warmup", "0")
        session.counts["run on mpi"] += code == 0
        if code != 0 and not re.search(CANNOT, said):
            session.fault(f"run: exit code {code} on mpi", said[:500])
    session.run("show", "r.json", "--html", "page.html", codes={0})


def make_place(rng):
    if flip(rng, 0.4):
        hierarchy, levels = rng.choice([("a100:1", [1, 16]), ("a100:2", [2, 16]), ("v100:2", [2, 8]), ("v100:3", [3, 8]), ("h100:2", [2, 8]),
                                        ("pods:2x2x1", [2, 2, 1, 8]), ("rack:1x2x2x2", [1, 2, 2, 2]), ("rack:2x1x3x1", [2, 1, 3, 1])])
    else:
        levels = [rng.choice([1, 2, 2, 3, 4, 5, 6]) for _ in range(rng.randint(1, 4))]
        hierarchy = {"hierarchy": "random", "node": rng.randrange(len(levels)), "levels": []}
        for i, fan_out in enumerate(levels):
            level = {"name": f"level{i}", "fan_out": fan_out, "bandwidth_gbs": rng.choice([0.5, 10, 100])}
            level |= {key: value for key, value, chance in [("shape", "ring", 0.3), ("ports", rng.randint(1, 4), 0.3), ("latency_us", rng.choice([0, 0.1, 7]), 0.4),
                                                           ("stream_gbs", rng.choice([0.1, 5]), 0.2)] if flip(rng, chance)}
            hierarchy["levels"].append(level)
    devices = 1
    for fan_out in levels:
        devices *= fan_out
    axes, left = [], devices
    for name in ("data", "tensor", "pipeline"):
        size = rng.choice([d for d in range(1, left + 1) if left % d == 0]) if name != "pipeline" else left
        axes.append((name, size))
        left //= size
    return {"machine": hierarchy, "axes": axes, "bytes": rng.choice(["1", "1K", "4GB"]), "limit": rng.choice([[], [], ["--time-limit", "1ms"]])}


def place(session, case, rng):
    where = case["machine"]
    if isinstance(where, dict):
        session.write("h.json", where)
        where = "h.json"
    axes = ",".join(f"{name}={size}" for name, size in case["axes"])
    reduce = ",".join(random_input.subset(rng, [name for name, _ in case["axes"]]))
    extra = [word for words, chance in [(["--algo", rng.choice(["ring", "tree", "auto"])], 0.5), (["--rules", rng.choice(["paper", "full"])], 0.5),
                                        (["--top", rng.choice([1, 3])], 0.3), (["--strategies", 3], 0.3), (["--explain"], 0.3),
                                        (["--html", "p.html"], 0.3)] if flip(rng, chance) for word in words]
    code, _, _ = session.run("place", where, "--axes", axes, "--reduce", reduce, "--bytes", case["bytes"], *extra, *case["limit"], "--json", "p.json",
                             codes={0, 3}, seconds=0.001 if case["limit"] else 20)
    session.counts["placed"] += 1
    ranking = session.result("p.json")
    if code == 0 and (ranking["priced"] != ranking["matrices"] or not ranking["best"]):
        session.fault("place: exit code 0, not all are priced")
    for best in ranking["best"]:
        if not best["us"] <= best["allreduce_us"] * (1 + 1e-9):
            session.fault("place: the best strategy is slower than an AllReduce", f"{best['us']} {best['allreduce_us']}")
    if [b["us"] for b in ranking["best"]] != sorted(b["us"] for b in ranking["best"]):
        session.fault("place: not in order")


SUMS = ["reduce", "reducescatter", "allreduce", "allreduce", "allreduce"]


def make_order(rng):
    small = flip(rng, 0.6)
    case = make_tiny(rng) if small else make_frontier(rng)
    while not is_sum(case["collective"]):
        case["collective"], case["root"] = random_input.collective(rng, random_input.ranks_of(case["machine"]), tiny=small) if flip(rng, 0.4) else (rng.choice(SUMS), 0)
    order_ = rng.choice(["fixed", "fixed", "tree", "tree", "free", "agreed"])
    if order_ == "tree":
        order_ = random_input.tree(rng, range(random_input.ranks_of(case["machine"])))
    return {**case, "limit": [], "small": small, "more": ["--allow-disagreement"] if order_ == "free" else ["--order", order_]}


def is_sum(collective):
    return collective["combining"] if isinstance(collective, dict) else collective in SUMS


def order(session, case, rng):
    """Sums in the order that was asked for, which the verifier knows; and whoever asks for less order never
    gets less."""
    (tiny if case["small"] else frontier)(session, case, rng)
    result = session.result()
    asked, said = case["more"][-1], result["collective"].get("order", "agreed")
    session.counts[f"frontiers in order: {'tree' if asked.startswith('(') else asked.removeprefix('--')}"] += 1
    if asked.startswith("(") and not same_tree(asked, said) or asked in ("agreed", "--allow-disagreement") and said != {"agreed": asked}.get(asked, "free"):
        session.fault("frontier: another order than was asked for", said)
    if asked == "fixed" and said in ("agreed", "free") and not (session.folder / "c.json").exists():
        session.fault("frontier: says no tree for a fixed order", said)
    space = verifier.Space(result)
    space.steps = case["space"].get("--max-steps")
    if said not in ("agreed", "free"):  # the same tree, given
        another = {**case, "more": ["--order", said]}
        compare_orders(session, another, result, space, both=True)
    if said != "free":
        compare_orders(session, {**case, "more": ["--allow-disagreement"] if said == "agreed" else []}, result, space, both=False)
    if result["points"] and flip(rng, 0.3):
        code, _, errors = session.run("run", "r.json", "--transport", rng.choice(["threads", "kernel"]), "--bytes", rng.choice(["4", "100", "4K"]), "--point", "all",
                                      "--type", rng.choice(["float", "double", "half", "bfloat16"]), "--iterations", 1, "--warmup", 0, codes={0, 2})
        session.counts["run in their order"] += code == 0
        if code == 2 and not re.search(CANNOT, errors):
            session.fault("run: refuses", errors[:300])
    check(session)
    if not session.faults:
        forge_some(session, result, rng, 8, forgeries.ALL + [forgeries.order_of_sums] * 8)


def same_tree(a, b):
    return b not in ("agreed", "free") and verifier.nodes_of(a) == verifier.nodes_of(b)


def compare_orders(session, case, result, space, both):
    """`case` asks for as much order as `result` has (both), or for less."""
    _, second = ask_frontier(session, case, case["space"], limited(case), 1, "second.json")
    session.counts["compared with another order"] += 1
    for less, more in [(second, result)] + ([(result, second)] if both else []):
        if less["complete"]:
            for p in more["points"]:
                if space.has(p["steps"], p["rounds"]) and not covered(p, less["points"]):
                    session.fault("frontier: in another order, a complete answer lacks a point", f"{cost(p)}; before: {session.commands[0]}")


def make_compile(rng):
    return {"machine": None, "programs": 3, "first": rng.randrange(1, 1 << 20), "carrier": rng.choice(["threads", "threads", "mpi", "cuda", "nccl"])}


def compile_programs(session, case, rng):
    """Random tensor programs, transformed and compiled, against the interpreter, and ranks with each other:
    tests/codegen/emit_random.cpp."""
    if case["carrier"] == "mpi" and not shutil.which("mpirun"):
        case["carrier"] = "threads"
    code, said = session.run_other(session.options.emit_random, case["programs"], case["seed"], case["first"], case["carrier"], "replicas", seconds=60)
    session.counts[f"programs compiled for {case['carrier']}"] += case["programs"]
    if code != 0 or " 0 differences" not in said:
        session.fault(f"compile: a program for {case['carrier']} computes something else, or nothing", said[-3000:])
