#!/usr/bin/env python3
"""Two machines or results side by side: bounds against those of 'chorale bounds', times against those of
other commands, random pairs of machines, the page and the figure, wrong input.

Usage: compare.py CHORALE EXAMPLES
"""
import json
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

examples = pathlib.Path(sys.argv[2]).resolve()
random.seed(281)
FACTOR = {"allreduce": lambda n: 2 * (n - 1) / n, "allgather": lambda n: (n - 1) / n, "reducescatter": lambda n: (n - 1) / n,
          "alltoall": lambda n: (n - 1) / n, "broadcast": lambda n: 1}
# Blocks of a message.
PARTS = {"allgather": lambda n: n, "reducescatter": lambda n: n, "alltoall": lambda n: n}


def compared(*arguments):
    text = run("compare", *arguments, "--json", "c.json").stdout
    return text, json.loads((work / "c.json").read_text())


def bus_bound(machine, collective):
    """GB/s by what 'chorale bounds' prints: rounds per chunk, and the beta of the machine."""
    text = run("bounds", machine, collective).stdout
    rounds = re.search(r"any chunk count: +(\S+) rounds a chunk|any chunk count: +(\S+) round", text)
    number = re.search(r"any chunk count: +(\d+)(?:/(\d+))?", text)
    assert rounds or number, text
    rate = int(number[1]) / int(number[2] or 1)
    graph = json.loads(run("topology", "show", machine, "--json").stdout)
    beta = {link["beta_us_per_byte"] for link in graph["links"]}
    assert len(beta) == 1
    n = graph["ranks"]
    us_per_byte = rate * beta.pop() / PARTS.get(collective, lambda n: 1)(n)
    return FACTOR[collective](n) / us_per_byte / 1e3, n


# -- machines by their bounds --------------------------------------------------------------------------------
text, both = compared("dgx-a100:2", "dgx-h100:2", "allgather", "--line-rates")
assert [side["out_gbs"] for side in both["sides"]] == [325, 500], both["sides"]  # NVLinks, and a NIC of 25 or 50
text, both = compared("ring:8", "full:8")
assert [side["out_gbs"] for side in both["sides"]] == [50, 175], both["sides"]
assert both["of"] == "machines" and not both["sizes"], both
assert [side["name"] for side in both["sides"]] == ["ring:8", "full:8"] and [side["ranks"] for side in both["sides"]] == [8, 8]
assert [each["collective"] for each in both["limits"][0]] == list(FACTOR)
for machine, limits in zip(("ring:8", "full:8"), both["limits"]):
    for each in limits:
        busbw, n = bus_bound(machine, each["collective"])
        assert abs(each["busbw_gbs"] - busbw) < 1e-3 * busbw, (machine, each, busbw)
        # Alphas of the farthest pair: half way round the ring, one hop where all are linked; a sum has to
        # come and to go.
        assert each["latency_us"] > 0 and each["steps"] >= (4 if machine == "ring:8" else 1), each
for words in ("Machines", "Bounds that no schedule can beat", "allreduce", "broadcast", "busbw GB/s A"):
    assert words in text, text

# -- at message sizes: what optimize finds on each
# ------------------------------------------------------------
text, both = compared("ring:4", "full:4", "AllReduce", "--sizes", "1K,64K,16M")
rows = both["sizes"][0]["rows"]
assert [row["message_bytes"] for row in rows] == [1 << 10, 64 << 10, 16 << 20] and both["sizes"][0]["collective"] == "allreduce"
for machine, side in (("ring:4", 0), ("full:4", 1)):
    run("optimize", machine, "allreduce", "--sizes", "1K,64K,16M", "--json", "o.json", code=(0, 3))
    for row, other in zip(rows, json.loads((work / "o.json").read_text())["rows"]):
        mine = row["sides"][side]
        assert abs(mine["us"] - other["us"]) < 0.02 * other["us"] and mine["bound_us"] <= mine["us"] * (1 + 1e-9), (machine, mine, other)
        assert abs(mine["busbw_gbs"] - row["message_bytes"] / mine["us"] / 1e3 * 1.5) < 1e-6 * mine["busbw_gbs"], mine
for row in rows:
    assert abs(row["speedup"] - row["sides"][0]["us"] / row["sides"][1]["us"]) < 1e-9 * row["speedup"]
least, most = min(row["speedup"] for row in rows), max(row["speedup"] for row in rows)
assert both["conclusions"][0].startswith(f"allreduce: full:4 is {least:.2f}x") and f"{most:.2f}x" in both["conclusions"][0], both["conclusions"]
assert "speedup" in text and both["conclusions"][0].split(",")[0] in text.replace("\n  ", " ")
# Reversed, ratios are.
_, back = compared("full:4", "ring:4", "allreduce", "--sizes", "1K,64K,16M")
for row, other in zip(rows, back["sizes"][0]["rows"]):
    assert abs(row["speedup"] * other["speedup"] - 1) < 0.05, (row, other)

