#!/usr/bin/env python3
"""Placements in sentences, and the placement of today: its notations against each other and against meshes
laid out here, its price against that of the same matrix among all, sentences against the JSON beside them,
files that claim something else, wrong input.

Usage: present.py CHORALE EXAMPLES
"""
import itertools
import json
import math
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

examples = pathlib.Path(sys.argv[2]).resolve()
random.seed(10)


def ranking(*arguments):
    text = run("place", *arguments, "--json", "p.json").stdout
    return text, json.loads((work / "p.json").read_text())


def mesh(sizes, order):
    """The device of each rank: ranks are numbered by `sizes` as given, devices by the axes in `order`, the
    first the slowest."""
    stride, strides = 1, {}
    for axis in reversed(order):
        strides[axis] = stride
        stride *= sizes[axis]
    return [sum(strides[axis] * digit for axis, digit in zip(sizes, digits)) for digits in itertools.product(*(range(n) for n in sizes.values()))]


def devices_of(ranked, job, hierarchy):
    """The same by the matrix and its orders, in the words of docs/placement.md."""
    levels, axes = [level["fan_out"] for level in hierarchy["levels"]], job["axes"]
    orders = ranked.get("orders") or [list(range(len(axes)))] * len(levels)
    result = []
    for coordinates in itertools.product(*(range(axis["size"]) for axis in axes)):
        # An axis is mixed radix over its factors, the outermost the slowest.
        digits = []
        for i, c in enumerate(coordinates):
            row = []
            for factor in reversed(ranked["matrix"][i]):
                row.append(c % factor)
                c //= factor
            digits.append(row[::-1])
        device = 0
        for j, fan_out in enumerate(levels):
            position = 0
            for axis in orders[j]:
                position = position * ranked["matrix"][axis][j] + digits[axis][j]
            device = device * fan_out + position
        result.append(device)
    return result


