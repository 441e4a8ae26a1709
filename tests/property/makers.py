"""Makers: each makes a random case, what JSON can hold, from a random.Random.

machine, collective, root  the question, as files and names state it
more                       options that belong to the question: what sums and switches may do
space, effort, limit       options that bound what is searched, that do not change what is found, and that end it
"""
import json
import math
import pathlib
import signal

from kit import random_input
from kit.random_input import flip

LIMIT = {"--conflicts": 200, "--time-limit": "1s"}  # some of these machines are hard
TINY = {"--time-limit": "4s"}


def question(rng, machine, tiny, limit, asked=None):
    collective, root = asked or random_input.collective(rng, random_input.ranks_of(machine), tiny=tiny)
    space, effort = random_input.frontier_options(rng, tiny=tiny)
    return {"machine": machine, "collective": collective, "root": root, "space": space, "effort": effort, "limit": dict(limit)}


def tiny(rng, limit=TINY):
    case = question(rng, random_input.machine(rng, tiny=True), True, limit)
    if flip(rng, 0.3):
        case["space"]["--k"] = rng.choice([0, 0, 1])
    return case


def any_size(rng):
    return question(rng, random_input.machine(rng), False, LIMIT)


def limited(rng):
    """With every option that limits at its smallest, half of the time."""
    case = any_size(rng)
    case["limit"] |= rng.choice([{"--conflicts": 0}, {"--conflicts": 1}, {"--time-limit": "1ms"}, {"--memory-limit": rng.choice(["1", "100K", "2M"])}, {}, {}, {}, {}])
    return case


# How often each command is asked (claims.py has a function for each).
COMMANDS = {"optimize": 36, "frontier": 20, "synthesize": 10, "shown": 8, "compare": 5, "order": 6, "reshard": 4, "alltoallv": 5, "place": 2, "library": 1, "tune": 1, "repair": 3, "design": 1, "checked": 3}


# Machines about which something false was once claimed.
ONCE_FALSE = pathlib.Path(__file__).resolve().parents[1] / "data/repro/truth/optimize_nothing_better"


def once_false(rng):
    machine = json.loads((ONCE_FALSE / f"{rng.choice('abc')}.json").read_text())
    links = [{key: link[key] for key in link if key != "both_ways"} for link in machine["links"]]
    back = [{**link, "src": link["dst"], "dst": link["src"]} for link, stated in zip(links, machine["links"]) if stated.get("both_ways")]
    return {**machine, "links": links + back}


def claims(rng):
    """To a command that claims something, on a tiny machine whose links differ."""
    if flip(rng, 0.05):
        asked = (rng.choice(["broadcast", "allgather", "alltoall", "allreduce"]), 0)
        return {**question(rng, once_false(rng), True, {"--time-limit": "500ms", "--conflicts": 100}, asked), "command": "optimize"}
    case = question(rng, random_input.mixed(rng), True, {"--time-limit": "500ms", "--conflicts": 100})
    return {**case, "command": rng.choices(list(COMMANDS), list(COMMANDS.values()))[0]}


def space_chunks(case):
    least = case["space"].get("--min-chunks", 1)
    return range(least, case["space"].get("--max-chunks", least + 1) + 1)


def mixed(rng):
    """To be forged."""
    case = tiny(rng, LIMIT) if flip(rng, 0.6) else any_size(rng)
    if flip(rng, 0.25):
        case["limit"]["--conflicts"] = 1
    return case


def long(rng):
    """To be interrupted."""
    case = any_size(rng)
    case["space"]["--max-chunks"] = rng.randint(4, 12)
    return {**case, "limit": {}, "after": rng.choice([0.02, 0.1, 0.5]), "signal": rng.choice([signal.SIGINT, signal.SIGTERM])}


def few_chunks(rng):
    """To be lowered: else schedules have thousands of chunks, which not every format is for."""
    case = any_size(rng)
    case["space"].pop("--max-steps", None)
    case["space"].setdefault("--max-chunks", 4)
    if flip(rng, 0.5):
        case["limit"]["--conflicts"] = 1
    return case


SUMS = ["reduce", "reducescatter", "allreduce", "allreduce", "allreduce"]


def sums(rng):
    """In an order, on a tiny machine or not."""
    small = flip(rng, 0.6)
    case = tiny(rng) if small else any_size(rng)
    while not (case["collective"]["combining"] if isinstance(case["collective"], dict) else case["collective"] in SUMS):
        case["collective"], case["root"] = random_input.collective(rng, random_input.ranks_of(case["machine"]), tiny=small) if flip(rng, 0.4) else (rng.choice(SUMS), 0)
    order = rng.choice(["fixed", "by-index", "tree", "tree", "free", "agreed"])
    if order == "tree":
        order = random_input.tree(rng, range(random_input.ranks_of(case["machine"])))
    return {**case, "small": small, "more": ["--allow-disagreement"] if order == "free" else ["--order", order]}


