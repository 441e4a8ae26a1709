#!/usr/bin/env python3
"""What was once stated and was not so: each file of tests/data/repro and of its folder public, given to the
command that it is for, is refused in one line, or what comes out is right by verifier.py, by arithmetic that
is written here, or by the interpreter of tensor programs; and so is each of truth/, but for those that other
tests read.

Usage: repro.py CHORALE EXHAUSTIVE EMIT_RANDOM PRELOAD MPICC DATA      DATA: tests/data
What is missing is reported, and left out. A file that is not known here fails.
"""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit import program  # noqa: E402

import exhaustive
import verifier

chorale, search, emit_random, preload, mpicc = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:6]]
repro = pathlib.Path(sys.argv[6]).absolute() / "repro"
top = program.work
work = top / "a" / "b" / "c"  # what climbs out of it stays in `top`
work.mkdir(parents=True)
elsewhere = ("truth/optimize_nothing_better/", "truth/alltoallv_bound/")  # cli.optimize, property.claims; dispatch.*
inputs = [name for name in (path.relative_to(repro).as_posix() for path in sorted(repro.rglob("*")) if path.is_file()) if not name.startswith(elsewhere)]
for name in inputs:
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(repro / name, work / name)
os.environ["OMP_NUM_THREADS"] = "1"
truth = exhaustive.Exhaustive(search)
known, left_out = set(), []


def knows(command):
    known.update(word for word in map(str, command) if (repro / word).is_file())


def run(*command, codes=(0,), env=None):
    knows(command)
    done = program.run(*command, code=codes, cwd=work, env=env)
    return done.returncode, done.stdout, done.stderr


def refused(*command, says):
    knows(command)
    program.refused(*command, says=says, cwd=work)


def made(*command, codes=(0, 3)):
    """The result that a command writes, which is true."""
    (work / "r.json").unlink(missing_ok=True)
    run(chorale, *command, "--json", "r.json", codes=codes)
    result = json.loads((work / "r.json").read_text())
    said = verifier.verify(result, truth)
    assert not said.faults, (command, said.faults)
    return result


def say(name, words):
    print(f"{name}: {words}", flush=True)


# ---- Files that were believed. The formula of a refutation in x2.json is of sums in any order, which are not
# what is asked for now.
refused("check", "check_believes_switches.json", says="topology.underlay.multicast")
say("check_believes_switches.json", "refused")
refused("check", "x2.json", says="the formula of this claim has another SHA-256")
# Four steps over NICs, a fourth of 1 GiB over each link: what the schedule names takes 5.9 ms, and 11.8 was
# told.
x2 = json.loads((repro / "x2.json").read_text())
beta = max(link["beta_us_per_byte"] for link in x2["topology"]["links"])
best = min((p["rounds"] / p["chunks"], p["steps"]) for p in x2["points"])
us = best[0] * 2 ** 30 * beta + best[1] * max(link["alpha_us"] for link in x2["topology"]["links"])
time = re.search(r"^ *1 GiB +([0-9.]+) ms", run(chorale, "show", "x2.json", "--bytes", "1G")[1], re.M)
assert time and abs(float(time[1]) / (us / 1000) - 1) < 0.02, (time, us)
say("x2.json", f"check refuses it; 1 GiB takes {time[1]} ms, as the formula says")

for name in ("lib_broken_schedule.db", "lib_swapped.db", "lib_traversal.db"):
    code, _, errors = run(chorale, "library", "verify", name, codes=(2,))
    assert all(line.startswith("chorale: error: ") for line in errors.splitlines()), errors
    refusals = takes = 0
    file = sqlite3.connect(work / name)
    places = file.execute("SELECT machine, grp, collective, root FROM places").fetchall()
    file.close()
    for machine, group, collective, root in places:
        root = ["--root", root] if collective in verifier.ROOTED else []
        shutil.copyfile(repro / name, work / "taken.db")
        taking = [["library", "select", name, machine, collective, "--group", group, *root, "--bytes", "1K", "--json", "taken.json"],
                  ["library", "export", name, machine, collective, "--group", group, *root, "--as", "preload", "-o", "exported"]]
        if group == "all":
            taking.append(["frontier", machine, collective, *root, "--max-chunks", "2", "--conflicts", "50", "--library", "taken.db", "--json", "taken.json"])
        for command in taking:
            (work / "taken.json").unlink(missing_ok=True)
            shutil.rmtree(work / "exported", ignore_errors=True)
            code, _, errors = run(chorale, *command, codes=(0, 2, 3))
            refusals += code == 2
            assert code != 2 or len(errors.splitlines()) == 1, (command, errors)
            for path in [work / "taken.json"] * (work / "taken.json").exists() + sorted((work / "exported").rglob("*.json")):
                if code != 2:
                    said = verifier.verify(json.loads(path.read_text()), truth)
                    assert not said.faults, (command, said.faults)
                    takes += 1
    assert not [path for path in top.rglob("*PWNED*")] and refusals and takes, (name, refusals, takes)
    say(name, f"verify refuses it; of what is taken, {refusals} are refused, {takes} are true")

