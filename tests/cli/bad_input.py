#!/usr/bin/env python3
"""What users get wrong: one clear line on standard error, exit code 2, nothing on standard output, nothing written.

Usage: bad_input.py CHORALE
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

chorale = pathlib.Path(sys.argv[1]).resolve()
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_bad_input_"))

LINK = {"src": 0, "dst": 1, "bandwidth": 1, "alpha_us": 1, "beta_us_per_byte": 4e-05}
BACK = {"src": 1, "dst": 0, "bandwidth": 1, "alpha_us": 1, "beta_us_per_byte": 4e-05}
PAIR = {"topology": "pair", "ranks": 2, "switches": 0, "links": [LINK, BACK], "limits": []}


def chorale_runs(*arguments):
    done = subprocess.run([str(chorale), *arguments], capture_output=True, text=True, cwd=work, timeout=120)
    return done


def machine(**changes):
    return json.dumps({**PAIR, **changes})


def link(**changes):
    return machine(links=[{**LINK, **changes}, BACK])


# A sound result, and what can be done to it.
made = chorale_runs("frontier", "ring:4", "allgather", "--max-chunks", "2", "--json", "good.json")
assert made.returncode == 0, made.stderr
assert chorale_runs("check", "good.json").returncode == 0
good_text = (work / "good.json").read_text()
good = json.loads(good_text)


def result(change):
    changed = copy.deepcopy(good)
    change(changed)
    return json.dumps(changed)


def drop_send(r):
    r["points"][0]["schedule"][0]["sends"].pop()


def double_send(r):
    sends = r["points"][0]["schedule"][0]["sends"]
    sends.append(sends[-1])


def swap_link(r):
    sends = r["points"][0]["schedule"][0]["sends"]
    sends[0][3] = (sends[0][3] + 1) % len(r["topology"]["links"])


def fewer_rounds(r):
    r["points"][0]["schedule"][0]["rounds"] = 0


def cheaper(r):
    r["points"][0]["rounds"] -= 1


def claim_more(r):
    claim = next(c for c in r["claims"] if c["certificate"]["kind"] == "weights")
    claim["rounds"] += 1


def falsely_proven(r):
    r["claims"] = []


# Machines: file text, what the message must name.
machines = {
    "empty file": ("", "json"),
    "not JSON": ("{ ranks: 2", "json"),
    "cut short": (machine()[:60], "json"),
    "trailing text": (machine() + "x", "json"),
    "a list": ("[]", "object"),
    "NaN bandwidth": (machine().replace('"bandwidth": 1', '"bandwidth": NaN', 1), ""),
    "NaN alpha": (machine().replace('"alpha_us": 1', '"alpha_us": NaN', 1), ""),
    "infinite beta": (machine().replace("4e-05", "1e999", 1), "number"),
    "bandwidth 0": (link(bandwidth=0), "bandwidth"),
    "bandwidth negative": (link(bandwidth=-3), "bandwidth"),
    "bandwidth huge": (link(bandwidth=10**30), "bandwidth"),
    "bandwidth a fraction": (link(bandwidth=1.5), "bandwidth"),
    "bandwidth text": (link(bandwidth="fast"), "bandwidth"),
    "alpha negative": (link(alpha_us=-1), "alpha"),
    "beta zero": (link(beta_us_per_byte=0), "beta"),
    "source out of range": (link(src=7), "src"),
    "source negative": (link(src=-1), "src"),
    "link to itself": (link(dst=0), "links[0]"),
    "no ranks": (machine(ranks=0), "ranks"),
    "a billion ranks": (machine(ranks=10**9), "ranks"),
    "unknown field": (machine(colour="red"), "colour"),
    "missing field": (json.dumps({k: v for k, v in PAIR.items() if k != "ranks"}), "ranks"),
    "limit over an unknown link": (machine(limits=[{"name": "nic", "links": [9], "bandwidth": 1}]), "limits[0]"),
    "disconnected": (machine(ranks=3), "no path"),
    "one way only": (machine(links=[LINK]), "no path"),
}
# Command lines, what the message must name.
lines = {
    "no such command": (["conduct"], "conduct"),
    "no command": ([], ""),
    "unknown machine": (["frontier", "dgx9", "allgather"], "dgx9"),
    "machine without its number": (["frontier", "ring", "allgather"], "ring"),
    "machine of no ranks": (["frontier", "ring:0", "allgather"], "ring:0"),
    "machine of too many ranks": (["frontier", "full:99999999999", "allgather"], "full:"),
    "unknown collective": (["frontier", "dgx1", "allscatter"], "allscatter"),
    "0 chunks": (["frontier", "dgx1", "allgather", "--max-chunks", "0"], "--max-chunks"),
    "negative chunks": (["synthesize", "dgx1", "allgather", "--chunks", "-1"], "--chunks"),
    "chunks a word": (["synthesize", "dgx1", "allgather", "--chunks", "many"], "--chunks"),
    "huge chunks": (["synthesize", "dgx1", "allgather", "--chunks", "99999999999999999999"], "--chunks"),
    "root out of range": (["synthesize", "ring:4", "broadcast", "--root", "4"], "root"),
    "root negative": (["synthesize", "ring:4", "broadcast", "--root", "-1"], "root"),
    "0 steps": (["synthesize", "ring:4", "broadcast", "--steps", "0"], "--steps"),
    "time limit of nothing": (["frontier", "ring:4", "broadcast", "--time-limit", "0"], "--time-limit"),
    "alpha NaN": (["frontier", "ring:4", "broadcast", "--alpha", "nan"], "--alpha"),
    "unknown engine": (["synthesize", "ring:4", "broadcast", "--engine", "gurobi"], "gurobi"),
    "unknown option": (["frontier", "ring:4", "broadcast", "--faster"], "--faster"),
    "output into no folder": (["frontier", "ring:4", "broadcast", "--json", "nowhere/f.json"], "nowhere"),
    "no such file": (["check", "missing.json"], "missing.json"),
    "a folder": (["check", "."], "."),
    "run size a word": (["run", "good.json", "--bytes", "big"], "--bytes"),
    "run no such point": (["run", "good.json", "--point", "99"], "99"),
    "run type": (["run", "good.json", "--type", "quad"], "quad"),
    "mpi without mpirun": (["run", "good.json", "--transport", "mpi"], "mpirun"),
    "classic unknown": (["classic", "ring_allfoo", "ring:4"], "ring_allfoo"),
}
# Results, what the message must name; `check` and `run` both refuse, but what only proofs show `run` need not see.
results = {
    "truncated": (good_text[: len(good_text) // 2], "json", True),
    "not a result": (machine(), "", True),
    "a newer version": (result(lambda r: r.update(chorale_result=99)), "version", True),
    "one send removed": (result(drop_send), "points[0]", True),
    "one send twice": (result(double_send), "points[0]", True),
    "one send elsewhere": (result(swap_link), "points[0]", True),
    "a step of 0 rounds": (result(fewer_rounds), "rounds", True),
    "a cost that is not the schedule's": (result(cheaper), "points[0]", True),
    "a bound that is too strong": (result(claim_more), "claim", False),
    "proven without proof": (result(falsely_proven), "points[0]", False),
}

faults, cases = [], 0


def expect(name, arguments, word):
    global cases
    cases += 1
    before = {p: p.stat().st_mtime_ns for p in work.rglob("*")}
    done = chorale_runs(*arguments)
    said = done.stderr
    problems = []
    if done.returncode != 2:
        problems.append(f"exit code {done.returncode}")
    if said.count("\n") != 1 or not said.endswith("\n"):
        problems.append(f"{said.count(chr(10))} lines on standard error")
    if not said.startswith("chorale: error: "):
        problems.append("no 'chorale: error: '")
    if word.lower() not in said.lower():
        problems.append(f"does not name '{word}'")
    if done.stdout:
        problems.append("writes to standard output")
    if before != {p: p.stat().st_mtime_ns for p in work.rglob("*")}:
        problems.append("writes a file")
    if len(said) > 600:
        problems.append("is long")
    if problems:
        faults.append(f"{name}: {', '.join(problems)}: {' '.join(arguments)}\n  {said.strip()[:300]}")


for name, (text, word) in machines.items():
    (work / "machine.json").write_text(text)
    expect(name, ["frontier", "machine.json", "allgather", "--json", "out.json"], word)
for name, (arguments, word) in lines.items():
    expect(name, arguments, word)
for name, (text, word, for_all) in results.items():
    (work / "bad.json").write_text(text)
    expect(name, ["check", "bad.json"], word)
    if for_all:
        expect(name + " (run)", ["run", "bad.json"], word)
        expect(name + " (show)", ["show", "bad.json", "--html", "page.html"], word)

print("\n".join(faults) or f"{cases} cases, each refused in one line")
sys.exit(1 if faults or cases < 25 else 0)
