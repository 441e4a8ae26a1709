#!/usr/bin/env python3
"""Placement as a user runs it: the ranking, its JSON, its page. The strategies in the JSON are run here by
rules of their own (contributions as Python sets), so that neither the program nor its verifier is
believed.

Usage: place.py CHORALE EXAMPLES MPICXX FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import itertools
import json
import math
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, refused, run as run_other, run_chorale as run, work  # noqa: E402

examples = pathlib.Path(sys.argv[2]).resolve()
mpicxx, quick = sys.argv[3], [f"@{pathlib.Path(sys.argv[4]).resolve()}/quick17"]


def ranking(*arguments):
    run("place", *arguments, "--json", "p.json")
    return json.loads((work / "p.json").read_text())


def words_of(*arguments):
    return " ".join(run(*arguments).split())


def apply(state, operation, group):
    """state[device] = {chunk: set of contributors}, chunks without contributors left out."""
    held = [state[d] for d in group]
    first, size = held[0], len(group)
    if operation in ("AllReduce", "ReduceScatter", "Reduce"):
        assert all(h.keys() == first.keys() for h in held), "different chunks"
        total = {}
        for chunk in first:
            parts = [h[chunk] for h in held]
            total[chunk] = set().union(*parts)
            assert len(total[chunk]) == sum(map(len, parts)), "counted twice"
        if operation == "AllReduce":
            return [dict(total) for _ in group]
        if operation == "Reduce":
            return [total] + [{} for _ in group[1:]]
        assert len(total) % size == 0, "cannot be scattered"
        rows, each = sorted(total), len(total) // size
        return [{c: total[c] for c in rows[i * each:(i + 1) * each]} for i in range(size)]
    if operation == "AllGather":
        assert first and all(len(h) == len(first) for h in held), "unequal shares"
        merged = {}
        for h in held:
            assert not merged.keys() & h.keys(), "held twice"
            merged.update(h)
        return [dict(merged) for _ in group]
    assert operation == "Broadcast"
    assert all(h.get(c, set()) <= first.get(c, set()) for h in held for c in h), "loses something"
    return [dict(first) for _ in group]


def check(result):
    devices = 1
    for level in result["hierarchy"]["levels"]:
        devices *= level["fan_out"]
    axes = [axis["name"] for axis in result["job"]["axes"]]
    checked = 0
    for ranked in result["best"]:
        matrix = ranked["matrix"]
        for j, level in enumerate(result["hierarchy"]["levels"]):
            product = 1
            for row in matrix:
                product *= row[j]
            assert product == level["fan_out"], matrix

        def coordinates(device):
            """By axis: where the device lies on it."""
            result_ = [0] * len(matrix)
            digits = []
            for j in range(len(matrix[0]) - 1, -1, -1):
                for i in reversed(ranked["orders"][j] if "orders" in ranked else range(len(matrix))):
                    digits.append((j, i, device % matrix[i][j]))
                    device //= matrix[i][j]
            for j, i, digit in reversed(digits):
                result_[i] = result_[i] * matrix[i][j] + digit
            return result_

        for reduction, given in zip(ranked["reductions"], result["job"]["reductions"]):
            reduced = {axes.index(name) for name in given["axes"]}
            key = {d: tuple(c for i, c in enumerate(coordinates(d)) if i not in reduced) for d in range(devices)}
            for strategy in reduction["strategies"]:
                wanted_of = lambda d: {e for e in range(devices) if key[e] == key[d]}
                state = [{c: {d} for c in range(devices)} for d in range(devices)]
                if given["goal"] == "allgather":  # begins where the same, backwards, has scattered
                    for instruction in reversed(strategy["instructions"]):
                        for group in instruction["groups"]:
                            for d, held in zip(group, apply(state, "ReduceScatter", group)):
                                state[d] = held
                    assert all(len(held) * len(wanted_of(d)) == devices for d, held in enumerate(state))
                for instruction in strategy["instructions"]:
                    for group in instruction["groups"]:
                        for d, held in zip(group, apply(state, instruction["operation"], group)):
                            state[d] = held
                for d in range(devices):
                    wanted = wanted_of(d)
                    if given["goal"] == "reducescatter":  # parts, which make up the sum
                        assert sorted(c for e in wanted for c in state[e]) == list(range(devices)), (matrix, strategy, d)
                        assert all(contributors == wanted for contributors in state[d].values()), (matrix, strategy, d)
                        continue
                    assert all(state[d].get(c) == wanted for c in range(devices)), (matrix, strategy, d)
                assert abs(sum(i["us"] for i in strategy["instructions"]) - strategy["us"]) <= 1e-6 * strategy["us"]
                assert strategy["us"] <= reduction["allreduce_us"] * (1 + 1e-9) or strategy is not reduction["strategies"][0] or result["synthesis"] == "columns"
                checked += 1
    times = [ranked["us"] for ranked in result["best"]]
    assert times == sorted(times)
    return checked


checked = check(ranking("a100:2", "--axes", "data=4,tensor=8", "--reduce", "tensor", "--bytes", "1G", "--strategies", "6"))
checked += check(ranking("v100:2", "--axes", "a=2,b=4,c=2", "--reduce", "a,c", "--bytes", "1G", "--algo", "ring", "--strategies", "12"))
checked += check(ranking("rack:2x2x2x4", "--axes", "a=8,b=4", "--reduce", "a", "--bytes", "1M", "--rules", "paper", "--strategies", "3"))
checked += check(ranking("a100:4", "--job", str(examples / "gpt-22b.json")))
assert checked > 60, checked

# Table 4 of Xie et al. 2022, row G2: across nodes, ReduceScatter and AllGather beat the tree.
g2 = ranking("a100:4", "--axes", "a=4,b=16", "--reduce", "a", "--bytes", "2G", "--algo", "tree", "--rules", "paper")
worst = g2["best"][-1]
assert worst["matrix"] == [[4, 1], [1, 16]] and 1.2 < worst["allreduce_us"] / worst["us"] < 1.7, worst

# Conditions, and the same set by SAT; of strategies that take as long either may be first.
for extra in [[], ["--inside", "tensor=node"], ["--order", "tensor<data"], ["--memory", "node:tensor:10G:40G"]]:
    arguments = ["h100:8", "--axes", "data=4,pipeline=4,tensor=4", "--reduce", "tensor", "--bytes", "64M", "--top", "1000", *extra]
    one, two = ranking(*arguments), ranking(*arguments, "--engine", "sat")
    times = [[(m["matrix"], m["us"], m["reductions"][0]["programs"]) for m in r["best"]] for r in (one, two)]
    assert times[0] == times[1] and one["matrices"] == two["matrices"] > 0
    assert two["engine"] == "sat" and two["solver"]["complete"] and two["solver"]["nothing_longer"], two["solver"]
    assert "engine" not in one and "solver" not in one
    for ranked in one["best"]:
        data, _, tensor = ranked["matrix"]
        if "--inside" in extra:
            assert tensor == [1, 4]
        if "--order" in extra:
            assert not (tensor[0] > 1 and data[1] > 1)
        if "--memory" in extra:
            assert tensor[1] * 10 <= 40


# Each instruction is a call of a library and pays it; a strategy is the sum of its instructions, and the
# file has what a call costs.
asked = ("h100:2", "--axes", "data=2,tensor=8", "--reduce", "data", "--bytes", "1M", "--strategies", "50")
single = [ranking(*asked, "--call-us", us)["best"] for us in (0, 6.5)]
for free, called in zip(*(sorted(each, key=lambda m: m["matrix"]) for each in single)):
    assert abs(called["allreduce_us"] - free["allreduce_us"] - 6.5) < 1e-6, (free, called)
    for strategy in called["reductions"][0]["strategies"]:
        assert all(each["latency_us"] > 6.5 for each in strategy["instructions"]), strategy
        assert abs(strategy["us"] - sum(each["us"] for each in strategy["instructions"])) < 1e-6, strategy
run("check", "p.json")
assert "h100:2: 16 devices; a call costs 6.5 us; axes data 2" in run("place", *asked, "--call-us", 6.5).stdout

# Text, page, hierarchies, limits.
text = run("place", "a100:4", "--axes", "data=4,tensor=16", "--reduce", "tensor", "--bytes", "4G", "--explain", "--html", "p.html")
assert "[[4 1] [1 16]]" in text and "bound by" in text and "node port" in text and "all 3 matrices priced" in text, text
assert "3, tensor: 110 strategies of at most 5 instructions, " in " ".join(text.split()), text
page = (work / "p.html").read_text()
assert not re.search(r'(src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest', page)
assert json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])["matrices"] == 3
assert "h100:nodes" in run("hierarchy", "list")
(work / "mine.json").write_text(run("hierarchy", "show", "v100:2", "--json"))
assert "ring" in run("hierarchy", "show", "./mine.json")
by_name = ranking("v100:2", "--axes", "a=16", "--reduce", "a", "--bytes", "1G")
assert ranking("./mine.json", "--axes", "a=16", "--reduce", "a", "--bytes", "1G")["best"] == by_name["best"]
stopped = run("place", "pods:16x64x16", "--axes", "a=128,b=32,c=32", "--reduce", "a,c", "--bytes", "1G", "--time-limit", "1ms", code=3)
assert "stopped" in stopped, stopped
# What a solver has found until the limit is ranked, marked and accepted.
for engine in ("sat", "smt"):
    arguments = ("rack:2x2x2x4", "--axes", "a=8,b=4", "--reduce", "a", "--bytes", "1M", "--engine", engine)
    said = run("place", *arguments, "--time-limit", "1ms", "--json", "p.json", code=3)
    assert "unproven" in said and not json.loads((work / "p.json").read_text())["solver"]["complete"], said
    run("check", "p.json")
# Reductions over more levels than strategies are searched for: neighbouring ones are treated as one.
(work / "deep.json").write_text(json.dumps({"hierarchy": "deep", "levels": [
    {"name": f"l{i}", "fan_out": 2, "bandwidth_gbs": 10 * 2 ** i} for i in range(6)]}))
deep = ranking("./deep.json", "--axes", "a=64", "--reduce", "a", "--bytes", "1M")
(matrix,) = deep["best"]
levels = matrix["reductions"][0]["levels"]
assert deep["priced"] == 1 and len(levels) == 5 and [part for level in levels[1:] for part in level.split("+")] == [f"l{i}" for i in range(6)], levels
assert 0 < matrix["us"] <= matrix["allreduce_us"], matrix
# The order of axes inside of a level is chosen where it matters, and where not, it is as given.
for axes in ("a=2,b=4", "b=4,a=2"):
    text = run("place", "v100:1", "--axes", axes, "--reduce", "a", "--bytes", "1G", "--algo", "ring")
    assert "15.9 ms" in text and ("gpu by b then a" in text) == (axes == "a=2,b=4"), text
assert "orders" not in ranking("a100:1", "--axes", "a=2,b=8", "--reduce", "a", "--bytes", "1G")["best"][0]
# Nothing is scattered below an element.
for size, scattered in (("1", False), ("28", False), ("32", True)):
    best = ranking("h100:16", "--axes", "a=128", "--reduce", "a", "--bytes", size, "--rules", "full", "--strategies", "100")
    operations = {i["operation"] for s in best["best"][0]["reductions"][0]["strategies"] for i in s["instructions"]}
    assert ("ReduceScatter" in operations) == scattered, (size, operations)
# How many strategies there are (3 over one level, 47 over two: Xie et al. 2022), and how many are worth it.
counted = ranking("a100:4", "--axes", "a=4,b=16", "--reduce", "a", "--bytes", "1G", "--rules", "paper")
assert sorted(m["reductions"][0]["programs"] for m in counted["best"]) == [3, 3, 47]
assert all(0 <= m["reductions"][0]["faster"] < m["reductions"][0]["programs"] for m in counted["best"])
# Judged from the file alone: what was written is accepted and shown as it was printed; what was changed is
# refused in one line.
whole = ["rack:1x2x2x4", "--axes", "a=8,b=2", "--reduce", "a", "--bytes", "1M", "--strategies", "3", "--order", "b<a"]
printed = run("place", *whole, "--explain", "--json", "p.json")
assert "none is better" in run("check", "p.json")
assert printed.replace("wrote p.json", "").strip() == run("show", "p.json").strip(), printed
run("show", "p.json", "--html", "shown.html")
assert "<html" in (work / "shown.html").read_text()
honest = json.loads((work / "p.json").read_text())
for path, value in [(("best", 0, "us"), 1), (("best", 0, "matrix"), honest["best"][0]["matrix"][::-1]), (("matrices",), 7), (("synthesis",), "system"),
                    (("best", 0, "reductions", 0, "strategies", 0, "instructions", 0, "binding"), "nothing"),
                    (("best", 0, "reductions", 0, "strategies", 0, "instructions", 0, "slice"), "attic"),
                    (("best", 0, "reductions", 0, "strategies", 0, "instructions", 0, "groups", 0, 0), 99), (("chorale_ranking",), 9)]:
    forged = json.loads(json.dumps(honest))
    at = forged
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    (work / "forged.json").write_text(json.dumps(forged))
    refused("check", "forged.json", says="forged.json")
refused("check", "p.json", "--proofs", ".", says="is for results")
refused("show", "p.json", "--point", "0", says="is for results")
run("place", "a100:4", "--job", str(examples / "gpt-22b-sizes.json"), "--devices", "all", "--json", "p.json")
assert "their template is not in the file" in run("check", "p.json")
# Side by side: between the longest and the sum, and exactly these where nothing or everything is shared.
def job_of(*reductions, **sizes):
    (work / "job.json").write_text(json.dumps({"job": "j", "axes": [{"name": n, "size": s} for n, s in sizes.items()], "reductions": list(reductions)}))
    return "job.json"


(work / "two.json").write_text(json.dumps({"hierarchy": "two", "levels": [{"name": "node", "fan_out": 4, "bandwidth_gbs": 10},
                                                                          {"name": "gpu", "fan_out": 4, "bandwidth_gbs": 100, "exit": {"bandwidth_gbs": 50}}]}))
apart = [{"name": "g", "axes": ["a"], "bytes": 1e9}, {"name": "h", "axes": ["b"], "bytes": 2e9}]
alone = [ranking("./two.json", "--axes", "a=4,b=4", "--reduce", axis, "--bytes", size, "--inside", "b=node")["best"][0]["us"]
         for axis, size in (("a", "1000000000"), ("b", "2000000000"))]
for after, expected in ((None, sum(alone)), ([], max(alone)), (["g"], sum(alone))):
    second = apart[1] if after is None else apart[1] | {"after": after}
    best = ranking("./two.json", "--job", job_of(apart[0], second, a=4, b=4), "--inside", "b=node")["best"][0]
    assert abs(best["us"] - expected) < 1e-6 * expected, (after, best["us"], alone)
    assert ("one_by_one_us" in best) == (after is not None) and abs(best.get("one_by_one_us", sum(alone)) - sum(alone)) < 1e-6 * sum(alone)
    assert "priced again" in run("check", "p.json")
same = ranking("./two.json", "--job", job_of(apart[0], apart[0] | {"name": "again", "after": []}, a=4, b=4), "--inside", "b=node")["best"][0]
assert abs(same["us"] - 2 * alone[0]) < 1e-6 * alone[0] and [r["from_us"] for r in same["reductions"]] == [0, 0], same
text = run("place", "a100:4", "--job", str(examples / "overlap.json"), "--html", "side.html", "--json", "p.json")
assert "one by one" in text and "gradients, activations" not in text and "from 0 us to" in text and "at once" in text, text
assert "priced again" in run("check", "p.json")
forged = json.loads((work / "p.json").read_text())
forged["best"][0]["reductions"][1]["to_us"] *= 0.5
(work / "forged.json").write_text(json.dumps(forged))
refused("check", "forged.json", says="runs from")
for bad, why in (({"after": ["later"]}, "no reduction before this one"), ({"after": ["g", "g"]}, "twice"), ({"after": "g"}, "after")):
    refused("place", "./two.json", "--job", job_of(apart[0], apart[1] | bad, a=4, b=4), says=why)
# Over each of the four hierarchies: what there is, is right, and a richer one is never worse.
by_kind = {kind: ranking("a100:4", "--axes", "a=4,b=16", "--reduce", "a", "--bytes", "1G", "--synthesis", kind, "--strategies", "5")
           for kind in ("system", "columns", "rows", "reduction")}
assert [(k, r["without_strategy"], len(r["best"])) for k, r in by_kind.items()] == [("system", 2, 1), ("columns", 0, 3), ("rows", 0, 3), ("reduction", 0, 3)]
for kind, result in by_kind.items():
    checked += check(result)
    for placed_ in result["best"]:
        (reduction,) = placed_["reductions"]
        assert reduction["programs_over"][kind] == reduction["programs"] > 0 and list(reduction["programs_over"].values()) == sorted(reduction["programs_over"].values())
        better = next(m for m in by_kind["reduction"]["best"] if m["matrix"] == placed_["matrix"])
        assert better["us"] <= placed_["us"] * (1 + 1e-9)
assert "over the hierarchies: system 0, columns 30, rows 47, reduction 110" in " ".join(
    run("place", "a100:4", "--axes", "a=4,b=16", "--reduce", "a", "--bytes", "1G", "--explain").split())
refused("place", "a100:1", "--axes", "a=4,b=4", "--reduce", "a", "--bytes", "1G", "--synthesis", "system", says="no placement has a strategy")
(work / "bad.json").write_text(json.dumps({"job": "x", "axes": [{"name": "a", "size": 64}], "reductions": [{"axes": ["a"], "bytes": 8, "goal": "gossip"}]}))
# Other goals than a sum: parts of it, gathering them, all to all, and what pipelines do; a job may have all.
scatter, gather = (ranking("rack:1x2x2x4", "--axes", "a=8,b=2", "--reduce", "a", "--bytes", "1M", "--goal", goal, "--strategies", "20")
                   for goal in ("reducescatter", "allgather"))
checked += check(scatter) + check(gather)
assert [m["us"] for m in scatter["best"]] == [m["us"] for m in gather["best"]]
# Bytes of an allgather are what a device has in the end, as the help and the first lines have it: 16 devices
# receive 15/16 of them through ports of 270 GB/s, in a ring of 15 steps of 1 us.
whole = ranking("a100:1", "--axes", "a=16", "--reduce", "a", "--bytes", "1G", "--goal", "allgather")["best"][0]
assert abs(whole["us"] - (15 + 15 / 16 * 2**30 / 270e3)) < 1e-6, whole
assert "a 1 GiB on each device in the end, gathered over a" in words_of("place", "a100:1", "--axes", "a=16", "--reduce", "a", "--bytes", "1G", "--goal", "allgather")
unsplit = words_of("place", "a100:4", "--axes", "a=1,b=64", "--reduce", "a", "--bytes", "1G")
assert "nothing to send" in unsplit and "Steps" not in unsplit, unsplit
for command in ("place", "order"):
    assert "of an allgather what it has in the end" in " ".join(run(command, "--help").split()), command
assert any(len(m["reductions"][0]["strategies"]) > 1 and m["us"] < m["allreduce_us"] * 0.99 for m in scatter["best"])
hop = ranking("a100:4", "--axes", "a=4,b=16", "--reduce", "a", "--bytes", "8000", "--goal", "shift")["best"]
assert [m["matrix"] for m in hop][0] == [[1, 4], [4, 4]] and hop[-1]["matrix"] == [[4, 1], [1, 16]], hop
assert abs(hop[-1]["us"] - (5 + 16 * 8000 / 8e3)) < 1e-6, hop[-1]  # 16 GPUs send 8,000 bytes each by one NIC of 8 GB/s
everyone = ranking("a100:4", "--axes", "a=64", "--reduce", "a", "--bytes", "64000", "--goal", "alltoall")["best"][0]
assert abs(everyone["us"] - (5 + 16 * 48 * 1000 / 8e3)) < 1e-6, everyone
assert "stages" in run("place", "h100:128", "--job", str(examples / "gpt3-175b.json"), "--top", "1")
refused("place", "a100:4", "--job", "bad.json", says="is not known here")
refused("place", "a100:4", "--axes", "a=4,b=16", "--reduce", "a", "--bytes", "1G", "--order", "a<a", says="is on both sides")


def placed(matrix, orders, fan_outs):
    """The device at each place of the mesh of all axes, the last axis fastest; inside of a level, axes vary
    as in its order."""
    at = {}
    for device in range(math.prod(fan_outs)):
        coordinates, rest = [0] * len(matrix), device
        digits = []
        for fan_out in reversed(fan_outs):
            digits.insert(0, rest % fan_out)
            rest //= fan_out
        for level, digit in enumerate(digits):
            values = {}
            for axis in reversed(orders[level]):
                values[axis] = digit % matrix[axis][level]
                digit //= matrix[axis][level]
            for axis, value in values.items():
                coordinates[axis] = coordinates[axis] * matrix[axis][level] + value
        at[tuple(coordinates)] = device
    return [at[c] for c in itertools.product(*(range(math.prod(row)) for row in matrix))]


# What was chosen is handed on: the program compiles, runs and finds every sum right, and the orders are those
# of the matrix.
(work / "job.json").write_text(json.dumps({"job": "all", "axes": [{"name": "data", "size": 4}, {"name": "tensor", "size": 2}], "reductions": [
    {"name": "gradients", "axes": ["data"], "bytes": 1 << 20},
    {"name": "parts \"quoted\"", "axes": ["data"], "bytes": 1 << 20, "goal": "reducescatter"},
    {"name": "weights", "axes": ["data", "tensor"], "bytes": 1 << 20, "goal": "allgather"},
    {"name": "experts", "axes": ["tensor"], "bytes": 1 << 20, "goal": "alltoall"}]}))
run("place", "rack:1x2x2x2", "--job", "job.json", "--emit", "out", "--json", "p.json")
programs = sorted(path.name for path in (work / "out").glob("*.cpp"))
assert programs == [f"strategy_{i}_mpi.cpp" for i in range(3)], programs  # the fourth is an exchange, and has no strategy
for program, name in zip(programs, ("gradients", "parts  quoted ", "weights")):
    run_other(mpicxx, *(["-O1", "-std=c++17"] if program == programs[0] else quick), "-Wall", "-Wextra", "-Werror", program, "-o", "x", cwd=work / "out")
    for elements in ("1", "1001"):
        text = mpirun(8, "./x", elements, 1, cwd=work / "out")
        assert f", {name}: {elements} elements" in text and ", 0 wrong, 0 slots with ranks that differ" in text, text
best = json.loads((work / "p.json").read_text())["best"][0]
order = placed(best["matrix"], best.get("orders", [[0, 1]] * 4), [1, 2, 2, 2])
groups = json.loads((work / "out" / "groups.json").read_text())
assert groups["devices"] == order, (groups["devices"], order)
assert [c["name"] for c in groups["communications"]] == ["gradients", 'parts "quoted"', "weights", "experts"]
for file in ("jax_mesh.py", "torch_mesh.py"):
    said = {}
    exec((work / "out" / file).read_text(), said)
    assert said["ORDER"] == order and said["SHAPE"] == (4, 2) and said["AXES"] == ("data", "tensor"), said
ranks = [line.split() for line in (work / "out" / "rankfile").read_text().splitlines()]
assert [(r[1], r[2]) for r in ranks] == [(f"{i}=+n{d // 4}", f"slot={d % 4}") for i, d in enumerate(order)], ranks
assert "--tensor-model-parallel-size 2 --order tp-dp-cp-ep-pp" in (work / "out" / "megatron.txt").read_text()
# Sizes chosen, too: the example's formulas written again here, over every product.
template = str(examples / "gpt-22b-sizes.json")
chosen = ranking("a100:4", "--job", template, "--devices", "all", "--top", "1000")
fits = {}
for data, tensor, pipeline in itertools.product((1, 2, 4, 8, 16, 32, 64), repeat=3):
    if data * tensor * pipeline != 64 or 48 % pipeline:
        continue
    parameters = 12 * 48 * 6144 ** 2 + 51200 * 6144
    held, micro = parameters / (tensor * pipeline), 512 // data
    memory = 6 * held + 12 * held / data + 48 // pipeline * min(pipeline, micro) * 2048 * 6144 * (10 + 24 / tensor)
    if memory <= 72e9:
        fits[data, tensor, pipeline] = memory, 6 * parameters * 512 * 2048 / 64 / 140e6 * (micro + pipeline - 1) / micro
assert chosen["fitting"] == chosen["placed"] == len(fits) == len(chosen["sizes"]) < chosen["choices"], (chosen["fitting"], len(fits))
for each in chosen["sizes"]:
    memory, compute = fits[tuple(each["sizes"])]
    assert math.isclose(memory, each["memory_bytes"], rel_tol=1e-9) and math.isclose(compute, each["compute_us"], rel_tol=1e-9), each
totals = [each["compute_us"] + each["communication_us"] for each in chosen["sizes"]]
assert totals == sorted(totals)
assert [axis["size"] for axis in chosen["job"]["axes"]] == chosen["sizes"][0]["sizes"]
alone = ranking("a100:4", "--job", template, "--axes", "tensor=8,data", "--devices", "32")
assert [each["sizes"] for each in alone["sizes"]] == [[4, 8, 1]], alone["sizes"]
for words, said in ((("--axes", "tensor=128"), "more than the template's 64"), (("--axes", "experts"), "is not an axis"),
                    (("--devices", "24"), "do not fill whole units"), (("--reduce", "data"), "excludes --reduce"),
                    (("--axes", "data=3"), "no sizes multiply to 64 devices")):
    refused("place", "a100:4", "--job", template, *words, says=said)
refused("place", "a100:1", "--axes", "tensor", "--reduce", "tensor", "--bytes", "1G", says="has no size")
# A strategy of the user's own: the best one itself, a slower one, and one that is none.
flat = ("a100:4", "--axes", "data=64", "--reduce", "data", "--bytes", "1G")
for text, slower in (("(node, InsideGroup, ReduceScatter); (node, Parallel(root), AllReduce); (node, InsideGroup, AllGather)", 1),
                     ("(node, InsideGroup, Reduce); (node, Master(root), AllReduce); (node, InsideGroup, Broadcast)", 1.001)):
    first = ranking(*flat, "--strategy", text)["best"][0]["reductions"][0]
    assert first["own"]["us"] >= first["strategies"][0]["us"] * slower * (1 - 1e-9), first["own"]
    assert math.isclose(sum(each["us"] for each in first["own"]["instructions"]), first["own"]["us"])
partial = "(node, InsideGroup, Reduce); (node, Master(root), AllReduce)"
assert "fault" in ranking(*flat, "--strategy", partial)["best"][0]["reductions"][0]["own"]
assert "given strategy: not valid here" in run("place", *flat, "--strategy", partial)
refused("place", *flat, "--strategy", "(node, Inside, AllReduce)", says="has no form")
print(f"{checked} strategies run, all right")