def factors_of(n, parts):
    if parts == 1:
        return [n]
    first = random.choice([d for d in range(1, n + 1) if n % d == 0])
    return [first] + factors_of(n // first, parts - 1)


def shape_of(ranked):
    """What two placements have in common that send the same: where only one axis splits a level, its order is
    nothing."""
    return ranked["matrix"], ranked.get("orders")


# -- random jobs ---------------------------------------------------------------------------------------------
for machine, total in (("a100:4", 64), ("v100:2", 16), ("h100:2", 16), ("rack:1x2x2x4", 16), ("dgx-a100:2", 16)):
    for _ in range(4):
        names = ["data", "pipeline", "tensor"][:random.choice((1, 2, 3))]
        sizes = dict(zip(names, factors_of(total, len(names))))
        order = random.sample(names, len(names))
        axes = ",".join(f"{name}={size}" for name, size in sizes.items())
        reduce = ",".join(random.sample(names, random.randint(1, len(names))))
        question = [machine, "--axes", axes, "--reduce", reduce, "--bytes", "64M", "--top", "1000"]
        text, by_order = ranking(*question, "--present", ",".join(order))
        listed = mesh(sizes, order)
        assert devices_of(by_order["present"], by_order["job"], by_order["hierarchy"]) == listed, (question, order)
        # The same as Megatron has it, and as a list of devices.
        if len(names) > 1:
            assert ranking(*question, "--present", "-".join(reversed(order)))[1]["present"] == by_order["present"]
        by_list = ranking(*question, "--present", ",".join(map(str, listed)))[1]["present"]
        assert devices_of(by_list, by_order["job"], by_order["hierarchy"]) == listed and math.isclose(by_list["us"], by_order["present"]["us"]), question
        # It costs what the same matrix costs, or more where another order of axes inside of a level is
        # better; none is better than the best.
        alike = next(each for each in by_order["best"] if each["matrix"] == by_order["present"]["matrix"])
        assert by_order["present"]["us"] >= alike["us"] * (1 - 1e-9) >= by_order["best"][0]["us"] * (1 - 1e-9), question
        if shape_of(alike) == shape_of(by_order["present"]):
            assert math.isclose(alike["us"], by_order["present"]["us"]) and alike["reductions"] == by_order["present"]["reductions"], question
        said = by_order["sentences"][-1]
        assert said.startswith("Present placement: "), said
        if "the best one" not in said and by_order["best"][0]["us"] > 0:
            assert f"{by_order['present']['us'] / by_order['best'][0]['us']:.2f}x the best" in said, said
        flat = " ".join(text.split())
        assert all(sentence in flat for sentence in by_order["sentences"]), (by_order["sentences"], text)
        # Where an axis lies, as the matrix has it.
        where = by_order["sentences"][0]
        for i, (name, size) in enumerate(sizes.items()):
            row = by_order["best"][0]["matrix"][i]
            part = re.search(rf"{name} \({size}\) (is not split|over [^;]*)", where)[1]
            numbers = [int(n) for n in re.findall(r"(?:the |over |times )(\d+) ", part)]
            assert sorted(numbers) == sorted(n for n in row if n > 1), (where, row)
            for level, factor in zip(by_order["hierarchy"]["levels"], row):
                if factor > 1:
                    word = level["name"].upper() if level["name"] in ("gpu", "cpu") else level["name"]
                    assert word in part, (where, level)
                    assert (f"the {factor} {word}" in part) == (factor == level["fan_out"]), (where, level)
        run("check", "p.json")

# -- order of axes inside of a level as given ----------------------------------------------------------------
ring = ["v100:1", "--axes", "a=2,b=4", "--reduce", "a", "--bytes", "1GB", "--algo", "ring"]
free, kept = (ranking(*ring, *more)[1]["best"][0] for more in ([], ["--given-order"]))
assert "orders" not in kept and kept["us"] > 10 * free["us"] and "orders" in free, (free["us"], kept["us"])
present = ranking(*ring, "--present", "a,b")[1]["present"]
assert math.isclose(present["us"], kept["us"]) and present["matrix"] == kept["matrix"]
assert math.isclose(ranking(*ring, "--present", "b,a")[1]["present"]["us"], free["us"])

# -- why, and by which algorithm -----------------------------------------------------------------------------
text, large = ranking("a100:4", "--axes", "data=4,tensor=16", "--reduce", "data", "--bytes", "1G", "--explain")
step = large["best"][0]["reductions"][0]["strategies"][0]["instructions"][0]
assert step["pattern"] in ("ring", "tree") and f"bound by {step['binding']}" in large["sentences"][1], large["sentences"]
assert f"{step['operation']} by" in large["sentences"][1]
for algorithm in ("ring", "tree"):
    one = ranking("a100:4", "--axes", "data=64", "--reduce", "data", "--bytes", "1K", "--algo", algorithm)[1]
    steps = one["best"][0]["reductions"][0]["strategies"][0]["instructions"]
    assert all(each["pattern"] == algorithm for each in steps if each["operation"] == "AllReduce"), steps
assert "bound by latency" in ranking("a100:4", "--axes", "data=64", "--reduce", "data", "--bytes", "4")[1]["sentences"][1]
for goal, pattern in (("alltoall", "all to all"), ("shift", "shift")):
    one = ranking("a100:2", "--axes", "e=32", "--reduce", "e", "--bytes", "1M", "--goal", goal)[1]
    assert one["best"][0]["reductions"][0]["exchange"]["pattern"] == pattern and pattern in one["sentences"][1], one["sentences"]
# The page shows them.
run("place", "a100:4", "--axes", "data=4,tensor=16", "--reduce", "data", "--bytes", "1G", "--present", "tensor,data", "--html", "p.html")
assert "Present placement: " in (work / "p.html").read_text()

# -- files that claim something else -------------------------------------------------------------------------
_, true = ranking("a100:4", "--axes", "data=4,tensor=16", "--reduce", "data", "--bytes", "1G", "--present", "tensor,data")
run("check", "p.json")
assert "Present placement: " in run("show", "p.json")
for change in (lambda r: r["present"].update(us=r["present"]["us"] / 2), lambda r: r["present"]["matrix"][0].__setitem__(0, 9),
               lambda r: r["present"]["reductions"][0]["strategies"][0]["instructions"][0].update(pattern="spell")):
    false = json.loads(json.dumps(true))
    change(false)
    (work / "false.json").write_text(json.dumps(false))
    done = run("check", "false.json", code=None)
    assert done.returncode != 0 and "placement present" in done, done
old = json.loads(json.dumps(true))
del old["present"], old["sentences"]
for matrix in old["best"]:
    for reduction in matrix["reductions"]:
        for strategy in reduction["strategies"]:
            for instruction in strategy["instructions"]:
                del instruction["pattern"]
(work / "old.json").write_text(json.dumps(old))
run("check", "old.json")  # files of before have none of it

# -- wrong input ---------------------------------------------------------------------------------------------
job = ["a100:4", "--axes", "data=4,tensor=16", "--reduce", "data", "--bytes", "1G", "--present"]
refused(*["place", *job, ""], says="--present")
for words, says in (("data", "does not name the axis 'tensor'"), ("data,tensor,data", "twice"), ("data,expert", "'expert' is not an axis"),
                    ("0,1,2", "does not list each of 64 devices once"), (",".join(["0"] * 64), "does not list each of 64 devices once"),
                    ("0,x", "is not an axis"), (",,", "is not a device"), (",".join(map(str, [1, 0, *range(2, 64)])), "is not a placement of axes over levels")):
    refused("place", *job, words, says=says)
refused("place", "rack:1x1x2x3", "--axes", "a=2,b=3", "--reduce", "a", "--bytes", "1M", "--present", "b,a", says="axis a would take 2 of 3 at the level gpu")
refused("place", "a100:4", "--job", examples / "gpt-22b-sizes.json", "--present", "data", says="whose sizes are given")
