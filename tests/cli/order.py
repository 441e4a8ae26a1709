#!/usr/bin/env python3
"""The order of a job's nodes as a user asks for it: files that it writes, hosts of Slurm's lists, wrong
input; one case that is plain to see.

Usage: order.py CHORALE EXAMPLES
"""
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

examples = pathlib.Path(sys.argv[2]).resolve()

# Two switches of four hosts each, and two rings of four nodes, 1.5 MB a message: each ring fits below a
# switch, and then nothing is between switches. A switch has a link up of one node's rate. By name, two
# messages of each ring leave a switch; by switch, one of each.
(work / "two.conf").write_text("SwitchName=a Nodes=n[0-1,4-5]\nSwitchName=b Nodes=n[2-3,6-7]\nSwitchName=c Switches=a,b\n")
asked = ["order", "./two.conf", "--axes", "data=4,rest=2", "--node-ranks", "1", "--reduce", "data", "--bytes", "1000000", "--node-gbs", "10", "--taper", "4"]
run(*asked, "--json", "o.json", "--emit", "out")
read = json.loads((work / "o.json").read_text())
assert read["proven"] and read["bytes"] == 0 and abs(read["us"] - 1.5 * 1000000 / 10e3) < 1e-6, read
# Node 2d + r is of ring r: even nodes on one switch, odd ones on the other.
assert len(set(read["switches"][0::2])) == 1 and len(set(read["switches"][1::2])) == 1, read
assert [(each["name"], round(each["us"] / read["us"], 9), each["bytes"]) for each in read["others"]] == [
    ("alphabetical", 4, 16 * 1.5e6), ("by switch", 2, 8 * 1.5e6)], read
hosts = (work / "out/hosts").read_text().split()
assert hosts == read["hosts"] and sorted(hosts) == [f"n{i}" for i in range(8)]
assert (work / "out/slurm_hostfile").read_text().split() == hosts
assert (work / "out/rankfile").read_text().splitlines() == [f"rank {i}={host} slot=0" for i, host in enumerate(hosts)]
assert json.loads((work / "out/mesh.json").read_text())["hosts_of_ranks"] == hosts

# With two ranks per node, the rest is inside: one ring of four of the hosts.
few = ["order", "./two.conf", "--hosts", "n[0,2-3],n6", "--axes", "data=4,rest=2", "--node-ranks", "2", "--reduce", "data", "--bytes", "1M"]
text = run(*few, "--emit", "few").stdout
assert "4 nodes of 2 ranks" in text and "no order takes less time" in text, text
assert sorted(set((work / "few/slurm_hostfile").read_text().split())) == ["n0", "n2", "n3", "n6"]
assert len((work / "few/rankfile").read_text().splitlines()) == 8
run("order", examples / "topology.conf", "--hosts", "n[01-03,09-13]", "--job", examples / "order.json", "--taper", "8")

refused(*few[:2], "--hosts", "n[0-3", *few[4:], says="bracket")
refused(*few[:2], "--hosts", "n0,n0,n1,n2", *few[4:], says="listed twice")
refused(*few[:2], "--hosts", "n[0-2],x", *few[4:], says="host x is not in")
refused(*few[:2], "--hosts", "n[0-2]", *few[4:], says="has 3 hosts")
refused(*asked[:-1], "0.5", says="--taper")
refused(*asked, "--node-ranks", "3", says="node-ranks")
refused("order", "./o.json", *asked[2:], says="topology.conf")
refused("order", "./two.conf", "--axes", "data=8", "--node-ranks", "1", says="--reduce")
