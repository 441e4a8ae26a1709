"""What holds of the answers of frontier and synthesize: against exhaustive search where a machine is tiny,
against each other beyond."""
import collections
import math

import exhaustive
import verifier
from kit import random_input
from makers import LIMIT, space_chunks
from session import (NOTHING, SLACK, Over, ask_frontier, cost, no_path, possible, question, require_covered, seconds_of, verify_result,
                     words_of)


def frontier(session):
    session.result = ask_frontier(session)


def frontier_of(result):
    return exhaustive.best([cost(p) for p in result["points"] if p["on_frontier"]])


def exact(session):
    """A frontier is that of the exhaustive search; of any number of chunks as far as that goes."""
    require_exact(session, session.result, verifier.Machine.read(session.result["topology"]), session.code != 3)


def require_exact(session, result, machine, complete):
    space = verifier.Space(result)
    truth = session.truth.frontier(machine, result["collective"], space)
    if truth is None:
        session.counts["too large for exhaustive search"] += 1
        return
    session.counts["exhaustive comparisons"] += 1
    if space.most == verifier.NEVER:  # truth is of the least chunk counts
        session.counts["exhaustive comparisons of any number of chunks"] += 1
        closed = result["complete_chunks"]
        if closed is None or closed >= space.chunks[-1]:
            require_covered(session, "frontier: lacks what it is complete for", [dict(zip(("steps", "rounds", "chunks"), each)) for each in truth], result["points"])
        for p in result["points"]:
            session.require(not (p["on_frontier"] and p["proven"] and any(verifier.better(*each, p) for each in truth)),
                            "frontier: a proven point is not the best", f"{cost(p)}, {truth}")
        return
    if complete:
        session.counts["exhaustive comparisons with --k"] += space.extra is not None
        session.require(exhaustive.same(frontier_of(result), truth), "frontier: is not that of the exhaustive search", f"{frontier_of(result)} is not {truth}")
    else:
        session.counts["undecided on tiny machines"] += 1
    require_covered(session, "frontier: a point that is better than possible", [p for p in result["points"] if not any(
        t[0] <= p["steps"] and t[1] * p["chunks"] <= p["rounds"] * t[2] for t in truth)], [], space)


def engine_of(session):
    """The engines of the literature have no direct sums for several. And what each may refuse."""
    engine = session.rng.choice(["sat", "sat", "smt", "sat-partition"])
    return engine, NOTHING if engine == "sat" else "this engine knows|this engine counts every"


def exact_question(session):
    """One question with or without budgets, of one engine, is answered as by exhaustive search."""
    case, rng, result = session.case, session.rng, session.result
    machine, pieces = verifier.Machine.read(result["topology"]), rng.choice(space_chunks(case))
    answer = session.truth.excess(machine, verifier.chunks_of(result["collective"], machine.ranks, pieces))
    if answer is None or not answer[1]:
        return
    fewest = [s + e for s, e in enumerate(answer[0])]
    budget = {}
    if session.flip(0.7):
        budget["--steps"] = max(1, rng.randint(len(fewest) - 3, len(fewest) + 1))
    if session.flip(0.7):
        least = min(fewest[:budget.get("--steps", len(fewest)) + 1], default=verifier.NEVER)
        budget["--rounds"] = max(1, (least if least < verifier.NEVER else 3) + rng.choice([-2, -1, -1, 0, 0, 1]))
    engine, refusals = engine_of(session)
    code, found = ask_synthesize(session, pieces, budget, engine, refusals, limit={"--time-limit": "4s"}, effort=["--no-bounds"] * session.flip(0.2))
    session.counts["single questions"] += 1
    if code == 3:
        session.counts[f"undecided on tiny machines by {engine}"] += 1
        session.require(len(budget) == 2 or engine != "sat" or session.options.conflicts, "synthesize: does not end on a tiny machine")
        return
    session.counts["exhaustive comparisons"] += 1
    session.counts[f"exhaustive comparisons by {engine}"] += 1
    steps, rounds = budget.get("--steps"), budget.get("--rounds", verifier.NEVER)
    true = [(s, r) for s, r in enumerate(fewest) if r < verifier.NEVER and r <= rounds and (steps is None or s <= steps)]
    says = f"exhaustive search: rounds by steps {fewest}"
    session.require(bool(true) == (code == 0), f"synthesize: wrong verdict of {engine}", f"exit code {code}, {says}")
    if code == 0 and true:
        at = cost(found["points"][0])
        session.require(steps is not None or at[0] == min(true)[0], "synthesize: not the fewest steps", f"{at}, {says}")
        session.require(steps is None or "--rounds" in budget or at[1] == min(r for _, r in true), "synthesize: not the fewest rounds", f"{at}, {says}")


