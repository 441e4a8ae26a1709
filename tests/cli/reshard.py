#!/usr/bin/env python3
"""Reshards of random layouts: the demand, the bytes and the direct sends against what element by element is
obvious; the emitted MPI program and the program of torch.distributed do the plan, 4 + 4 and 8 + 8 ranks and
on the same ranks, every byte checked.

Usage: reshard.py CHORALE MPICXX FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import itertools
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

random.seed(30)
HELD = work / "r.json"


def holders(question, side, tensor):
    """On the mesh of all tensors, or one of its own. By element (its coordinates): the ranks that have it.
    Each axis of the mesh in turn keeps the indices whose chunk is its own."""
    own, shape = tensor[side], tensor["shape"]
    mesh, placements = (own, own["placements"]) if isinstance(own, dict) else (question[side], own)
    found = {at: [] for at in itertools.product(*map(range, shape))}
    for place, rank in zip(itertools.product(*map(range, mesh["mesh"])), mesh["ranks"]):
        kept = [list(range(size)) for size in shape]
        for at, size, placement in zip(place, mesh["mesh"], placements):
            if placement.startswith("shard"):
                d = int(placement[6])
                chunk = math.ceil(len(kept[d]) / size) if kept[d] else 0
                kept[d] = kept[d][at * chunk:(at + 1) * chunk]
        for element in itertools.product(*kept):
            found[element].append(rank)
    return found


def lacking(question):
    """Bytes that ranks lack, and those that leave each rank at least: elements that it alone holds and others
    want."""
    missing, alone = 0, {}
    for tensor in question["tensors"]:
        size = tensor.get("element_bytes", 2) * tensor.get("count", 1)
        have = holders(question, "from", tensor)
        want = holders(question, "to", tensor)
        for element, ranks in want.items():
            others = set(ranks) - set(have[element])
            missing += size * len(others)
            if others and len(have[element]) == 1:
                alone[have[element][0]] = alone.get(have[element][0], 0) + size
    return missing, max(alone.values(), default=0)


def mesh_of(ranks):
    sizes, left = [], len(ranks)
    while left > 1:
        sizes.append(random.choice([n for n in range(2, left + 1) if left % n == 0]))
        left //= sizes[-1]
    return {"ranks": ranks, "mesh": sizes or [1]}


def placements(mesh, shape):
    return [random.choice(["replicate"] + [f"shard({d})" for d in range(len(shape))]) for _ in mesh["mesh"]]


def random_question(first, second):
    question = {"reshard": "random", "from": mesh_of(first), "to": mesh_of(second), "tensors": []}
    for t in range(random.randint(1, 3)):
        shape = [random.randint(1, 12) for _ in range(random.randint(1, 3))]
        placed = [placements(question[side], shape) for side in ("from", "to")]
        for side in (0, 1):
            if random.random() < 0.3:  # of a stage of a pipeline
                ranks = question[("from", "to")[side]]["ranks"]
                own = mesh_of(random.sample(ranks, random.randint(1, len(ranks))))
                placed[side] = {**own, "placements": placements(own, shape)}
        question["tensors"].append({"name": f"t{t}", "shape": shape, "element_bytes": random.choice((1, 2, 4)), "count": random.randint(1, 3),
                                    "from": placed[0], "to": placed[1]})
    return question


def solved(machine, question, *more):
    (work / "q.json").write_text(json.dumps(question))
    run("reshard", machine, "./q.json", "--search-time", "1", "--json", "a.json", "--result", "r.json", *more)
    return json.loads((work / "a.json").read_text())


def plan_moves_all(question):
    """The plan by the obvious: which chunk is where, step by step, and in the end at all that lack it."""
    plan = json.loads((work / "plan/plan.json").read_text())
    have, want = {}, {}
    for part in plan["parts"]:
        for c in range(part["first_chunk"] * plan["pieces"], (part["first_chunk"] + part["chunks"]) * plan["pieces"]):
            have[c], want[c] = set(part["holders"]), set(part["wanted"])
    for step in plan["steps"]:
        for c, src, _ in step:
            assert src in have[c], (c, src, step)
        for c, _, dst in step:
            have[c].add(dst)
    assert all(want[c] <= have[c] for c in have)
    # Every element is in parts that only ranks with it hold, and that bring it to all that want it.
    for t, tensor in enumerate(question["tensors"]):
        hold, need = (holders(question, side, tensor) for side in ("from", "to"))
        for element in need:
            inside = [p for p in plan["parts"] for s, box in p["regions"] if s == t and all(a <= x < b for x, (a, b) in zip(element, box))]
            assert all(set(p["holders"]) <= set(hold[element]) for p in inside), (t, element)
            assert set(need[element]) <= {r for p in inside for r in p["wanted"]}, (t, element)
    return plan


def no_method_is_faster(answer):
    """The plan is the fastest of all methods that are printed; where it is one of them, it says so."""
    us = {each["name"]: each["us"] for each in answer["methods"]}
    assert us["this plan"] <= min(us.values()) * (1 + 1e-9), (answer["plan"], us)
    assert answer["plan"] == "packing" or us["this plan"] <= us[answer["plan"]] * (1 + 1e-9), (answer["plan"], us)


HAS = "import torch.distributed as d; assert d.is_gloo_available()"
with_torch = next((p for p in (sys.executable, "/usr/bin/python3") if shutil.which(p) and not subprocess.run([p, "-c", HAS], capture_output=True).returncode), None)
if not with_torch:
    print("PyTorch with gloo is not here: the programs of torch.distributed are NOT run")


def torch_does(ranks, bytes_right=None):
    if not with_torch:
        return
    done = subprocess.run([with_torch, work / "plan/reshard_torch.py", "--spawn"], capture_output=True, text=True, timeout=240,
                          env={**os.environ, "MASTER_PORT": str(random.randint(20000, 60000))})
    assert done.returncode == 0 and f"{ranks} ranks: " in done.stdout and " 0 are wrong" in done.stdout, done.stdout + done.stderr
    assert bytes_right is None or f"{ranks} ranks: {bytes_right} bytes are right" in done.stdout, (done.stdout, bytes_right)


for case in range(5):
    ranks = random.randint(2, 6)
    pool = list(range(ranks))
    random.shuffle(pool)
    split = random.randint(1, ranks - 1)
    question = random_question(pool[:split], pool[split:] if case % 2 else random.sample(range(ranks), random.randint(1, ranks)))
    missing, alone = lacking(question)
    machine = random.choice((f"full:{ranks}", f"ring:{ranks}")) if ranks > 2 else "full:2"
    if missing == 0:
        (work / "q.json").write_text(json.dumps(question))
        refused("reshard", machine, "./q.json", says="nothing has to move")
        continue
    answer = solved(machine, question, "--emit", "plan")
    assert answer["bytes"] == missing, (answer, missing, question)
    methods = {each["name"]: each for each in answer["methods"]}
    plan = methods["this plan"]
    assert abs(sum(link[2] for link in answer["links"]) - plan["bytes"]) < 1e-6 * plan["bytes"]
    assert all(each["us"] >= (answer["bound_us"] or 0) * (1 - 1e-9) for each in answer["methods"]) and plan["bytes"] >= missing * (1 - 1e-9), answer
    if machine.startswith("full"):  # every pair has a link: direct sends move each byte once
        assert methods["direct sends"]["bytes"] == missing, (methods, missing)
    no_method_is_faster(answer)
    plan_moves_all(question)
    if case == 1:
        run("check", "./r.json")
        want = sum(len(ranks) * t["element_bytes"] * t["count"] for t in question["tensors"] for ranks in holders(question, "to", t).values())
        torch_does(ranks, want)

# What loses to another method is not the plan: random layouts on machines with and without nodes, and little
# time to search. The plan moves all, and the result is accepted, whichever method it is.
plans = set()
for case in range(24):
    machine, ranks = random.choice([("ring:5", 5), ("line:4", 4), ("full:6", 6), ("mesh:2x3", 6), ("hub:4", 4), ("dgx-h100:2", 16), ("dgx1", 8)])
    pool = random.sample(range(ranks), min(ranks, 8))
    split = random.randint(1, len(pool) - 1)
    question = random_question(pool[:split], pool[split:] if case % 3 else random.sample(pool, random.randint(1, len(pool))))
    if lacking(question)[0] == 0:
        continue
    (work / "q.json").write_text(json.dumps(question))
    run("reshard", machine, "./q.json", "--search-time", random.choice(["100ms", "500ms"]), "--json", "a.json", "--result", "r.json", "--emit", "plan")
    answer = json.loads((work / "a.json").read_text())
    no_method_is_faster(answer)
    assert all(each["us"] >= (answer["bound_us"] or 0) * (1 - 1e-9) for each in answer["methods"]), answer
    if machine != "hub:4":  # links of the file are of switches
        plan_moves_all(question)
    run("check", "./r.json", "--conflicts", "1000", code=(0, 3))
    plans.add(answer["plan"])
assert len(plans) > 1, plans
# The other methods are an answer from the first moment, however busy the machine is, and no bound is a number
# before it is known.
(work / "a.json").unlink()
said = run("reshard", "dgx-h100:2", "./q.json", "--time-limit", "1ms", "--json", "a.json", code=3)
answer = json.loads((work / "a.json").read_text())
no_method_is_faster(answer)
assert ("not known" in said) == (answer["bound_us"] is None) and "bound       0" not in said, said

# 4 + 4 and 8 + 8: data x tensor parallel to tensor parallel.
for half in (4, 8):
    question = {"reshard": "halves", "from": {"ranks": list(range(half)), "mesh": [2, half // 2]}, "to": {"ranks": list(range(half, 2 * half)), "mesh": [half]},
                "tensors": [{"name": "w", "shape": [48, 20], "from": ["replicate", "shard(0)"], "to": ["shard(0)"]},
                            {"name": "v", "shape": [17, 24], "element_bytes": 4, "count": 2, "from": ["shard(1)", "replicate"], "to": ["shard(1)"]}]}
    solved(f"{'ring' if half == 4 else 'full'}:{2 * half}", question, "--emit", "plan")
    plan_moves_all(question)
    if half == 8:
        torch_does(2 * half, 48 * 20 * 2 + 2 * 17 * 24 * 4)
    points = json.loads(HELD.read_text())["points"]
    # The best rate, and of twice the ranks the fewest steps, whose program is small.
    best = min(range(len(points)), key=lambda p: points[p]["rounds"] / points[p]["chunks"]) if half == 4 else 0
    if not sys.argv[2:] or not shutil.which("mpirun"):
        print("MPI is not here: the emitted programs are NOT run")
        continue
    run("emit", "./r.json", "--target", "mpi", "--point", str(best), "-o", f"mpi{half}")
    source = next((work / f"mpi{half}").glob("*.cpp"))
    subprocess.run([sys.argv[2], f"@{sys.argv[3]}/quick17", source, "-o", work / "reshard_mpi"], check=True)
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(2 * half), work / "reshard_mpi", "1009", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

# Experts over two ranks of a stage, and a norm that both hold: it travels with them, half with each, and no
# chunk is its own. A third stage's norm finds nothing to travel with. Those that hold it already keep it.
experts = [{"name": f"e{stage}", "shape": [4, 30, 30 + stage], "from": {"ranks": [2 * stage, 2 * stage + 1], "mesh": [2], "placements": ["shard(0)"]},
            "to": ["replicate", "shard(1)"]} for stage in (0, 1)]
norms = [{"name": f"n{stage}", "shape": [7], "from": {"ranks": [2 * stage, 2 * stage + 1], "mesh": [2], "placements": ["replicate"]},
          "to": ["replicate", "replicate"]} for stage in (0, 1, 2)]
question = {"reshard": "little", "from": {"ranks": list(range(6)), "mesh": [6]}, "to": {"ranks": list(range(4, 8)), "mesh": [2, 2]},
            "tensors": experts + norms}
answer = solved("full:8", question, "--emit", "plan")
# Its search is a long one: a limit of time cuts it, the time of a search does not.
run("reshard", "full:8", "./q.json", "--search-time", "100s", "--time-limit", "1s", code=3)
plan = plan_moves_all(question)
assert answer["bytes"] == lacking(question)[0] and answer["parts"] > sum(p["chunks"] > 0 for p in plan["parts"]), (answer, plan["parts"])
assert sorted(len(p["regions"]) for p in plan["parts"] if p["chunks"]) == [1] + 8 * [2], [p["regions"] for p in plan["parts"]]
assert all(each["us"] >= answer["bound_us"] * (1 - 1e-9) for each in answer["methods"]), answer
torch_does(8)

# One rank to the eight of another node: over the rail once, and inside of the node seven times.
question = {"reshard": "out", "from": {"ranks": [0], "mesh": [1]}, "to": {"ranks": list(range(8, 16)), "mesh": [8]},
            "tensors": [{"name": "w", "shape": [1 << 20], "element_bytes": 1, "from": ["replicate"], "to": ["replicate"]}]}
ring = {each["name"]: each for each in solved("dgx-h100:2", question, "--line-rates")["methods"]}["ring of nodes"]
assert ring["bytes"] == 8 << 20 and abs(ring["link_seconds"] - (1 << 20) / 50e9) < 1e-9, ring
assert "ring of nodes" not in {each["name"] for each in solved("full:16", question)["methods"]}

good = {"reshard": "x", "from": {"ranks": [0, 1], "mesh": [2]}, "to": {"ranks": [2, 3], "mesh": [2]},
        "tensors": [{"name": "w", "shape": [4, 4], "from": ["shard(0)"], "to": ["replicate"]}]}
for change, says in ((("from", {"ranks": [0, 1], "mesh": [3]}), "mesh"), (("from", {"ranks": [0, 0], "mesh": [2]}), "twice"),
                     (("to", {"ranks": [2, 9], "mesh": [2]}), "machine has 4 ranks"), (("tensors", []), "empty"),
                     (("tensors", [{**good["tensors"][0], "from": ["shard(2)"]}]), "not a placement"),
                     (("tensors", [{**good["tensors"][0], "to": []}]), "placements"),
                     # Bytes are elements times their size times the count, of all tensors together.
                     (("tensors", [{**good["tensors"][0], "shape": [1 << 40], "element_bytes": 64, "count": 1000000, "from": ["shard(0)"]}]),
                      "tensors[0]: brings the tensors to more than 1e15 bytes"),
                     (("tensors", 2 * [{**good["tensors"][0], "shape": [1 << 39], "count": 900, "from": ["shard(0)"]}]),
                      "tensors[1]: brings the tensors to more than 1e15 bytes"),
                     (("tensors", [{**good["tensors"][0], "shape": [0]}]), "shape")):
    (work / "bad.json").write_text(json.dumps({**good, change[0]: change[1]}))
    refused("reshard", "ring:4", "./bad.json", says=says)
