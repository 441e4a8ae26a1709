"""Doors of machines with switches: routes through them that are chosen, and switches that multicast and
reduce."""
import collections

import exhaustive
import forgeries
import verifier
import random_input
from commands import forge_some, limited, tiny
from random_input import flip
from session import ask_frontier, check, cost, covered, few_of_any, frontier_of


# -- chosen ways ---------------------------------------------------------------------------------------------

def make_routes(rng):
    if flip(rng, 0.06):
        machine = random_input.meshed_switches(rng)
    else:
        machine = random_input.chosen_ways(rng, rng.choice([2, 3, 3, 4, 4, 5, 6]))
    collective, root_ = random_input.collective(rng, machine["ranks"], tiny=True)
    space, effort = random_input.frontier_options(rng, tiny=True)
    return {"machine": machine, "collective": collective, "root": root_, "space": space, "effort": effort, "limit": []}


def ways(session, case, rng):
    """Frontiers over chosen ways report what holds over all ways: so no schedule over all of them, nor an
    exhaustive search of it, is better than what they exclude, and none of theirs is better than what is
    possible there. Forged ways are refused."""
    _, result = ask_frontier(session, case, case["space"], limited(case), 1)
    session.counts["frontiers over ways"] += 1
    if "underlay" not in result["topology"]:
        session.fault("frontier: the ways that were chosen are not in the result")
    check(session)
    if "underlay" in case["machine"]:
        over_all_routes(session, case, rng, result)
    if not session.faults:
        forge_some(session, result, rng, 10, forgeries.WAYS)


def over_all_routes(session, case, rng, result):
    # Ways that report that they are all leave nothing out: it is the same machine.
    every = {**case, "machine": case["machine"]["underlay"]}
    _, second = ask_frontier(session, every, case["space"], limited(every), 1, "every.json")
    if "underlay" in second["topology"]:
        return
    space = verifier.Space(result)
    space.steps = case["space"].get("--max-steps")
    session.counts["frontiers over some ways and all"] += 1
    for some, others, which in ((result, second, "some ways"), (second, result, "all ways")):
        if some["complete"]:
            for p in others["points"]:
                if space.has(p["steps"], p["rounds"]) and not covered(p, some["points"]):
                    session.fault(f"frontier: complete over {which}, and the other has better", f"{cost(p)}; before: {session.commands[0]}")
    machine = verifier.Machine.read(second["topology"])
    truth = session.truth.frontier(machine, second["collective"], space)
    if truth is None:
        return
    if space.most == verifier.NEVER:
        return few_of_any(session, result, truth, space)
    session.counts["exhaustive comparisons over ways"] += 1
    if result["complete"] and not exhaustive.same(frontier_of(result), truth):
        session.fault("frontier: over ways, is not that of the exhaustive search", f"{frontier_of(result)} is not {truth}")
    for p in result["points"]:
        if space.has(p["steps"], p["rounds"]) and not any(t[0] <= p["steps"] and t[1] * p["chunks"] <= p["rounds"] * t[2] for t in truth):
            session.fault("frontier: over ways, better than possible", f"{cost(p)}, {truth}")


# -- abilities -----------------------------------------------------------------------------------------------

def make_abilities(rng):
    machine = random_input.switched(rng, rng.choice([2, 3, 3, 3, 4, 4]), most_switches=2)
    more = []
    for ability in ("multicast", "reduce"):
        if flip(rng, 0.25):
            more.append(f"--switches-{ability}")
        elif flip(rng, 0.7):
            machine[ability] = random_input.subset(rng, range(machine["switches"]))
    collective, root_ = random_input.collective(rng, machine["ranks"], tiny=True)
    space, effort = random_input.frontier_options(rng, tiny=True)
    return {"machine": machine, "collective": collective, "root": root_, "space": space, "effort": effort, "more": more}


def abilities(session, case, rng):
    """What counts once is what docs/topologies.md states; and the frontiers are those of an exhaustive search
    that counts so."""
    tiny(session, case, rng)
    result = session.result()
    session.counts["frontiers with abilities"] += 1
    machine = {**case["machine"]}
    for word in case["more"]:
        machine[word.removeprefix("--switches-")] = list(range(machine["switches"]))
    if links_of(result["topology"]) != ways_as_links(machine):
        session.fault("frontier: other links than there are ways through switches", str(result["topology"]["links"]))
    found, true = limits_of(result["topology"]), cables(machine)
    if found - true or not all(implied(limit, found) for limit in true - found):
        session.fault("frontier: other limits than the machine has, with what its switches can", f"{found - true} and not {true - found}")
    check(session)
    if result["points"] and flip(rng, 0.3):
        session.run("run", "r.json", "--transport", "threads", "--bytes", "100", "--point", "all", "--iterations", 1, "--warmup", 0, codes={0})
        session.counts["run with abilities"] += 1
    if not session.faults:
        forge_some(session, result, rng, 8, forgeries.ALL + [forgeries.machine] * 8)


def as_link(link):
    return link["src"], link["dst"], link["bandwidth"]


def links_of(topology):
    return collections.Counter(map(as_link, topology["links"]))


def ways_as_links(machine):
    wires = machine["links"]
    return collections.Counter((wires[way[0]]["src"], wires[way[-1]]["dst"], min(wires[w]["bandwidth"] for w in way))
                               for way in random_input.routes_through(machine))


def binding(limits):
    """Those that are over several links, or narrower than their one."""
    return collections.Counter(limit for limit in limits if len(limit[0]) > 1 or limit[1] < limit[0][0][2])


def limits_of(topology):
    links = [as_link(link) for link in topology["links"]]
    return binding((tuple(sorted(links[l] for l in limit["links"])), limit["bandwidth"], limit.get("multicast", False), limit.get("reduce", False))
                   for limit in topology.get("limits", []))


def implied(limit, others):
    """Does another one, in which nothing counts once, bound these links and more as tightly?"""
    return any(bandwidth <= limit[1] and not copies and not sums and not collections.Counter(limit[0]) - collections.Counter(over)
               for over, bandwidth, copies, sums in others)


def cables(machine):
    """A limit for each cable over the routes through it: copies of one that comes from a rank count once if
    the switch that gets them multicasts, what is for one rank if the switch that sends it reduces. Between
    switches nothing does where some can do the one and some the other, but not all of them both what one
    can."""
    ranks, wires = machine["ranks"], machine["links"]
    ways_ = random_input.routes_through(machine)
    able = {ability: {ranks + s for s in machine.get(ability, [])} for ability in ("multicast", "reduce")}
    mixed = able["multicast"] and able["reduce"] and not able["multicast"] == able["reduce"] == set(range(ranks, ranks + machine["switches"]))
    limits = []
    for w, wire in enumerate(wires):
        over = [way for way in ways_ if w in way]
        if not over:
            continue
        among = mixed and wire["src"] >= ranks and wire["dst"] >= ranks
        limits.append((tuple(sorted((wires[way[0]]["src"], wires[way[-1]]["dst"], min(wires[x]["bandwidth"] for x in way)) for way in over)),
                       wire["bandwidth"], wire["dst"] in able["multicast"] and not among, wire["src"] in able["reduce"] and not among))
    return binding(limits)
