#!/usr/bin/env python3
"""benchmarks/fabric: what it lays out, by what routes and with what predictions; and, where namespaces can be
made, that bytes stay on their links, that schedules run there, and that nothing is left, also after a
signal. No time is looked at.

Usage: fabric.py FABRIC_FOLDER CHORALE
"""
import json
import pathlib
import signal
import subprocess
import sys
import time

folder, chorale = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
sys.path.insert(0, str(folder))
import layout
import machine as machines
import network
import report


def refused(call, words):
    try:
        call()
    except machines.Refused as error:
        assert words in str(error), error
        return
    assert False, f"not refused: {words}"


# Routes: fewest hops first, then the widest. In both directions round the square 0-1-2-3 are two hops; over 3
# the narrowest link is 2 wide.
square = machines.described("square", 4, [(0, 1, 1), (1, 2, 4), (0, 3, 2), (3, 2, 2)])
assert machines.route(square, 0, 2) == [(0, 3), (3, 2)], machines.route(square, 0, 2)
assert machines.route(square, 0, 1) == [(0, 1)]
star = machines.NAMED["star8"]()
assert machines.route(star, 2, 5) == [(2, 8), (8, 5)]
two4 = machines.NAMED["two4"]()
assert machines.route(two4, 0, 7) == [(0, 3), (3, 4), (4, 7)]
refused(lambda: machines.described("apart", 4, [(0, 1, 1), (2, 3, 1)]), "no way from 0 to 2")
refused(lambda: machines.from_text({"topology": "hub", "ranks": 2, "limits": [{}], "links": []}), "shared limits")
refused(lambda: network.Network(machines.described("wide", 2, [(0, 1, 100)], unit=20)), "4000 Mbit/s")

# All send to rank 0 of the star: seven messages over its one unit. Round: one.
assert machines.fullest(star, [(i, 0, 10) for i in range(1, 8)]) == 70
assert machines.fullest(star, [(i, (i + 1) % 8, 10) for i in range(8)]) == 10
assert machines.fullest(two4, [(0, 1, 10), (0, 4, 10)]) == 10  # 0-3 has 2 units, the joint 1

# Two steps: a chunk of half a block over a link of 1, then two over one of 2, or routed.
result = {"topology": {"links": [{"src": 0, "dst": 1}, {"src": 3, "dst": 2}, {"src": 0, "dst": 2}]},
          "points": [{"chunks": 2, "schedule": [{"rounds": 1, "sends": [[0, 0, 1, 0]]},
                                                {"rounds": 1, "sends": [[0, 3, 2, 1], [1, 3, 2, 1]]},
                                                {"rounds": 1, "sends": [[0, 0, 2, 2], [1, 3, 2, 1]]}]}]}
assert abs(machines.predicted_us(square, result, 0, 1000, 5, 0.1) - (5 + 50 + 5 + 50 + 5 + 50)) < 1e-9

# The list of commands: a namespace a node and one for mpirun, a shaper at each end at its own rate, and every
# rank routed to all others.
commands = layout.make(two4, "t-")
text = "\n".join(" ".join(command.words) + "\n" + command.text for command in commands)
assert commands[0].text.count("netns add") == 9 and text.count("type veth peer name l") == 13
assert text.count("classid 1:2 htb rate 40000kbit") == 24 and text.count("classid 1:2 htb rate 20000kbit") == 2
assert text.count("route add") == 8 * 7 and "route add 10.99.0.8/32 via 10.99.0.4 dev l3 onlink src 10.99.0.1" in text
assert all("t-" in " ".join(command.words) for command in commands[1:]), "a command would change this machine's own network"

assert report.spearman([1, 2, 3], [10, 20, 30]) == 1 and report.spearman([1, 2, 3], [3, 2, 1]) == -1
assert report.spearman([1, 1], [1, 2]) is None and abs(report.spearman([1, 2, 3, 4], [1, 3, 2, 4]) - 0.8) < 1e-9
print("what is laid out is right")

reason = network.why_not()
if reason:
    print(f"SKIPPED: nothing was laid out: {reason}")
    sys.exit(77)
before = network.existing()
line = machines.described("line", 3, [(0, 1, 1), (1, 2, 1)], unit=50)
with network.Network(line) as fabric:
    at_start = fabric.carried()
    assert set(at_start) == {(0, 1), (1, 0), (1, 2), (2, 1)}, at_start
    out = fabric.mpirun([fabric.probe, "pingpong", "100000", "0-1"]).split()
    assert out[:3] == ["0", "1", "100000"], out
    moved = {link: bytes_ - at_start[link] for link, bytes_ in fabric.carried().items()}
    assert moved[0, 1] > 600000 and moved[1, 0] > 600000 and moved[1, 2] + moved[2, 1] < 60000, moved
    subprocess.run([chorale, "frontier", "line:3", "allreduce", "--max-chunks", "2", "-q", "--json", fabric.work / "f.json"], check=True)
    fabric.mpirun([chorale, "bench", "allreduce", "f.json", "mpi", "--all-points", "-b", "6K", "-e", "6K", "-n", "1", "-w", "0", "--json", "rows.json"])
    rows = json.loads((fabric.work / "rows.json").read_text())["rows"]
    assert len(rows) > 1 and all(row["wrong"] == 0 for row in rows), rows
    assert fabric.dropped() == 0
    try:
        fabric.mpirun(["sh", "-c", "exit 3"])
        assert False, "a failure went unnoticed"
    except network.Failed as error:
        assert "exit code" in str(error)
assert network.existing() == before, network.existing()

# Ended in the middle: all is taken down by the program itself.
running = subprocess.Popen([sys.executable, str(folder), chorale, "check", "--machines", "ring4", "--unit", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
mine = f"chf{running.pid}-"
for _ in range(600):
    if any(name.startswith(mine) for name in network.existing()) or running.poll() is not None:
        break
    time.sleep(0.05)
assert any(name.startswith(mine) for name in network.existing())
time.sleep(1)
running.send_signal(signal.SIGINT)
out, err = running.communicate(timeout=60)
assert running.returncode == 130 and "taken down" in err, (running.returncode, out, err)
assert network.existing() == before, network.existing()
print("and what was laid out carries what it should, and is gone")