# ---- Machines that import wrote and its reader refused.
for name in ("imp_written_machine_refused_522.json", "imp_written_machine_refused_2169.json"):
    refused("topology", "import", name, "-o", "imported.json", says="out of range")
    assert not (work / "imported.json").exists()
    say(name, "refused")

# ---- Machines: each GPU of these has 18 NVLinks to switches, so one Allgather step of as many rounds as
# there are others.
for name, gpus in (("gb200.txt", 4), ("p5topo.txt", 8)):
    run(chorale, "topology", "import", name, "-o", "imported.json")
    machine = json.loads((work / "imported.json").read_text())
    links = [link for link in machine["links"] for _ in range(2 if link.get("both_ways") else 1)]
    assert machine["ranks"] == gpus and machine["switches"] == 1 and len(links) == 2 * gpus and len({link["bandwidth"] for link in links}) == 1, machine
    result = made("frontier", "imported.json", "allgather", "--time-limit", "10s")
    assert [(p["steps"], p["rounds"]) for p in result["points"] if p["on_frontier"]] == [(1, gpus - 1)] and result["complete"], result["points"]
    say(name, f"imported: {gpus} GPUs on a switch; its frontier is true")

# Two nodes of 8 H100, as imported and by hand: each NIC carries 1 GiB a fourth, in 5.9 ms, by NCCL's rings
# over all NICs, too.
for name in ("h100x2.json", "hand.json"):
    result = made("frontier", name, "allreduce", "--max-chunks", "1", "--time-limit", "1s")
    assert result["points"], name
    ring = made("classic", "multi_ring_allreduce", name)
    time = re.search(r"^ *1 GiB +([0-9.]+) ms", run(chorale, "show", "r.json", "--bytes", "1G")[1], re.M)
    assert time and abs(float(time[1]) / 5.9 - 1) < 0.05, (name, time)
    say(name, f"a frontier that is true; NCCL's rings take {time[1]} ms for 1 GiB")

# Of any number of chunks, the verifier counts sends for 20 s.
result = made("frontier", "twist4.json", "broadcast", "--max-chunks", "8", "--time-limit", "1s")
assert result["topology"]["ranks"] == 128 and result["points"], "twist4.json"
say("twist4.json", f"a broadcast in {min(p['steps'] for p in result['points'])} steps that is true")

# ---- Communications: what is found is true, and what is called complete is.
for name, machine in (("colag.json", "torus:4x4"), ("m2n.json", "mesh:8x8"), ("rowag.json", "mesh:8x8"), ("rowar.json", "mesh:8x8"),
                      ("subag.json", "mesh:8x8"), ("subar.json", "mesh:8x8")):
    # Of any number of chunks, schedules of 64 ranks have 700,000 sends, which the verifier counts for half a
    # minute each.
    result = made("frontier", machine, name, "--time-limit", "1s", *(["--max-chunks", "4"] if machine == "mesh:8x8" else []))
    assert result["points"], name
    say(name, f"on {machine}: {len(result['points'])} points that are true, {'' if result['complete'] else 'not '}complete")

run(chorale, "place", "a100:4", "--job", "job.json", "--top", "1", "--json", "p.json")
run(chorale, "check", "p.json")
assert json.loads((work / "p.json").read_text())["priced"] > 0
say("job.json", "placed, and check accepts it")

# ---- Tensor programs, compiled and run against the interpreter; one of them also as transformations make it.
programs = sorted(path.name for path in repro.glob("*.chorale"))
_, text, _ = run(chorale, "transform", "slice_reduce_by_reorder.chorale", "--apply", "split(sum, rs); reorder(sum; p_)")
(work / "reordered.chorale").write_text(text)
_, text, _ = run(emit_random, 2 * len(programs) + 2, 1, 2, "threads", "replicas", *programs, "reordered.chorale")
assert re.search(rf"seed 1: {2 * len(programs) + 2} programs, 0 refused, 0 differences", text), text
for name in programs:
    say(name, "compiled, twice, with other inputs and algorithms: what the interpreter says")

# ---- Replicas: bits of 8 processes that differ, under the preload with libraries of the machines where many
# did.
run(mpicc, "-O1", "-std=gnu11", "replica_bits.c", "-o", "replica_bits")
for machine, ranks in (("full:8", 8), ("dgx1", 8), ("ring:4", 4)):
    (work / "spec.json").write_text(json.dumps({"machines": [machine], "collectives": ["allreduce"], "max_chunks": 2, "conflicts": 300}))
    run(chorale, "library", "build", "spec.json", "-o", f"{ranks}{machine[:3]}.db", codes=(0, 3))
    _, out, log = run("mpirun", "--oversubscribe", "-n", ranks, "-x", f"LD_PRELOAD={preload}", "-x", "CHORALE_LOG", "-x", "CHORALE_ALGORITHMS", "./replica_bits",
                      env={"CHORALE_LOG": "1", "CHORALE_ALGORITHMS": str(work / f"{ranks}{machine[:3]}.db")})
    differing = re.findall(r"most elements that differ in bits from rank 0's: (\d+)", out)
    ours = sum(map(int, re.findall(r"(\d+) collectives by Chorale's algorithms", log)))
    assert differing == ["0"] * 4 and ours >= 4, (machine, out, log)
    say("replica_bits.c", f"under the preload with a library of {machine}: 0 differ, {ours} collectives were ours")

