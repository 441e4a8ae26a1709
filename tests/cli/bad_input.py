#!/usr/bin/env python3
"""What users get wrong: one clear line on standard error, exit code 2, nothing on standard output, nothing
written.

Usage: bad_input.py CHORALE
"""
import copy
import json
import pathlib
import resource
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale, work  # noqa: E402

LINK = {"src": 0, "dst": 1, "bandwidth": 1, "alpha_us": 1, "beta_us_per_byte": 4e-05}
BACK = {"src": 1, "dst": 0, "bandwidth": 1, "alpha_us": 1, "beta_us_per_byte": 4e-05}
PAIR = {"topology": "pair", "ranks": 2, "switches": 0, "links": [LINK, BACK], "limits": []}


def machine(**changes):
    return json.dumps({**PAIR, **changes})


def link(**changes):
    return machine(links=[{**LINK, **changes}, BACK])


# A sound result, and what can be done to it.
run_chorale("frontier", "ring:4", "allgather", "--max-chunks", "2", "--json", "good.json")
run_chorale("check", "good.json")
run_chorale("classic", "ring_allreduce", "ring:3", "--json", "sum.json")
(work / "full3.json").write_text(json.dumps({"topology": "full", "ranks": 3, "links": [{"src": a, "dst": b} for a in range(3) for b in range(3) if a != b]}))
run_chorale("frontier", "full3.json", "allreduce", "--max-steps", "1", "--json", "at_once.json")
at_once = (work / "at_once.json").read_text()  # rank 2 adds what comes from 0 and 1 first, then its own
(work / "unstated.json").write_text(at_once.replace(',"sums":[[0,2,"(0 1 2)"]]', ""))  # as older files are
assert '"sums":[[0,2,"(0 1 2)"]]' in at_once and run_chorale("check", "at_once.json") and run_chorale("check", "unstated.json")
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