def allreduces(rng):
    """With the options that people type, on machines on which searches take no seconds."""
    machine = random_input.machine(rng, tiny=flip(rng, 0.8))
    while random_input.ranks_of(machine) > 6:
        machine = random_input.machine(rng)
    space, more = rng.choice([({"--max-steps": 2}, []), ({"--k": 0, "--max-chunks": 1}, []), ({"--k": 1, "--max-chunks": 2}, []), ({"--max-steps": 3, "--max-chunks": 2}, []),
                              ({"--max-chunks": 1}, []), ({"--max-chunks": 2}, ["--order", "fixed"])])
    return {"machine": machine, "collective": "allreduce", "root": 0, "space": space, "effort": [], "limit": {"--conflicts": 100}, "more": more}


def proofs(rng, names=("broadcast", "allgather", "allreduce", "reducescatter", "alltoall", "scatter"), bounds=("--no-bounds",), conflicts=1000):
    """With refutations, or with bounds."""
    machine = random_input.machine(rng, tiny=bool(bounds) or flip(rng, 0.7))
    return {"machine": machine, "collective": rng.choice(names), "root": 0, "space": {"--max-chunks": 2 if bounds else rng.randint(1, 3)}, "effort": list(bounds),
            "limit": {"--conflicts": conflicts, "--time-limit": "20s"}}


def bounds(rng):
    return proofs(rng, ("broadcast", "allgather", "allreduce", "reducescatter", "alltoall", "scatter", "reduce", "gather"), (), 100)


def ways(rng):
    """A machine that some routes through switches were chosen for, or with so many that the program chooses."""
    machine = random_input.meshed_switches(rng) if flip(rng, 0.06) else random_input.chosen_ways(rng, rng.choice([2, 3, 3, 4, 4, 5, 6]))
    return question(rng, machine, True, LIMIT)


def abilities(rng):
    """Switches that multicast and reduce, by their file or by options."""
    machine, more = random_input.switched(rng, rng.choice([2, 3, 3, 3, 4, 4]), most_switches=2), []
    for ability in ("multicast", "reduce"):
        if flip(rng, 0.25):
            more.append(f"--switches-{ability}")
        elif flip(rng, 0.7):
            machine[ability] = random_input.subset(rng, range(machine["switches"]))
    if flip(rng, 0.5):
        machine["switch_gain"] = rng.choice([1, 1.25, 2, 3])
    return {**question(rng, machine, True, TINY), "more": more}


def meshes(rng):
    """A hierarchy and the axes of a mesh on it."""
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
    axes, left = [], math.prod(levels)
    for name in ("data", "tensor", "pipeline"):
        size = rng.choice([d for d in range(1, left + 1) if left % d == 0]) if name != "pipeline" else left
        axes.append((name, size))
        left //= size
    return {"machine": hierarchy, "axes": axes, "bytes": rng.choice(["1", "1K", "4GB"]), "limit": rng.choice([{}, {}, {"--time-limit": "1ms"}])}


def libraries(rng):
    machines = []
    for _ in range(rng.choice([1, 1, 2])):
        machine = random_input.machine(rng, tiny=flip(rng, 0.8))
        if isinstance(machine, dict) and flip(rng, 0.2):
            machine = random_input.chosen_ways(rng, rng.choice([3, 4])) if flip(rng, 0.5) else random_input.switched(rng, 3)
        machines.append(machine)
    names = ["allgather", "broadcast", "reduce", "reducescatter", "allreduce", "allreduce", "gather", "scatter", "alltoall"]
    spec = {"collectives": sorted(set(rng.sample(names, rng.choice([1, 2])))), "conflicts": rng.choice([0, 30, 300])}
    for key, values, chance in [("groups", [["all"], ["pairs"], ["all", "pairs"]], 0.4), ("roots", [[0], [1], [0, 1]], 0.4), ("bytes", [[1024], [64, 1 << 20]], 0.6),
                                ("max_chunks", [1, 2], 0.5), ("k", [0, 1], 0.2), ("max_steps", [1, 2, 3], 0.15), ("order", ["fixed", "agreed"], 0.6)]:
        if flip(rng, chance):
            spec[key] = rng.choice(values)
    return {"machines": machines, "spec": spec}


def programs(rng):
    """Random tensor programs, by the numbers that tests/tensor/emit_random.cpp makes them of."""
    return {"programs": 3, "first": rng.randrange(1, 1 << 20), "carrier": rng.choice(["threads", "threads", "mpi", "cuda", "nccl"])}


def known(_):
    """Nothing random: the property knows its cases by their numbers."""
    return {}
