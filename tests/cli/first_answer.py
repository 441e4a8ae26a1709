#!/usr/bin/env python3
"""What a user has without a search is there before any search, whatever its limits: 'frontier' and 'optimize'
within a millisecond, or without a conflict, have an answer on random and named machines wherever there is a
baseline or a path, and it is never slower than the best of 'chorale classic'. The other commands' first
answers, too: a program of tensors as it was given.

Usage: first_answer.py CHORALE [SEED [MACHINES]]
"""
import json
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale as run, work  # noqa: E402

seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
count = int(sys.argv[3]) if len(sys.argv) > 3 else 6
draw = random.Random(seed)
ROOTED = ("broadcast", "reduce", "gather", "scatter")
COLLECTIVES = ("allreduce", "allgather", "reducescatter", "alltoall", *ROOTED)
SIZES = "1K,100K,16M"


def random_machine(name):
    """Every rank reaches every other; links differ in rate and latency, and some run one way."""
    ranks = draw.choice([1, 2, 3, 4, 5, 6, 7, 8, 9])
    order = draw.sample(range(ranks), ranks)
    pairs = {(order[i], order[i - 1]) for i in range(ranks)} | {tuple(draw.sample(range(ranks), 2)) for _ in range(draw.randint(0, 12)) if ranks > 1}
    if draw.random() < 0.4:  # a tree, which has no ring
        pairs = {(order[i], order[draw.randrange(i)]) for i in range(1, ranks)}
        pairs |= {(b, a) for a, b in pairs}
    uneven = draw.random() < 0.7
    links = [{"src": a, "dst": b, "bandwidth": draw.choice([1, 2, 5]) if uneven else 1, "alpha_us": draw.choice([0.5, 1, 8]) if uneven else 1}
             for a, b in sorted(pairs) if a != b]
    (work / name).write_text(json.dumps({"topology": name[:-5], "ranks": ranks, "links": links}))
    return f"./{name}", ranks


def baselines(machine, collective, root):
    """Of 'chorale classic': (steps, rounds, chunks, time at each size)."""
    found = []
    for name in names[collective]:
        for old in ("c.json", "s.json"):
            (work / old).unlink(missing_ok=True)
        done = run("classic", name, machine, *root, "--json", "c.json", "-q", code=(0, 2))  # 2: the machine does not suit it
        if done.returncode == 0:
            point = json.loads((work / "c.json").read_text())["points"][0]
            run("show", "c.json", "--bytes", SIZES, "--json", "s.json", "-q")
            found.append((point["steps"], point["rounds"], point["chunks"], [row["us"] for row in json.loads((work / "s.json").read_text())["rows"]], name))
    return found


names = {}
for name, collective in re.findall(r"^(\w+) +(\w+)$", run("classic", "list").stdout, re.M):
    names.setdefault(collective, []).append(name)
assert set(COLLECTIVES) <= set(names), names
answers = compared = 0
for i, machine in enumerate([*range(count), "dgx1", "hub:5", "mesh:2x3", "torus:4x4"]):
    machine, ranks = random_machine(f"m{i}.json") if isinstance(machine, int) else (machine, 16)
    for collective in COLLECTIVES:
        root = ["--root", draw.randrange(min(ranks, 4))] if collective in ROOTED else []
        known = baselines(machine, collective, root)
        for limit in (["--time-limit", "1ms"], ["--conflicts", "0", "--max-chunks", "2"]):
            what = (machine, collective, root, limit)
            done = run("frontier", machine, collective, *root, *limit, "--json", "f.json", code=(0, 3))
            result = json.loads((work / "f.json").read_text())
            assert result["points"], what
            assert result["complete"] or done.returncode == 3 or "--conflicts" in limit, (what, done)
            run("check", "f.json", "--conflicts", "0", "-q", code=(0, 3))
            answers += 1
            for steps, rounds, chunks, _, name in known:
                if "--max-chunks" in limit and chunks > 2:
                    continue
                compared += 1
                assert any(p["steps"] <= steps and p["rounds"] * chunks <= rounds * p["chunks"] for p in result["points"]), (what, name, steps, rounds, chunks)
        what = (machine, collective, root, "optimize")
        done = run("optimize", machine, collective, *root, "--sizes", SIZES, "--time-limit", "1ms", "--json", "o.json", code=(0, 3))
        table = json.loads((work / "o.json").read_text())
        assert len(table["rows"]) == 3 and (table["complete"] or done.returncode == 3), (what, done)
        for size, row in enumerate(table["rows"]):
            for *_, us, name in known:
                assert row["us"] <= us[size] * (1 + 1e-9), (what, name, row, us[size])

# Of large machines, too; a program of tensors as it was given is an answer before any algorithm is searched.
for machine in ("dgx-a100:16", "torus:16x16"):
    for command in (["frontier", machine, "allreduce", "--json"], ["optimize", machine, "allreduce", "--json"]):
        run(*command, "large.json", "--time-limit", "1ms", code=3)
        assert json.loads((work / "large.json").read_text()), command
        # Four steps, of whose sends rings have sixteen times as many: what is small comes first.
        if (machine, command[0]) == ("dgx-a100:16", "frontier"):
            assert any(p["method"] == "hierarchical_allreduce" for p in json.loads((work / "large.json").read_text())["points"]), command
(work / "sums.chorale").write_text("\n".join([
    "workload sums", "ranks 8", "size N = 2^20", *(f"Tensor x{i}(fp32, [N], Local)" for i in range(5)),
    *(f"s{i} = AllReduce(\"+\", x{i})\ny{i} = s{i} * 0.5 + 1" for i in range(5)), "return " + ", ".join(f"y{i}" for i in range(5))]))
for more in ([], ["--tune", "--candidates", "1000000"]):
    said = run("compile", "sums.chorale", "--machine", "ring:8", *more, "--time-limit", "1ms", "-o", f"sums{len(more)}", code=3).stdout
    assert "cut short (time limit)" in said and (work / f"sums{len(more)}/sums.h").exists(), said
said = run("tune", "sums.chorale", "--machine", "ring:8", "--candidates", "1000000", "--time-limit", "1ms", "--json", "tuned.json", "--html", "tuned.html", code=3).stdout
assert json.loads((work / "tuned.json").read_text())["candidates"], said
print(f"{answers} answers at once, none worse than {compared} baselines")