def ask_synthesize(session, pieces, budget, engine="sat", refusals=NOTHING, **changes):
    case = {**session.case, **changes}
    session.counts["synthesized"] += 1
    effort = case["effort"]
    if "--jobs" in effort:  # synthesize has none
        effort = effort[:effort.index("--jobs")] + effort[effort.index("--jobs") + 2:]
    (session.folder / "s.json").unlink(missing_ok=True)
    code, _, _ = session.run("synthesize", *question(session, case), "--chunks", pieces, *words_of(budget, ["--engine", engine], effort, case["limit"]),
                             "--json", "s.json", codes={0, 3, 20}, seconds=seconds_of(case), refusals=f"{no_path(case)}|{refusals}")
    found = session.read("s.json")
    verify_result(session, found, "synthesize")
    session.require(code != 0 or found["points"], "synthesize: exit code 0 without a schedule")
    for p in found["points"] if code == 0 else []:
        session.require(p["steps"] <= budget.get("--steps", verifier.NEVER) and p["rounds"] <= budget.get("--rounds", verifier.NEVER),
                        "synthesize: outside of the budget", str(cost(p)))
    session.require(code != 20 or budget or not possible(found), "synthesize: impossible without a budget, where it is not")
    return code, found


def ask_of_any_engine(session, pieces, budget):
    return ask_synthesize(session, pieces, budget, *(engine_of(session) if random_input.ranks_of(session.case["machine"]) <= 5 else ()))


def synthesis(session):
    rng = session.rng
    budget = rng.choice([{}, {"--steps": rng.randint(1, 4)}, {"--rounds": rng.randint(1, 8)}, {"--steps": rng.randint(1, 4), "--rounds": rng.randint(1, 8)}])
    _, session.result = ask_of_any_engine(session, rng.choice(space_chunks(session.case)), budget)
    (session.folder / "s.json").rename(session.folder / "r.json")


def bounded(session):
    rng = session.rng
    session.run("bounds", *question(session, session.case), "--chunks", rng.randint(1, 5), *rng.choice([[], ["--steps", rng.randint(1, 6)]]))


def larger(session):
    """A larger space, or a larger limit, never gives less."""
    case, rng, result = session.case, session.rng, session.result
    space, limit = dict(case["space"]), case["limit"]
    few = limit["--conflicts"] < LIMIT["--conflicts"]
    key = rng.choice(sorted({*space, "--max-chunks"} - {"--min-chunks"}) + ["limit"] * few)
    if key == "limit":
        limit = {**limit, "--conflicts": 100}
    elif key not in space:
        return  # any number of chunks already
    elif session.flip(0.5):
        space[key] += 1
    else:
        del space[key]
    more = ask_frontier(session, "more.json", space=space, limit=limit)
    if {"time limit", "memory limit"} & {result["stopped"], more["stopped"]}:
        return
    # Without a k the walk is another one: docs/formats.md.
    if "--k" in case["space"] and "--k" not in space and more["stopped"] == "conflict limit":
        return
    session.counts["larger spaces"] += 1
    require_covered(session, "frontier: a larger space gives less", result["points"], more["points"])


def another_way(session):
    """Seeds, bounds, symmetries and jobs do not change a complete answer."""
    effort = session.rng.choice([["--seed", "7"], ["--no-bounds"], ["--no-symmetry"], ["--jobs", "2"], ["--no-bounds", "--no-symmetry"]])
    result, second = session.result, ask_frontier(session, "second.json", effort=effort, limit=LIMIT)
    if result["complete"] and second["complete"]:
        session.counts["the same another way"] += 1
        session.require(exhaustive.same(frontier_of(result), frontier_of(second)), "frontier: two ways, two answers",
                        f"{frontier_of(result)} by {session.commands[0]}; {frontier_of(second)}")


