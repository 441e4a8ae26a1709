"""Times by SimGrid are those that are predicted, on machines that nobody named: links of different rates and
latencies, parallel and one-way ones, limits over any of them. A platform that is wrong is noticed. Emitted
MPI programs run unchanged on the platform and check their own data. Without SimGrid only what is written is
looked at, and that it is missing is said.

usage: simulate.py CHORALE [SEED [MACHINES]]"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kit"))
from program import refused, run, run_chorale, skip, work  # noqa: E402

seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
machines = int(sys.argv[3]) if len(sys.argv) > 3 else 12
draw = random.Random(seed)
SIZES = "100,1K,100K,16M"


def random_machine(number):
    """A ring in a random order, so that all are reached, and links anywhere. Every second machine needs no
    relay: its links have one latency, and none are parallel."""
    ranks = draw.randint(2, 7)
    order = draw.sample(range(ranks), ranks)
    latencies, rates = [0.3, 1, 2.5, 7], [4e-5, 8e-5, 1.2e-4]
    same = number % 2 == 0
    ends = [(order[i], order[(i + 1) % ranks]) for i in range(ranks)]
    ends += [tuple(draw.sample(range(ranks), 2)) for _ in range(draw.randint(0, 2 * ranks))]
    ends = list(dict.fromkeys(ends)) if same else ends
    latency = draw.choice(latencies)
    links = [{"src": a, "dst": b, "bandwidth": draw.randint(1, 3), "alpha_us": latency if same else draw.choice(latencies + [0]),
              "beta_us_per_byte": draw.choice(rates[:2])} for a, b in ends]
    limits = [{"name": f"limit {k}", "bandwidth": draw.randint(1, 3),
               "links": sorted(draw.sample(range(len(links)), draw.randint(1, len(links))))} for k in range(draw.randint(0, 3))]
    for limit in limits:  # whole multiples of one rate
        if len({links[l]["beta_us_per_byte"] for l in limit["links"]}) > 1:
            for l in limit["links"]:
                links[l]["beta_us_per_byte"] = draw.choice([4e-5, 8e-5, 1.2e-4])
            links[limit["links"][0]]["beta_us_per_byte"] = 4e-5
    if len(limits) > 1:  # a link under several limits keeps a rate that suits all
        for link in links:
            link["beta_us_per_byte"] = 4e-5
    machine = {"topology": f"random {number}", "ranks": ranks, "links": links}
    if number % 3 == 1:  # both times have it
        machine["call_us"] = 6.5
    if limits:
        machine["limits"] = limits
    (work / f"machine{number}.json").write_text(json.dumps(machine))
    return f"machine{number}.json"


def result_of(machine, collective, name="f.json", *options):
    run_chorale("frontier", machine, collective, "--max-chunks", 3, "--time-limit", "1s", "--json", name, "-q", *options, code=(0, 3))
    return json.loads((work / name).read_text())


def off(rows):
    return max(abs(row["simulated_us"] / row["predicted_us"] - 1) for row in rows)


def replayed(folder):
    """Microseconds by smpirun, read here."""
    printed = run("sh", folder / "replay.sh")
    return float(re.search(r"Simulated time: (\S+) seconds", printed.stdout + printed.stderr).group(1)) * 1e6


def written(name="f.json", *options):
    shutil.rmtree(work / "out", ignore_errors=True)
    run_chorale("emit", name, "--target", "simgrid", "-o", "out", *options)
    return sorted((work / "out").iterdir())


# What is written, by anyone's reader of XML: a link a link, and of each limit one in the routes that it
# bounds.
(work / "three.json").write_text(json.dumps({
    "topology": "three", "ranks": 3, "links": [{"src": a, "dst": b, "alpha_us": 2, "bandwidth": 2} for a in range(3) for b in range(3) if a != b],
    "limits": [{"name": "out of 0", "links": [0, 1], "bandwidth": 3}]}))
result_of("three.json", "allgather")
first = written()[0]
platform = ET.parse(first / "platform.xml").getroot()
bandwidth = {link.get("id"): float(link.get("bandwidth").removesuffix("Bps")) for link in platform.iter("link")}
routes = {(route.get("src"), route.get("dst")): [each.get("id") for each in route] for route in platform.iter("route")}
assert bandwidth["link0"] == 2 / 4e-5 * 1e6 and bandwidth["limit0"] == 3 / 4e-5 * 1e6, bandwidth
assert routes["rank0", "rank1"] == ["link0", "limit0"] and routes["rank1", "rank0"] == ["link2", "unbounded"], routes
assert (first / "hosts").read_text().split() == ["rank0", "rank1", "rank2"]
assert (first / "traces").read_text().split() == ["rank0.trace", "rank1.trace", "rank2.trace"]

# What SimGrid cannot count is refused: a byte of one link counts 2.5 times under a limit.
three = json.loads((work / "three.json").read_text())
three["links"][0]["beta_us_per_byte"] = 1e-4
(work / "uneven.json").write_text(json.dumps(three))
result_of("uneven.json", "allgather", "uneven_f.json")
refused("emit", "uneven_f.json", "--target", "simgrid", "--point", 0, "-o", "none", says="takes 2.5 times")
refused("emit", "f.json", "--target", "mpi", "--bytes", "1K", says="--bytes")
for target in ("goal", "chakra", "simgrid"):  # as simulate
    refused("emit", "f.json", "--target", target, "--bytes", "0", says="0 is out of range")
refused("simulate", "f.json", "--sizes", "0", says="out of range")
refused("simulate", "f.json", "--point", "99", says="99")

# Without smpirun the package is named; one that fails is quoted.
(work / "bin").mkdir()
for tool in ("sh", "rm"):
    (work / "bin" / tool).symlink_to(shutil.which(tool))
alone = {"PATH": str(work / "bin")}
refused("simulate", "f.json", says="apt-get install libsimgrid-dev", env=alone)
(work / "bin" / "smpirun").write_text("#!/bin/sh\necho the platform is on fire >&2\nexit 1\n")
(work / "bin" / "smpirun").chmod(0o755)
for tool in ("wc", "dirname", "python3"):
    (work / "bin" / tool).symlink_to(shutil.which(tool))
refused("simulate", "f.json", says="the platform is on fire", env=alone)

# After Ctrl-C what was simulated is kept: here the first time, and then the simulator takes ten minutes.
(work / "bin" / "smpirun").write_text(f"#!/bin/sh\n[ ! -e {work}/first ] || {{ >{work}/second; sleep 600; }}\n>{work}/first\necho Simulated time: 0.5 seconds >&2\n")
(work / "bin" / "sleep").symlink_to(shutil.which("sleep"))
going = subprocess.Popen([os.path.abspath(sys.argv[1]), "simulate", "f.json", "--point", "0", "--sizes", "1K,2K", "--json", "cut.json"], cwd=work, env={**os.environ, **alone}, stdout=subprocess.PIPE, text=True)
while not (work / "second").exists():
    assert going.poll() is None, "over before the signal, which tests nothing"
    time.sleep(0.01)
going.send_signal(signal.SIGINT)
cut = going.communicate(timeout=300)[0]
assert "not all was simulated (interrupted)" in cut and going.returncode == 130, (going.returncode, cut)
assert [row["message_bytes"] for row in json.loads((work / "cut.json").read_text())["rows"]] == [1024], cut

if not shutil.which("smpirun"):
    skip("no SimGrid here (libsimgrid-dev): nothing was simulated")

refused("simulate", "uneven_f.json", says="takes 2.5 times")
refused("simulate", "f.json", says="TMPDIR", env={"TMPDIR": str(work / "not_there")})

# Random machines; beside the largest difference, how many have relays.
compared = relays = 0
collectives = ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "gather"]
for number in range(machines):
    machine, collective = random_machine(number), collectives[number % len(collectives)]
    result = result_of(machine, collective)
    if not any(point["on_frontier"] for point in result["points"]):
        continue
    run_chorale("simulate", "f.json", "--sizes", SIZES, "--json", "rows.json")
    rows = json.loads((work / "rows.json").read_text())["rows"]
    relays += any("relay" in name for name in (written()[0] / "hosts").read_text().split())
    compared += len(rows)
    assert rows and off(rows) < 0.01, f"seed {seed}, {machine}, {collective}: off by {100 * off(rows):.2f} %\n{rows}"
assert compared >= 8 * machines // 2 and 0 < relays < machines, (compared, relays)

# Machines with names: a torus, nodes with NICs, a hub, parallel links.
for machine, collective in [("torus:3x3", "allreduce"), ("dgx-a100:2", "alltoall"), ("hub:4", "allreduce"), ("dgx1", "broadcast")]:
    result_of(machine, collective)
    run_chorale("simulate", "f.json", "--sizes", SIZES, "--json", "rows.json")
    rows = json.loads((work / "rows.json").read_text())["rows"]
    assert rows and off(rows) < 0.01, f"{machine}, {collective}: off by {100 * off(rows):.2f} %\n{rows}"

# Transfers over many limits that begin and end at different times: SimGrid's lazy updates, its default, are 7
# % off here.
result_of("dgx2:2", "allreduce", "f.json", "--max-steps", 3)
run_chorale("simulate", "f.json", "--sizes", "256M", "--json", "rows.json")
rows = json.loads((work / "rows.json").read_text())["rows"]
assert len(rows) == 3 and off(rows) < 0.001, rows

# The time of a row is that of smpirun on what emit writes, and of the bus bandwidth.
result_of("ring:4", "allreduce")
point = written("f.json", "--bytes", "1M")[0]
run_chorale("simulate", "f.json", "--sizes", "1M", "--point", 0, "--json", "rows.json")
row = json.loads((work / "rows.json").read_text())["rows"][0]
right = replayed(point)
assert abs(right / row["simulated_us"] - 1) < 1e-5, (right, row)
assert abs(row["busbw_gbs"] / ((1 << 20) / right / 1e3 * 1.5) - 1) < 1e-4, row

# Mutants: a link of half the bandwidth or ten times the latency, and a limit that is not there.
text = (point / "platform.xml").read_text()
for what, wrong in [("bandwidth", re.sub(r'(id="link0" bandwidth=")([^B]+)', lambda m: m.group(1) + str(float(m.group(2)) / 2), text)),
                    ("latency", re.sub(r'(id="link0" .*latency=")([^u]+)', lambda m: m.group(1) + str(float(m.group(2)) * 10), text))]:
    assert wrong != text
    (point / "platform.xml").write_text(wrong)
    assert replayed(point) > 1.02 * right, f"half the {what} of a link is not noticed"
result_of("three.json", "allgather", "three_f.json")
point = written("three_f.json", "--bytes", "16M")[0]
right = replayed(point)
text = (point / "platform.xml").read_text()
(point / "platform.xml").write_text(text.replace('<link_ctn id="limit0"/>', '<link_ctn id="unbounded"/>'))
assert replayed(point) < 0.98 * right, "a limit that is not there is not noticed"

# A time limit ends smpirun, too, and keeps what is there.
result_of("dgx1", "alltoall")
cut = run_chorale("simulate", "f.json", "--sizes", "1M,64G", "--time-limit", "1ms", code=3)
assert "not all was simulated" in cut.stdout, cut

# Emitted programs on the platform, with data.
if shutil.which("smpicxx"):
    for machine, collective in [("dgx1", "allreduce"), ("ring:4", "alltoall")]:
        result_of(machine, collective)
        point = written()[0]
        run_chorale("emit", "f.json", "--target", "mpi", "--point", 0, "-o", "program")
        source = next((work / "program").glob("*.cpp"))
        run("smpicxx", "-O0", "-std=c++17", source, "-o", work / "program.x")
        options = re.findall(r"--cfg=\S+", (point / "replay.sh").read_text())
        ranks = json.loads((work / "f.json").read_text())["topology"]["ranks"]
        printed = run("smpirun", "-np", ranks, "-platform", point / "platform.xml", "-hostfile", point / "hosts", *options,
                      "--log=root.thresh:critical", work / "program.x", 1024, 2)
        assert " 0 wrong" in printed.stdout, printed
        source.unlink()
print(f"{compared} times on {machines} random machines, {relays} of them with relays")