# ---- Optimizers: what PyTorch's say.
has_gloo = [python for python in (sys.executable, "/usr/bin/python3") if os.path.exists(python) and subprocess.run(
    [python, "-c", "import torch.distributed as d; assert d.is_gloo_available()"], capture_output=True).returncode == 0]
if has_gloo:
    python = {"PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python"), "CHORALE": chorale, "XDG_CACHE_HOME": str(work), "PATH": f"{pathlib.Path(chorale).parent}:{os.environ['PATH']}"}
    for name, said in (("resume.py", r"uninterrupted ([-0-9.]+)  resumed from state_dict ([-0-9.]+)"), ("none.py", r"FusedAdam ([-0-9.]+), torch Adam ([-0-9.]+)")):
        known.add(name)
        with open(work / "out", "w+") as out:
            ranks = [subprocess.Popen([has_gloo[0], name], cwd=work, stdout=out, stderr=subprocess.STDOUT, env={
                **os.environ, **python, "RANK": str(r), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}) for r in range(2)]
            codes = [each.wait(timeout=1000) for each in ranks]
            out.seek(0)
            text = out.read()
        numbers = re.search(said, text)
        assert numbers and abs(float(numbers[1]) - float(numbers[2])) < 1e-4, (name, codes, text)
        say(name, numbers[0])
else:
    known |= {"resume.py", "none.py"}
    left_out = ["resume.py", "none.py"]
    print("LEFT OUT: resume.py and none.py, since there is no PyTorch (Debian: python3-torch)")

# ---- Files of other tools: imported machines have frontiers that are true; the others are read, or refused
# in one line.
for name in ("gb300_tray.xml", "h100_vm.xml", "quad_mesh.txt", "rocm_hops_all_one.txt", "two_ranks_one_gpu.xml"):
    run(chorale, "topology", "import", f"public/{name}", "-o", "imported.json")
    result = made("frontier", "imported.json", "allgather", "--max-chunks", "4", "--time-limit", "1s")
    assert result["points"], name
    say(name, f"imported: {result['topology']['ranks']} GPUs; its frontier is true")
knows(["public/long_profile.py"])
(work / "profile.json").write_text(program.run(sys.executable, work / "public/long_profile.py", 200).stdout)
for command in (["topology", "import", "public/block.conf", "-o", "imported.json"], ["topology", "import", "public/topology.yaml", "-o", "imported.json"],
                *(["program", f"public/{name}"] for name in ("msccl_custom.xml", "port_channels.json", "two_phase_packets.json")),
                *(["optimize", "dgx-a100:1", "allreduce", "--search-time", "1", "--log", f"public/{name}"] for name in ("tagged.log", "nccl_tests_2021.log")),
                *(["job", name, "--search-time", "1"] for name in ("public/old_profile.json", "public/two_threads.log", "profile.json"))):
    code, out, errors = run(chorale, *command, codes=(0, 2, 3))
    assert code != 2 or not out and re.fullmatch("chorale: error: .*\n", errors), (command, out, errors)
    say(next(word for word in command if "." in word), "refused" if code == 2 else "read")

# ---- Cayley graphs of groups that are no products of cyclic ones: frontiers that are true, with the rates
# that were found on them.
for name, most in (("a4xz2.json", 20), ("a4xz2_5.json", 62 / 7), ("cay64.json", None)):
    result = made("frontier", f"truth/design_not_all_cayley/{name}", "alltoall", "--time-limit", "2s", *([] if most else ["--max-chunks", "1"]))
    least = min(p["rounds"] / p["chunks"] for p in result["points"])
    assert not most or least <= most + 1e-9 or not result["complete"], (name, least)
    say(name, f"an Alltoall of {least:.3f} rounds per chunk that is true")
# Names of macros of C, and escapes in a name.
run(chorale, "compile", "truth/macro_names/errno.chorale", "--machine", "hub:4", "--target", "threads", "-o", "errno")
run("make", "-C", "errno")
said = run(chorale, "library", "verify", "truth/library_escape/n.db", codes=(0, 2, 3))
assert "\x1b" not in said[1] + said[2], said
say("errno.chorale, n.db", "compiled; without an escape")
for name in ("decode.csv", "prefill.csv"):
    times = re.findall(r"^(?:plan|direct) +\S+ \S+ +([\d.]+) ", run(chorale, "alltoallv", f"truth/alltoallv_3.8_percent/{name}", "--nodes", "8")[1], re.M)
    assert len(times) == 2 and all(float(each) >= 1 for each in times), times
    say(name, f"planned within {times[0]} x the bound")

truth.close()
unknown = set(inputs) - known
assert not unknown, f"nothing is known of {sorted(unknown)}"
print(f"{len(known) - len(left_out)} files refused or right, {len(left_out)} left out")