def contradiction(session):
    """synthesize finds nothing that the frontier excludes, and refutes nothing that it has."""
    rng, result = session.rng, session.result
    space = verifier.Space(result)
    pieces = rng.choice(space.chunks)
    near = rng.choice(result["points"]) if result["points"] else {"steps": rng.randint(1, 4), "rounds": rng.randint(1, 6), "chunks": 1}
    rounds, steps = max(1, near["rounds"] * pieces // near["chunks"]), max(1, near["steps"])
    less = max(1, rounds - 1)
    budget = rng.choice([{"--steps": steps, "--rounds": rounds}, {"--steps": steps, "--rounds": less}, {"--steps": max(1, steps - 1), "--rounds": rounds},
                         {"--steps": steps + 1, "--rounds": less}, {"--steps": steps}, {"--rounds": rounds}, {}])
    code, found = ask_of_any_engine(session, pieces, budget)
    session.counts["contradictions looked for"] += 1
    if result["complete"]:
        require_covered(session, "synthesize finds what a complete frontier lacks", found["points"], result["points"], space)
    for p in result["points"] if code == 20 else []:
        session.require(p["chunks"] != pieces or p["method"] not in ("direct", "dual") or p["steps"] > budget.get("--steps", verifier.NEVER) or
                        p["rounds"] > budget.get("--rounds", verifier.NEVER), "synthesize refutes what frontier has", f"{cost(p)}; before: {session.commands[0]}")


def interrupted(session):
    """Ctrl-C and SIGTERM end a search within a second of CPU, and what was found is kept."""
    case = session.case
    command = session.rng.choice(["frontier", "frontier", "synthesize"])
    space = case["space"] if command == "frontier" else {"--chunks": case["space"]["--max-chunks"]}
    effort = [word for word in case["effort"] if command == "frontier" or word not in ("--jobs", "2")]
    code, _, errors, (before, after) = session.spawn(
        session.options.chorale, command, *question(session, case), *words_of(space, effort), "--json", "r.json", wall=600, cpu=30,
        interrupt=(case["after"], case["signal"]))
    session.counts["interrupted"] += code == 130
    if code == -case["signal"] and before < 0.05:
        return  # it had hardly begun
    if not session.require(code in (0, 3, 20, 130) or code == 2 and no_path(case) != NOTHING, f"{command}: exit code {code} after a signal", errors[:300]):
        raise Over()
    session.require(after <= SLACK * (2 if "--jobs" in effort else 1), f"{command}: goes on after a signal", f"{after:.1f} s of CPU")
    if code != 2:
        result = session.read()
        verify_result(session, result, f"{command}, interrupted")
        session.require(command != "frontier" or result["points"] or "--max-steps" in space or not possible(result), "frontier: empty answer after a signal")


# -- orders of sums ------------------------------------------------------------------------------------------

def in_order(session):
    """Sums are in the order that was asked for, and the tree of a fixed one is in the result."""
    asked, said = session.case["more"][-1], session.result["collective"].get("order", "agreed")
    session.counts[f"frontiers in order: {'tree' if asked.startswith('(') else asked.removeprefix('--')}"] += 1
    if asked.startswith("("):
        same = said not in ("agreed", "free") and verifier.nodes_of(asked) == verifier.nodes_of(said)
    else:
        same = said == "agreed" if asked == "agreed" else said == "free" if asked == "--allow-disagreement" else True
    session.require(same, "frontier: another order than was asked for", said)
    session.require(asked != "fixed" or said not in ("agreed", "free") or isinstance(session.case["collective"], dict), "frontier: says no tree for a fixed order", said)


def less_order(session):
    """Whoever asks for less order never gets less; the tree that was chosen, given, gives the same."""
    said = session.result["collective"].get("order", "agreed")
    if said not in ("agreed", "free"):
        compare_orders(session, ["--order", said], both=True)
    if said != "free":
        compare_orders(session, ["--allow-disagreement"] if said == "agreed" else [], both=False)


def compare_orders(session, more, both):
    """`more` asks for as much order as the result has (both), or for less."""
    result, second = session.result, ask_frontier(session, "second.json", more=more, limit=LIMIT)
    session.counts["compared with another order"] += 1
    for some, others in [(second, result)] + [(result, second)] * both:
        if some["complete"]:
            require_covered(session, "frontier: in another order, a complete answer lacks a point", others["points"], some["points"], verifier.Space(result))


# -- machines with switches ----------------------------------------------------------------------------------

def over_all_ways(session):
    """Frontiers over chosen ways report what holds over all ways: so no schedule over all of them, nor an
    exhaustive search of it, is better than what they exclude, and none of theirs is better than what is
    possible there."""
    case, result = session.case, session.result
    session.counts["frontiers over ways"] += 1
    session.require("underlay" in result["topology"], "frontier: the ways that were chosen are not in the result")
    if "underlay" not in case["machine"]:
        return
    # Ways that report that they are all leave nothing out: it is the same machine.
    second = ask_frontier(session, "every.json", machine=case["machine"]["underlay"])
    if "underlay" in second["topology"]:
        return
    session.counts["frontiers over some ways and all"] += 1
    for some, others, which in ((result, second, "some ways"), (second, result, "all ways")):
        if some["complete"]:
            require_covered(session, f"frontier: complete over {which}, and the other has better", others["points"], some["points"], verifier.Space(result))
    require_exact(session, result, verifier.Machine.read(second["topology"]), result["complete"])


def as_link(link):
    return link["src"], link["dst"], link["bandwidth"]


def counted_once(session):
    """What counts once is what docs/topologies.md states. Of several betas the result has other bandwidths, which
    tests/topology/rates_test.cpp judges."""
    machine, topology = dict(session.case["machine"]), session.result["topology"]
    if len({link.get("beta_us_per_byte", 4e-5) for link in machine["links"]}) > 1:
        return
    session.counts["frontiers with abilities"] += 1
    for word in session.case["more"]:
        machine[word.removeprefix("--switches-")] = list(range(machine["switches"]))
    session.require(collections.Counter(map(as_link, topology["links"])) == collections.Counter(
        ends_of(machine, way) for way in random_input.routes_through(machine)), "frontier: other links than there are ways through switches", str(topology["links"]))
    links = [as_link(link) for link in topology["links"]]
    found = binding((tuple(sorted(links[l] for l in limit["links"])), limit["bandwidth"], limit.get("multicast", False), limit.get("reduce", False))
                    for limit in topology.get("limits", []))
    true = cables(machine)
    session.require(not found - true and all(implied(limit, found) for limit in true - found),
                    "frontier: other limits than the machine has, with what its switches can", f"{found - true} and not {true - found}")


def ends_of(machine, way):
    wires = machine["links"]
    return wires[way[0]]["src"], wires[way[-1]]["dst"], min(wires[w]["bandwidth"] for w in way)


def binding(limits):
    """Those that are over several links, or narrower than their one."""
    return collections.Counter(limit for limit in limits if len(limit[0]) > 1 or limit[1] < limit[0][0][2])


def implied(limit, others):
    """Does another one, in which nothing counts once, bound these links and more as tightly?"""
    return any(bandwidth <= limit[1] and not copies and not sums and not collections.Counter(limit[0]) - collections.Counter(over)
               for over, bandwidth, copies, sums in others)


def cables(machine):
    """A limit for each cable over the routes through it: copies of one that comes from a rank count once if
    the switch that gets them multicasts, what is for one rank if the switch that sends it reduces. Between
    switches nothing does where some can do the one and some the other, but not all of them both what one
    can."""
    ranks = machine["ranks"]
    able = {ability: {ranks + s for s in machine.get(ability, [])} for ability in ("multicast", "reduce")}
    mixed = able["multicast"] and able["reduce"] and not able["multicast"] == able["reduce"] == set(range(ranks, ranks + machine["switches"]))
    limits = []
    for w, wire in enumerate(machine["links"]):
        over = [ends_of(machine, way) for way in random_input.routes_through(machine) if w in way]
        among = mixed and wire["src"] >= ranks and wire["dst"] >= ranks
        limits += [(tuple(sorted(over)), wire["bandwidth"], wire["dst"] in able["multicast"] and not among, wire["src"] in able["reduce"] and not among)] * bool(over)
    return binding(limits + deliveries(machine, able["multicast"] | able["reduce"]))


def deliveries(machine, able):
    """What a switch that can do anything delivers: every send through it counts, and what its links carry counts
    as often as the gain says, which is less of fewer than eight ports."""
    limits, wires = [], machine["links"]
    for at in able if machine.get("switch_gain") else ():
        into, out = [w for w in wires if w["dst"] == at], [w for w in wires if w["src"] == at]
        ports = len({wire["dst"] for wire in out})
        gain = max(1, machine["switch_gain"] * min(1, 9 * (ports - 1) / (7 * (ports + 1))))
        carried = min(sum(wire["bandwidth"] for wire in side) for side in (into, out))
        over = [ends_of(machine, way) for way in random_input.routes_through(machine) if any(wires[w]["dst"] == at for w in way)]
        limits += [(tuple(sorted(over)), math.ceil(gain * carried - 1e-6), False, False)] * (len(over) > 1)
    return limits