# -- random pairs of random machines, files of their own -----------------------------------------------------
for _ in range(4):
    for name in ("a", "b"):
        n = random.choice((2, 3, 5))
        edges = {(i, (i + 1) % n) for i in range(n)} | {tuple(random.sample(range(n), 2)) for _ in range(n)}
        edges |= {(b, a) for a, b in edges}
        (work / f"{name}.json").write_text(json.dumps({"topology": name, "ranks": n, "links": [
            {"src": a, "dst": b, "bandwidth": random.choice((1, 2)), "alpha_us": 1.0, "beta_us_per_byte": 4e-5} for a, b in sorted(edges)]}))
    collective = random.choice(list(FACTOR))
    _, both = compared("./a.json", "./b.json", collective, "--sizes", "4K,4M", "--search-time", "1")
    for side, limits in enumerate(both["limits"]):
        busbw, n = bus_bound(f"./{'ab'[side]}.json", collective)
        assert abs(limits[0]["busbw_gbs"] - busbw) < 1e-3 * busbw, (collective, limits, busbw)
        for row in both["sizes"][0]["rows"]:
            assert row["sides"][side]["busbw_gbs"] <= busbw * (1 + 1e-6), (collective, row)
    assert bool(both["notes"]) == (both["sides"][0]["ranks"] != both["sides"][1]["ranks"]), both
# A machine with itself: no difference anywhere.
_, same = compared("./a.json", "./a.json", "broadcast", "--sizes", "1,1M", "--search-time", "1")
assert all(row["speedup"] == 1 for row in same["sizes"][0]["rows"]) and not same["notes"], same

# -- foreign files: options of the import are for these ------------------------------------------------------
_, both = compared(examples / "node.xml", "dgx-a100:1", "allgather", "--nodes", "2")
assert [side["ranks"] for side in both["sides"]] == [8, 8] and both["sides"][0]["levels"].startswith("2 node"), both["sides"]

# -- results -------------------------------------------------------------------------------------------------
run("frontier", "dgx1", "allgather", "--max-chunks", "1", "--json", "one.json")
run("frontier", "dgx1", "allgather", "--max-chunks", "6", "--json", "six.json")
text, both = compared("./one.json", "./six.json")
assert both["of"] == "results" and both["sides"][0]["machine"] == "dgx1" and both["sides"][0]["collective"] == "allgather"
for name, side in zip(("one", "six"), both["sides"]):
    result = json.loads((work / f"{name}.json").read_text())
    front = [p for p in result["points"] if p.get("on_frontier", True)]
    assert side["points"] == len(front) and side["proven"] == sum(p["proven"] for p in front), (side, len(front))
    assert side["search"].startswith("complete") == result["complete"], side
assert all(row["speedup"] >= 1 - 1e-9 for row in both["sizes"][0]["rows"]), "more chunks are slower"
_, at = compared("./one.json", "./six.json", "--sizes", "8K")
for side, name in zip(at["sizes"][0]["rows"][0]["sides"], ("one", "six")):
    run("show", f"./{name}.json", "--bytes", "8K", "--json", "s.json")
    shown = json.loads((work / "s.json").read_text())["rows"][0]
    assert abs(side["us"] - shown["us"]) < 1e-6 * shown["us"] and abs(side["bound_us"] - shown["least_us"]) < 1e-6, (side, shown)

# -- the page and the figure
# ----------------------------------------------------------------------------------
run("compare", "./one.json", "./six.json", "--html", "c.html", "--svg", "c.svg")
page, svg = (work / "c.html").read_text(), (work / "c.svg").read_text()
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
assert len(data["figures"]) == 1 and [t["title"] for t in data["tables"]] == ["Results", "allgather by message size"], data.keys()
assert "./one.json" in svg and "bound of ./six.json" in svg and "bus bandwidth" in svg
assert "http" not in re.sub(r"http://www.w3.org/\S+", "", page), "the page loads something from elsewhere"
# Names of machines are no markup.
(work / "evil.json").write_text((work / "a.json").read_text().replace('"topology": "a"', '"topology": "<img src=x>"'))
run("compare", "./evil.json", "ring:4", "broadcast", "--sizes", "1M", "--search-time", "1", "--html", "e.html", "--svg", "e.svg")
assert "<img" not in (work / "e.html").read_text() and "<img" not in (work / "e.svg").read_text()

# -- wrong input, least values, limits -----------------------------------------------------------------------
refused("compare", "dgx1", says="second")
refused("compare", "dgx1", "dgx9", says="dgx9")
refused("compare", "dgx1", "./one.json", says="is a machine, and the other is a result")
refused("compare", "./one.json", "./six.json", "allgather", says="results have a collective")
refused("compare", "./one.json", "./six.json", "--without-rank", "0", says="changes are for machines")
refused("compare", "dgx1", "ring:4", "nonsense", says="nonsense")
refused("compare", "dgx1", "ring:4", "--sizes", "x", says="--sizes")
refused("compare", "dgx1", "ring:4", "--svg", "x.svg", says="--svg: needs message sizes")
refused("compare", "dgx1", "ring:4", "--json", "-", "--html", "-", says="cannot hold two files")
refused("compare", "dgx1", "ring:4", "--nodes", "2", says="--nodes: is for files of other tools")
run("frontier", "ring:4", "broadcast", "--json", "b.json")
refused("compare", "./one.json", "./b.json", says="compare results of one collective")
run("place", "a100:1", "--axes", "d=16", "--reduce", "d", "--bytes", "1M", "--json", "p.json")
refused("compare", "./p.json", "dgx1", says="is a ranking of placements")
refused("compare", "./none.json", "dgx1", says="none.json")
_, zero = compared("ring:4", "ring:4", "allreduce", "--sizes", "0", "--search-time", "1ms")
assert zero["sizes"][0]["rows"][0]["message_bytes"] == 0
refused("compare", "ring:4", "ring:4", "allreduce", "--sizes", "0", "--svg", "z.svg", says="--svg")
done = run("compare", "torus:8x8", "mesh:8x8", "--sizes", "1K:1G:4", "--time-limit", "1", code=(0, 3))
assert "Machines" in done.stdout, done
