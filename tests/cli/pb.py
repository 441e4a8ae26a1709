"""check --pb DIR: each bound as a pseudo-Boolean formula and its refutation, for a verified checker.

The judge is tests/kit/pb.py, from the description of the format. The formula is judged, too: on random machines every
schedule of the result keeps all of its rules, but for the number of rounds, which is one less than claimed.
"""
import json
import os
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.pb import accepts, check, constraints_of  # noqa: E402
from kit.program import refused, run_chorale as run, work  # noqa: E402
from property import random_input  # noqa: E402

rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 7)


def kept(result, *options, code=0):
    folder = work / "made" / "here"
    for path in folder.glob("*") if folder.is_dir() else []:
        path.unlink()
    run("check", result, "--pb", folder, *options, code=code)
    index = json.loads((folder / "pb.json").read_text())
    assert sorted(os.listdir(folder)) == sorted({"pb.json"} | {row[kind] for row in index["proofs"] for kind in ("opb", "pbp")})
    return index, [(row, (folder / row["opb"]).read_text(), (folder / row["pbp"]).read_text()) for row in index["proofs"]]


def true_of(schedule, opb, most_steps):
    """The literals that a schedule makes true, of what the formula starts with."""
    started = set(re.findall(r"\bh_\d+_\d+_0(?:_\d+)?\b", opb)) - set(re.findall(r"^1 ~(\S+) >= 1 ;$", opb, re.M))
    value = {}
    for name in started:
        c, n, _, *i = name.split("_")[1:]
        value.setdefault((int(c), int(n)), set()).add(i[0] if i else "")
    true = set(started)
    for s in range(1, most_steps + 1):
        step = schedule[s - 1] if s <= len(schedule) else {"rounds": 0, "sends": []}
        true |= {f"r_{s}_{j}" for j in range(1, step["rounds"] + 1)}
        arrived, replaced = {}, set()
        for c, src, dst, link, *add in step["sends"]:
            true.add(f"s_{c}_{link}_{s}")
            for i in value.get((c, src), ()):
                if i:
                    true.add(f"p_{c}_{link}_{s}_{i}")
                arrived.setdefault((c, dst), set()).add(i)
            if not add:
                replaced.add((c, dst))
        for at in replaced:
            value[at] = set()
        for at, more in arrived.items():
            value[at] = value.get(at, set()) | more
        true |= {f"h_{c}_{n}_{s}" + (f"_{i}" if i else "") for (c, n), all_of in value.items() for i in all_of}
    return true


def broken(opb, true):
    """Rules that do not hold, but (rounds)."""
    lines = [line for line in opb.splitlines() if line[0] != "*"]
    holds = lambda literal: (literal[1:] not in true) if literal[0] == "~" else literal in true  # noqa: E731
    return [line[:100] for line, (terms, degree) in zip(lines, constraints_of(opb))
            if not line.startswith("-1 r_") and sum(a for literal, a in terms.items() if holds(literal)) < degree]


judged = kept_rules = tight = 0
covered, left_out = set(), []
for number in range(120):
    machine = random_input.machine(rng, tiny=number % 3 > 0)
    if not isinstance(machine, str):
        (work / "m.json").write_text(json.dumps(machine))
        machine = "m.json"
    name = rng.choice(["broadcast", "allgather", "allreduce", "reducescatter", "alltoall", "scatter", "reduce", "gather"])
    run("frontier", machine, name, "--max-chunks", rng.choice([1, 2, 3]), "--conflicts", 300, "--time-limit", 20, "--json", "r.json",
        code=(0, 2, 3, 20))
    if not (work / "r.json").exists():
        continue
    result = json.loads((work / "r.json").read_text())
    index, files = kept("r.json", "--conflicts", 100, "--plain-conflicts", 0, code=(0, 3))
    bounds = {at for at, claim in enumerate(result["claims"]) if claim["certificate"]["kind"] != "refutation"}
    assert {row["claim"] for row in index["proofs"] + index["left_out"]} == bounds, (index, bounds)
    left_out += [(result["claims"][row["claim"]]["certificate"]["kind"], row["why"]) for row in index["left_out"]]
    for row, opb, pbp in files:
        claim = result["claims"][row["claim"]]
        if claim["rounds"] is None:
            assert row["rounds"] is None and row["steps"] == claim["steps"]
        elif claim.get("any_chunks"):
            assert row["rounds"] == -(-claim["rounds"] * row["chunks"] // claim["chunks"]) - 1
        else:
            assert row["chunks"] == claim["chunks"] and row["rounds"] == claim["rounds"] - 1
        if len(opb) > 300_000:
            continue
        check(opb, pbp)
        judged += 1
        covered.add(claim["certificate"]["kind"])
        # With a round more it may be possible, and the sum of the cuts is no contradiction, unless less
        # was claimed than they show.
        if row["cuts"]:
            at = re.search(r"^(-1 r_.*>= -)(\d+) ;$", opb, re.M)
            tight += not accepts(opb.replace(at[0], f"{at[1]}{int(at[2]) + 1} ;"), pbp)
        for point in result["points"]:
            if point["does"] == {**result["collective"], "chunks": row["chunks"]} and claim["collective"] == point["does"]["collective"] \
                    and point["steps"] <= row["steps"]:
                if row["rounds"] is None or all(step["rounds"] <= row["rounds"] for step in point["schedule"]):
                    faults = broken(opb, true_of(point["schedule"], opb, row["steps"]))
                    # Where there is no schedule, some rule is broken.
                    assert not faults, (machine, name, row, faults[:3])
                    kept_rules += 1
    os.remove(work / "r.json")
assert judged > 250 and tight > 40 and kept_rules > 10 and {"distance", "weights", "trees", "cuts", "partition"} <= covered, (judged, tight, kept_rules, covered)

(work / "file").write_text("")
run("frontier", "ring:4", "allgather", "--json", "r.json")
refused("check", "r.json", "--pb", work / "file" / "x", says="cannot be made")
print(f"{judged} bounds accepted by a checker of pseudo-Boolean proofs, {tight} refused with a round more; {kept_rules} schedules keep all "
      f"rules; certificates: {', '.join(sorted(covered))}")
for kind, why in sorted(set(left_out)):
    print(f"left out: {kind}: {why}")