def huge(r):
    r["topology"].update(ranks=4096)
    what = {"collective": "reducescatter", "chunks": 2, "root": 0}
    r.update(collective=what, claims=[], complete=False)
    r["space"]["max_chunks"] = 2
    r["points"] = [{**r["points"][0], "bound": [0, 1], "gap": 0, "steps": 0, "rounds": 0, "chunks": 2, "does": what, "schedule": [], "proven": False}]


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
    "a device": (["check", "/dev/zero"], "is a device"),
    "a machine of 10^12 ranks": (["frontier", "torus:1000000x1000000", "allgather"], "torus:1000000x1000000"),
    "a machine of more ranks than an integer": (["place", "pods:2147483647x2147483647x2147483647", "--axes", "a=8", "--reduce", "a", "--bytes", "1M"], "2^20 nodes"),
    "axes of 2^192": (["place", "h100:1", "--axes", ",".join(f"a{i}=16777216" for i in range(8)), "--reduce", "a0", "--bytes", "1M"], "multiply"),
    "run size a word": (["run", "good.json", "--bytes", "big"], "--sizes"),
    "run no such point": (["run", "good.json", "--point", "99"], "99"),
    "run type": (["run", "good.json", "--type", "quad"], "quad"),
    "mpi without mpirun": (["run", "good.json", "--transport", "mpi"], "mpirun"),
    "float32 sums of what is not added": (["run", "good.json", "--type", "half", "--accumulate", "float32"], "adds nothing"),
    "float32 sums of no halves": (["run", "sum.json", "--accumulate", "float32"], "--type half"),
    "a wire of what is not added": (["run", "good.json", "--wire", "bf16"], "--wire: allgather adds nothing"),
    "a wire of partial sums": (["run", "sum.json", "--wire", "bf16"], "use a schedule of --sum once"),
    "a wire of halves": (["run", "at_once.json", "--wire", "fp16", "--type", "half"], "--wire: is for float32, not float16"),
    "a wire of kernels": (["run", "sum.json", "--wire", "fp16", "--transport", "kernel"], "--wire: blocks and kernels of --transport kernel"),
    "accumulation of a word": (["run", "sum.json", "--accumulate", "double"], "double"),
    "classic unknown": (["classic", "ring_allfoo", "ring:4"], "ring_allfoo"),
}
# Results, what the message must name; `check` and `run` both refuse, but what only proofs show `run` need not
# see.
results = {
    "truncated": (good_text[: len(good_text) // 2], "json", True),
    "XML": ("<!-- of a machine -->\n<system version='1'/>", "NCCL's description of a machine", True),
    "an MSCCL algorithm": ("<algo name='x'/>", "'chorale program FILE'", True),
    "a program": ("\x7fELF\0\0", "is a program", True),
    "nothing": ("", "is empty", True),
    "a million chunks a block": (result(lambda r: r["points"][0].update(chunks=10**9)), "is the most", True),
    "more ranks than a state has room for": (result(huge), "points[0]", True),
    "not a result": (machine(), "", True),
    "a newer version": (result(lambda r: r.update(chorale_result=99)), "version", True),
    "one send removed": (result(drop_send), "points[0]", True),
    "one send twice": (result(double_send), "points[0]", True),
    "one send elsewhere": (result(swap_link), "points[0]", True),
    "a step of 0 rounds": (result(fewer_rounds), "rounds", True),
    "a cost that is not the schedule's": (result(cheaper), "points[0]", True),
    "a bound that is too strong": (result(claim_more), "claim", False),
    "proven without proof": (result(falsely_proven), "points[0]", False),
    **{f"sums {wrong}": (at_once.replace('[0,2,"(0 1 2)"]', wrong), word, True) for wrong, word in (
        ('[0,2,"(0 2 1)"]', "is not how the ranks add"), ('[0,1,"(0 1 2)"]', "is not how the ranks add"), ('[9,2,"(0 1 2)"]', "is not how"), ("[0,2]", "is not a sum"),
        ("[0,2,7]", ""), ("7", ""))},
}

# Hierarchies, axes and jobs.
LEVEL = {"name": "node", "fan_out": 2, "bandwidth_gbs": 8}
GPUS = {"name": "gpu", "fan_out": 4, "bandwidth_gbs": 100}


def hierarchy(**changes):
    return json.dumps({"hierarchy": "mine", "node": 1, "levels": [{**LEVEL, **changes}, GPUS]})


def job(**changes):
    reduction = {"name": "sum", "axes": ["a"], "bytes": 1e6, "times": 1, **changes}
    return json.dumps({"job": "j", "axes": [{"name": "a", "size": 8}], "reductions": [reduction]})


hierarchies = {
    "zero bandwidth": (hierarchy(bandwidth_gbs=0), "levels[0].bandwidth_gbs"),
    "NaN bandwidth": (hierarchy(bandwidth_gbs=0).replace(": 0,", ": NaN,").replace(": 0}", ": NaN}"), "hierarchy.json"),
    "negative bandwidth": (hierarchy(bandwidth_gbs=-1), "levels[0].bandwidth_gbs"),
    "infinite bandwidth": (hierarchy(bandwidth_gbs=0).replace(": 0,", ": 1e999,").replace(": 0}", ": 1e999}"), "hierarchy.json"),
    "no bandwidth": (json.dumps({"hierarchy": "h", "levels": [{"name": "a", "fan_out": 8}]}), "'bandwidth_gbs' is missing"),
    "zero fan-out": (hierarchy(fan_out=0), "levels[0].fan_out"),
    "too many devices": (hierarchy(fan_out=1 << 20) .replace('"fan_out": 4', '"fan_out": 1048576'), "devices"),
    "one name twice": (hierarchy(name="gpu"), "levels[1].name"),
    "unknown shape": (hierarchy(shape="star"), "levels[0].shape"),
    "detour in a switch": (hierarchy(detour={"bandwidth_gbs": 1}), "levels[0].detour"),
    "host of a switch": (hierarchy(host={"uplink": {"bandwidth_gbs": 1}, "socket": {"bandwidth_gbs": 1}}), "levels[0].host"),
    "host and exit": (hierarchy(shape="ring", exit={"bandwidth_gbs": 1}, host={"uplink": {"bandwidth_gbs": 1}, "socket": {"bandwidth_gbs": 1}}),
                      "levels[0].host"),
    "uplink over two sockets": (hierarchy(shape="ring", host={"uplink": {"bandwidth_gbs": 1, "children": 2}, "socket": {"bandwidth_gbs": 1, "children": 3}}),
                                "levels[0].host.socket"),
    "host without sockets": (hierarchy(shape="ring", host={"uplink": {"bandwidth_gbs": 1}}), "'socket' is missing"),
    "no levels": (json.dumps({"hierarchy": "h", "levels": []}), "levels"),
    "unknown key of a level": (hierarchy(speed=3), "unknown key 'speed'"),
    "truncated hierarchy": (hierarchy()[:60], "hierarchy.json"),
}
jobs = {
    "job reduces no axis": (job(axes=[]), "reductions[0].axes"),
    "job reduces an unknown axis": (job(axes=["b"]), "'b' is not an axis"),
    "job reduces an axis twice": (job(axes=["a", "a"]), "twice"),
    "job of no bytes": (job(bytes=0), "reductions[0].bytes"),
    "job with negative times": (job(times=-1), "reductions[0].times"),
    "job with text for bytes": (job(bytes="4G"), "reductions[0].bytes"),
}
AXES = ["--axes", "data=2,tensor=4", "--reduce", "tensor", "--bytes", "1M"]
places = {
    "axes that do not divide": (["h100:1", "--axes", "data=3,tensor=4", "--reduce", "tensor", "--bytes", "1M"], "multiply to 12"),
    "no such hierarchy": (["b201:4", *AXES], "unknown name 'b201:4'"),
    "no such size": (["h100:x", *AXES], "'x' is not a size"),
    "zero nodes": (["h100:0", *AXES], "is not a size"),
    "no axes": (["h100:1", "--reduce", "tensor", "--bytes", "1M"], "--axes: is missing"),
    "nothing to reduce": (["h100:1", "--axes", "data=2,tensor=4", "--bytes", "1M"], "--reduce: is missing"),
    "no bytes": (["h100:1", "--axes", "data=2,tensor=4", "--reduce", "tensor"], "--bytes"),
    "zero bytes": (["h100:1", "--axes", "data=2,tensor=4", "--reduce", "tensor", "--bytes", "0"], "--bytes"),
    "NaN bytes": (["h100:1", "--axes", "data=2,tensor=4", "--reduce", "tensor", "--bytes", "nan"], "--bytes"),
    "reduce an unknown axis": (["h100:1", "--axes", "data=2,tensor=4", "--reduce", "model", "--bytes", "1M"], "'model' is not an axis"),
    "reduce an axis twice": (["h100:1", "--axes", "data=8", "--reduce", "data,data", "--bytes", "1M"], "twice"),
    "axis without size": (["h100:1", "--axes", "data", "--reduce", "data", "--bytes", "1M"], "'data' has no size"),
    "axis of size 0": (["h100:1", "--axes", "data=0", "--reduce", "data", "--bytes", "1M"], "--axes"),
    "axis named twice": (["h100:1", "--axes", "data=2,data=4", "--reduce", "data", "--bytes", "1M"], "twice"),
    "unknown algorithm": (["h100:1", *AXES, "--algo", "star"], "--algo"),
    "unknown rules": (["h100:1", *AXES, "--rules", "mine"], "--rules"),
    "unknown level": (["h100:1", *AXES, "--inside", "tensor=rack"], "'rack' is not a level"),
    "order of an unknown axis": (["h100:1", *AXES, "--order", "tensor<model"], "'model' is not an axis"),
    "memory without room": (["h100:1", *AXES, "--memory", "node:tensor:1G"], "--memory"),
    "conditions that exclude all": (["h100:2", "--axes", "tensor=16", "--reduce", "tensor", "--bytes", "1M", "--inside", "tensor=node"],
                                    "no parallelism matrix"),
    "a job and axes": (["h100:1", *AXES, "--job", "job.json"], "--job"),
    "no such job": (["h100:1", "--job", "nowhere.json"], "nowhere.json"),
    "unwritable page": (["h100:1", *AXES, "--html", "nowhere/page.html"], "--html"),
}

faults, cases = [], 0


def expect(name, arguments, word, **how):
    global cases
    cases += 1
    before = {p: p.stat().st_mtime_ns for p in work.rglob("*")}
    done = run_chorale(*arguments, code=None, **how)
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

for name, (text, word) in hierarchies.items():
    (work / "hierarchy.json").write_text(text)
    expect(name, ["place", "./hierarchy.json", "--axes", "a=8", "--reduce", "a", "--bytes", "1M", "--json", "out.json"], word)
for name, (text, word) in jobs.items():
    (work / "job.json").write_text(text)
    expect(name, ["place", "h100:1", "--job", "job.json", "--json", "out.json"], word)
for name, (arguments, word) in places.items():
    expect(name, ["place", *arguments], word)

(work / "wrong.xml").write_text('<algo name="x" ngpus="2"></algo>')
(work / "machine.json").write_text('{"alpha_us": 1, "topology": "pair", "ranks": 2, "links": [{"src": 0, "dst": 1, "both_ways": true}]}')
(work / "many.json").write_text("[" * 100)
run_chorale("frontier", "ring:4", "allgather", "--max-chunks", "1", "--json", "whole.json")
whole = 0  # relays without pieces
run_chorale("emit", "whole.json", "--target", "mscclpp", "--point", str(whole))
plan_path = work / f"ring_4_allgather_{whole}.plan.json"


def plan(name, change):
    changed = json.loads(plan_path.read_text())
    change(changed, changed["gpus"][1]["threadblocks"][0]["ops"])
    (work / name).write_text(json.dumps(changed))


# coll="custom" of MSCCL XML, two chunks of one input: what it promises is in a file of its own.
step = '<step s="0" type="{}" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>'
(work / "custom.xml").write_text(
    '<algo name="x" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="custom" inplace="0">'
    f'<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0"><tb id="0" send="1" recv="-1" chan="0">{step.format("s")}</tb></gpu>'
    f'<gpu id="1" i_chunks="0" o_chunks="2" s_chunks="0"><tb id="0" send="-1" recv="0" chan="0">{step.format("r")}</tb></gpu></algo>'
)
for name, ends in {"there": (0, 1), "back": (1, 0)}.items():
    (work / f"{name}.json").write_text(json.dumps({"collective": name, "chunks": [{"pre": [ends[0]], "post": [ends[1]]}]}))
assert "right" in run_chorale("program", "custom.xml", "--collective", "there.json").stdout
# A relay of three ranks with lines of Windows, the last rank first; and a sum of two inputs at a third, by
# two blocks in an order. What the one promises the other does not do.
hop = '<step s="{}" type="{}" srcbuf="{}" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="{}" deps="{}" hasdep="{}"/>'
head = '<algo name="x" proto="LL" nchannels="1" nchunksperloop="1" ngpus="3" coll="custom" inplace="0">'
give = '<gpu id="{}" i_chunks="1" o_chunks="0" s_chunks="0"><tb id="0" send="{}" recv="-1" chan="0">' + hop.format(0, "s", "i", -1, -1, 0) + "</tb></gpu>"
(work / "relay.xml").write_text("\r\n".join([
    head, '<gpu id="2" i_chunks="0" o_chunks="1" s_chunks="0"><tb id="0" send="-1" recv="1" chan="0">' + hop.format(0, "r", "i", -1, -1, 0) + "</tb></gpu>",
    '<gpu id="1" i_chunks="0" o_chunks="1" s_chunks="0"><tb id="0" send="2" recv="0" chan="0">' + hop.format(0, "rcs", "i", -1, -1, 0) + "</tb></gpu>", give.format(0, 1), "</algo>", ""]), newline="")
(work / "sum.xml").write_text(
    head + give.format(0, 2) + give.format(1, 2) + '<gpu id="2" i_chunks="0" o_chunks="1" s_chunks="0"><tb id="0" send="-1" recv="0" chan="0">' + hop.format(0, "r", "i", -1, -1, 1) +
    '</tb><tb id="1" send="-1" recv="1" chan="0">' + hop.format(0, "rrc", "o", 0, 0, 0) + "</tb></gpu></algo>")
for name, chunks in {"relayed": [{"pre": [0], "post": [1, 2]}], "summed": [{"pre": [0, 1], "post": [2]}]}.items():
    (work / f"{name}.json").write_text(json.dumps({"collective": name, "combining": name == "summed", "chunks": chunks}))
for program, promise, code in (("relay.xml", "relayed.json", 0), ("sum.xml", "summed.json", 0), ("relay.xml", "summed.json", 2), ("sum.xml", "relayed.json", 2)):
    done = run_chorale("program", program, "--collective", promise, code=code)
    assert ("out of place: right" in (done.stdout or "")) == (code == 0) and len((done.stderr or "").splitlines()) == (code == 2), (program, promise, done)
# A step that waits for one that raises no flag: MSCCL's executor would wait for ever.
waits = '<tb id="1" send="-1" recv="-1" chan="0"><step s="0" type="nop" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="0" depid="0" deps="0" hasdep="0"/></tb>'
(work / "flagless.xml").write_text((work / "custom.xml").read_text().replace('</tb></gpu><gpu id="1"', f'</tb>{waits}</gpu><gpu id="1"'))
plan("unknown.plan", lambda plan, ops: ops[0].update(name="fly"))
plan("proxy.plan", lambda plan, ops: plan["gpus"][1]["channels"][0].update(channel_type="pigeon"))
plan("race.plan", lambda plan, ops: ops.remove({"name": "nop"}))
plan("cut.plan", lambda plan, ops: plan["gpus"][1].pop("channels"))
plan("empty.plan", lambda plan, ops: plan["gpus"].clear())
for name, (arguments, word) in {
    "emit an unknown target": (["emit", "good.json", "--target", "ptx"], "--target"),
    "emit into a file": (["emit", "good.json", "-o", "good.json/out"], "-o"),
    "emit a point that is not there": (["emit", "good.json", "--point", "99"], "point"),
    "emit no result": (["emit", "wrong.xml"], "wrong.xml"),
    "a program without attributes": (["program", "wrong.xml"], "has no coll"),
    "a wait for a step without a flag": (["program", "flagless.xml", "--collective", "there.json"], 'which has hasdep="0" and raises no flag'),
    "a program that is not there": (["program", "nowhere.xml"], "nowhere.xml"),
    "a program that is no JSON": (["program", "many.json"], "many.json"),
    "a result for a program": (["program", "good.json"], "good.json: is a result, and something else is needed"),
    "a result for a machine": (["frontier", "good.json", "allgather"], "good.json: is a result"),
    "a result for a collective": (["frontier", "ring:4", "./good.json"], "good.json: is a result"),
    "a machine for a collective": (["frontier", "ring:4", "./machine.json"], "machine.json: is a machine"),
    "two orders of sums": (["frontier", "ring:4", "allreduce", "--order", "fixed", "--allow-disagreement"], "--order excludes --allow-disagreement"),
    "an order of no sums": (["frontier", "ring:4", "alltoall", "--order", "fixed"], "is of sums, and alltoall has none"),
    "switches that forward alone and add": (["optimize", "dgx-h100:1", "allreduce", "--switches-in-network", "--switches-forward-only"], "contradicts --switches-in-network"),
    "sums at once of a collective without sums": (["frontier", "ring:4", "allgather", "--sum", "once"], "--sum: is of sums"),
    "sums at once, in an order": (["frontier", "ring:4", "allreduce", "--sum", "once", "--order", "fixed"], "--order excludes --sum"),
    "sums at once that switches add": (["frontier", "dgx-h100:1", "allreduce", "--sum", "once"], "add --switches-forward-only"),
    "programs that the target does not have": (["optimize", "ring:3", "allreduce", "--sum", "once", "--sizes", "1K", "--target", "cuda", "-o", "none"], "target cuda rounds"),
    "programs that no schedule has": (["optimize", "hub:5", "allreduce", "--sum", "once", "--search-time", "1h", "--target", "mscclpp", "-o", "none"], "--target: target mscclpp rounds"),
    "programs that are too large": (["optimize", "ring:24", "allreduce", "--sizes", "64", "--effort", "1", "--target", "mscclpp", "-o", "none"], "where executors have room for 64"),
    "an order that is long": (["frontier", "ring:4", "allreduce", "--order", "(" * 5000], "'" + "(" * 60 + "...' is more than 4096 brackets deep"),
    "an order without a rank": (["frontier", "ring:4", "allreduce", "--order", "((0 1) 2)"], "lacks rank 3"),
    "a machine without a size": (["frontier", "ring", "allgather"], "topology ring: a size is missing"),
    "sizes that are missing": (["topology", "show", "rtx-4090"], "topology rtx-4090: sizes are missing"),
    "an option for a value": (["optimize", "ring:3", "allreduce", "--sum", "--effort", "5"], "optimize: --sum needs a value"),
    "a number that is an option": (["optimize", "ring:3", "allreduce", "--effort", "--sum", "once"], "optimize: --effort needs a value"),
    "a link gone twice": (["bounds", "ring:4", "allgather", "--without-link", "0-1", "--without-link", "0-1"], "--without-link: '0-1' is there more than once"),
    "a rank gone twice": (["bounds", "ring:4 without rank 1", "allgather", "--without-rank", "1"], "--without-rank: '1' is there more than once"),
    "a link slow twice": (["bounds", "ring:4", "allgather", "--degrade", "0-1=0.5", "--degrade", "0-1=0.2"], "--degrade: '0-1' is there more than once"),
    "an option twice": (["check", "good.json", "--proofs", ".", "--proofs", "."], "--proofs is there more than once"),
    "proofs that are not there": (["check", "good.json", "--proofs", "nowhere"], "--proofs: nowhere is not a directory"),
    "in place for a target that says so itself": (["emit", "good.json", "--in-place"], "--in-place: means nothing here: it is for --target mscclpp"),
    "channels that are not written": (["emit", "good.json", "--channels", "2"], "--channels: means nothing here: it is for --target json and dot"),
    "sizes that are not written": (["emit", "good.json", "--target", "mpi", "--min-bytes", "1K"], "--min-bytes: means nothing here"),
    "an operation of no run": (["program", "wrong.xml", "--op", "sum"], "--op: means nothing here: it is for runs, with --sizes"),
    "a depth of no run": (["program", "wrong.xml", "--depth", "1", "--topology", "ring:4", "--bytes", "1K"], "--depth: means nothing here"),
    "no memory": (["check", "good.json", "--memory-limit", "0"], "--memory-limit: 0 leaves no memory"),
    "sizes the wrong way round": (["emit", "good.json", "--min-bytes", "2K", "--max-bytes", "1K"], "--min-bytes: is larger than --max-bytes"),
    "a plan with an unknown operation": (["program", "unknown.plan"], "gpus[1].threadblocks[0].ops[0]: fly"),
    "a collective without a name": (["program", "custom.xml"], "state what it promises: --collective FILE"),
    "another collective": (["program", "custom.xml", "--collective", "back.json"], "custom.xml: is wrong out of place: rank"),
    "a plan over pigeons": (["program", "proxy.plan"], "gpus[1].channels[0].channel_type: 'pigeon'"),
    "a plan with a race": (["program", "race.plan"], "is wrong out of place: rank"),
    "a plan without channels": (["program", "cut.plan"], "gpus[1]: 'channels' is missing"),
    "a plan without ranks": (["program", "empty.plan"], "has no ranks"),
    "an estimate on nothing": (["program", plan_path.name, "--topology", "nowhere"], "nowhere"),
    "an estimate on a machine of another size": (["program", plan_path.name, "--topology", "dgx1"], "8 ranks, the program 4"),
    "an estimate without a link": (["program", plan_path.name, "--topology", "line:4"], "no link from rank"),
    "a program with no depth": (["program", "wrong.xml", "--depth", "0"], "--depth"),
}.items():
    expect(name, arguments, word)


# Full disks: nothing is left behind, no directory, no first of several files.
def full_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


for target in ["cuda", "json", "mpi", "html"]:
    expect(f"emit {target} on a full disk", ["emit", "good.json", "--target", target], "too large", preexec_fn=full_disk)
expect("a page on a full disk", ["show", "good.json", "--html", "page.html"], "too large", preexec_fn=full_disk)
expect("a device that is full", ["frontier", "ring:4", "allgather", "--json", "/dev/full"], "no space")

print("\n".join(faults) or f"{cases} cases, each refused in one line")
sys.exit(1 if faults or cases < 25 else 0)
