#!/usr/bin/env python3
"""Names and texts from outside that steer a terminal, everywhere where one can be: what is printed steers
nothing, and what is written for other programs does not either.

Usage: hostile_names.py CHORALE
"""
import contextlib
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import work  # noqa: E402

chorale = str(pathlib.Path(sys.argv[1]).resolve())

# What readers of names let pass: a C1 control sequence, overrides and isolates of the direction, a line
# separator, a tag.
NAME = "n\u009b31m\u202egnp\u2066\u2028\u200b\U000e0041</script>\"'&<b>\\"
SHOWN = "\\u009b31m\\u202egnp\\u2066\\u2028\\u200b\\udb40\\udc41"
# What they do not: escape sequences, a bell, newlines, DEL.
CONTROL = "\x1b[2J\x1b]0;title\x07\r\n\x7f\b"
# What arguments and paths may hold besides: bytes that are no UTF-8 and form control characters if read
# sloppily.
BYTES = (NAME.replace("/", "") + CONTROL).encode() + b"\x9b2J\xff\xc0\x9b"
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")

faults, runs = [], 0


def steers(text):
    """Where a text (bytes) has what a terminal obeys; None: nowhere."""
    try:
        found = STEERING.search(text.decode())
    except UnicodeDecodeError as error:
        return f"byte {error.start}: {text[max(0, error.start - 30):error.start + 10]}"
    return found and f"{found[0]!r} in {found.string[max(0, found.start() - 40):found.end() + 20]!r}"


def run(*arguments, code=None, launcher=(), shows=""):
    """Runs it, verifies what it states, and returns that."""
    global runs
    runs += 1
    done = subprocess.run([*launcher, chorale, *arguments], capture_output=True, cwd=work, timeout=120)
    said = done.stdout + done.stderr
    problems = [steers(said)] if steers(said) else []
    if done.returncode not in (0, 2, 3, 4, 20) if code is None else done.returncode != code:
        problems.append(f"exit code {done.returncode}")
    if done.returncode == 2 and done.stderr.count(b"\n") > 1:
        problems.append("more than one line")
    if shows.encode() not in said:
        problems.append(f"does not show {shows}")
    if problems:
        faults.append(f"{arguments}: {problems}\n  {said[:400]}")
    return said


def write(name, content):
    (work / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return name


def both(make, *command, file, shows=SHOWN, code=0, more=()):
    """A file with a name that may be: it is shown. With one that may not: refused."""
    write(file, make(NAME))
    run(*command, code=code, shows=shows)
    write(file, make(CONTROL))
    run(*command, code=2)


# A machine, its limits, a collective, and everything that is made of them.
def machine(name):
    links = [{"src": a, "dst": b} for a in range(3) for b in range(3) if a != b]
    return {"topology": name, "ranks": 3, "links": links, "limits": [{"name": name, "links": [0, 1], "bandwidth": 1}]}


both(machine, "topology", "show", "m.json", file="m.json")
both(machine, "topology", "show", "m.json", "--dot", file="m.json", shows=SHOWN.replace("\\", "\\\\"))
both(machine, "topology", "show", "m.json", "--json", file="m.json")
both(machine, "bounds", "m.json", "allgather", file="m.json", shows="")
both(machine, "classic", "ring_allgather", "m.json", "--json", "c.json", file="m.json", shows="")
both(machine, "synthesize", "m.json", "allgather", "--steps", "2", "--rounds", "2", file="m.json", shows="")
both(machine, "frontier", "m.json", "allgather", "--max-chunks", "2", "--json", "f.json", file="m.json")
collective = lambda name: {"collective": name, "chunks": [{"pre": [0], "post": [1, 2], "input": 0, "output": 0}]}
write("m.json", machine(NAME))
both(collective, "frontier", "m.json", "./k.json", "--max-chunks", "2", "--json", "k_f.json", file="k.json")

write("m.json", machine(NAME))
run("frontier", "m.json", "allgather", "--max-chunks", "2", "--json", "f.json", code=0)
write("k.json", collective(NAME))
run("frontier", "m.json", "./k.json", "--max-chunks", "2", "--json", "k_f.json", code=0)
for result in ["f.json", "k_f.json"]:
    run("check", result, code=0)
    run("show", result, "--html", "f.html", code=0, shows=SHOWN)
    run("run", result, "--bytes", "64", "--iterations", "1", code=0, shows=SHOWN)
    for target in ["msccl-xml", "mscclpp", "json", "dot", "mpi", "nccl", "cuda", "simgrid", "goal", "chakra", "html"]:
        (work / target).mkdir(exist_ok=True)
        run("emit", result, "--target", target, "-o", target)
for path in [work / "f.html", *(p for t in ["msccl-xml", "mscclpp", "json", "dot", "mpi", "nccl", "cuda", "simgrid", "goal", "chakra", "html"] for p in (work / t).rglob("*"))]:
    if path.is_file() and path.suffix != ".et" and steers(path.read_bytes().replace(b"\t", b"")):  # Makefiles have tabs, protobuf is no text
        faults.append(f"{path.name}: {steers(path.read_bytes())}")
page = re.search(r'<script type="application/json" id="data">(.*?)</script>', (work / "f.html").read_text(), re.S)[1]
if any(STEERING.search(text) for text in re.findall(r'"[^"]*"', json.dumps(json.loads(page), ensure_ascii=False))):
    faults.append("f.html: its data steer")


# Texts of a result that report what they like.
def changed(change, file="f.json"):
    result = json.loads((work / file).read_text())
    change(result)
    return result


for name in [NAME, CONTROL]:
    for number, change in enumerate([lambda r: r["points"][0].update(method=name), lambda r: r["points"][0].update(certificate=name),
                                     lambda r: r.update(kind=name), lambda r: r.update(stopped=name), lambda r: r.update({name: 1}),
                                     lambda r: r["collective"].update(collective=name), lambda r: r["topology"].update({name: 1}),
                                     lambda r: r["claims"][0].update({name: 1}), lambda r: r["claims"][0]["certificate"].update(kind=name)]):
        write("r.json", changed(change))
        for command in [["check", "r.json", "--all"], ["show", "r.json", "--html", "r.html"], ["run", "r.json", "--bytes", "64"], ["emit", "r.json", "-o", "."]]:
            run(*command)
run("check", write("esc.json", '{"chorale_result":2,"\\u001b[2Jkey\\u0007":1}'), code=2, shows="\\u001b[2Jkey\\u0007")

# Programs: names, collectives, operations, in each format.
assert (work / "json").is_dir()
program = json.loads(next((work / "json").glob("*allgather*.json")).read_text())
both(lambda name: {**program, "name": name}, "program", "p.json", file="p.json")
for name in [NAME, CONTROL]:
    run("program", write("p.json", {**program, "collective": name}), code=2)
    run("program", write("p.json", {**program, name: 1}), code=2)
XML = '<algo name="{0}" proto="LL128" nchannels="1" nchunksperloop="2" ngpus="2" coll="{1}" inplace="0" outofplace="1"><gpu id="0" i_chunks="1" o_chunks="2" ' \
      's_chunks="0"><tb id="0" send="1" recv="1" chan="0"><step s="0" type="{2}" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" ' \
      'hasdep="0"/><step s="1" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb><tb id="1" send="-1" ' \
      'recv="-1" chan="0"><step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu><gpu id="1" ' \
      'i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="0" recv="0" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" ' \
      'depid="-1" deps="-1" hasdep="0"/><step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb><tb ' \
      'id="1" send="-1" recv="-1" chan="0"><step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" ' \
      'hasdep="0"/></tb></gpu></algo>'
coded = "".join(f"&#{ord(c)};" for c in NAME)
run("program", write("p.xml", XML.format(coded, "allgather", "s")), code=0, shows=SHOWN)
run("program", write("p.xml", XML.format("&#27;[2Jb&#10;c", "allgather", "s")), code=2)
(work / "p.xml").write_bytes(XML.format("NAME", "allgather", "s").encode().replace(b"NAME", b"\x9b2J\xff\xc0\x9b"))
run("program", "p.xml", code=0, shows="\\x9b2J\\xff\\xc0\\x9b")
for place in [("x", coded, "s"), ("x", "allgather", coded), ("x", "&#27;", "s"), ("x", "allgather", "&#27;")]:
    run("program", write("p.xml", XML.format(*place)), code=2)
plan = json.loads(next((work / "mscclpp").glob("*allgather*.json")).read_text())
both(lambda name: {**plan, "name": name}, "program", "p.json", file="p.json")
for name in [NAME, CONTROL]:
    run("program", write("p.json", {**plan, "collective": name}), code=2)
    run("program", write("p.json", {**plan, "protocol": name}))

# Hierarchies, jobs, rankings.
hierarchy = lambda name: {"hierarchy": name, "levels": [{"name": name[:20], "fan_out": 2, "bandwidth_gbs": 8}, {"name": "gpu", "fan_out": 4, "bandwidth_gbs": 100}]}
job = lambda name: {"job": name, "axes": [{"name": name[:20], "size": 8}], "reductions": [{"name": name, "axes": [name[:20]], "bytes": 1e6}]}
both(hierarchy, "hierarchy", "show", "./h.json", file="h.json")
both(hierarchy, "hierarchy", "show", "./h.json", "--json", file="h.json")
write("h.json", hierarchy(NAME))
both(job, "place", "./h.json", "--job", "j.json", "--explain", "--json", "rank.json", "--html", "rank.html", file="j.json")
write("j.json", job(NAME))
run("place", "./h.json", "--job", "j.json", "--explain", "--html", "rank.html", code=0, shows=SHOWN)
page = re.search(r'<script type="application/json" id="data">(.*?)</script>', (work / "rank.html").read_text(), re.S)[1]
if any(STEERING.search(text) for text in re.findall(r'"[^"]*"', json.dumps(json.loads(page), ensure_ascii=False))):
    faults.append("rank.html: its data steer")

# Arguments, of every kind; files and folders that are called so.
for arguments in [[BYTES], ["--" + "x"], ["frontier", BYTES, "allgather"], ["frontier", "ring:3", BYTES], ["topology", "show", BYTES], ["classic", BYTES, "ring:4"],
                  ["classic", "ring_allgather", BYTES], ["hierarchy", "show", BYTES], ["check", BYTES], ["run", BYTES], ["program", BYTES], ["bench", BYTES],
                  ["check", BYTES + b".json"], ["frontier", BYTES + b".json", "allgather"], ["frontier", "ring:3", BYTES + b".json"],
                  ["synthesize", "ring:3", "allgather", "--engine", BYTES], ["synthesize", "ring:3", "allgather", "--chunks", BYTES],
                  ["frontier", "ring:3", "allgather", "--time-limit", BYTES], ["frontier", "ring:3", "allgather", "--alpha", BYTES],
                  ["frontier", "ring:3", "allgather", "--json", BYTES + b"/f.json"], ["frontier", "ring:3", "allgather", "--proofs", BYTES],
                  ["frontier", "ring:3", "allgather", b"--" + BYTES], ["run", "f.json", "--type", BYTES], ["run", "f.json", "--bytes", BYTES],
                  ["emit", "f.json", "-o", BYTES + b"/x/y"], ["emit", "f.json", "--target", BYTES], ["program", "p.json", "--topology", BYTES],
                  ["place", "h100:1", "--axes", BYTES + b"=8", "--reduce", BYTES, "--bytes", "1M"], ["place", "h100:1", "--axes", "a=" + "8", "--reduce", BYTES, "--bytes", "1M"],
                  ["place", "h100:1", "--axes", "a=8", "--reduce", "a", "--bytes", BYTES], ["place", "h100:1", "--axes", "a=8", "--reduce", "a", "--bytes", "1M", "--inside", BYTES],
                  ["place", "h100:1", "--axes", "a=8", "--reduce", "a", "--bytes", "1M", "--memory", BYTES], ["place", "h100:1", "--job", BYTES]]:
    run(*arguments)
folder = os.fsdecode(BYTES)
os.makedirs(work / folder, exist_ok=True)
write("m.json", machine(NAME))
run("frontier", "m.json", "allgather", "--json", f"{folder}/f.json", code=0)
run("check", f"{folder}/f.json", code=0)
run("show", f"{folder}/f.json", "--html", f"{folder}/f.html", code=0)
run("emit", f"{folder}/f.json", "-o", folder, code=0, shows="\\u001b[2J")
run("emit", f"{folder}/f.json", "--target", "cuda", "-o", folder, code=0, shows="\\u001b[2J")
said = run("bench", "allgather", "mpi", f"{folder}/f.json", "-b", "96", "-e", "96", code=0, shows="\\u001b[2J",
           launcher=["mpirun", "--oversubscribe", "-n", "3"])

# A library has texts in its tables, which anyone may have put there; of a machine that is gone the notes have
# the path.
write("m.json", machine("three"))
write("h_spec.json", {"machines": ["./m.json"], "collectives": ["allgather"], "groups": ["all"], "bytes": [1024], "max_chunks": 1})
run("library", "build", "h_spec.json", "-o", "h.db", code=0)
columns = [("places", "machine"), ("places", "grp"), ("places", "collective"), ("places", "key"), ("places", "hosts"), ("places", "members"),
           ("about", "what"), ("about", "value"), ("answers", "key"), ("predicted", "key"), ("measured", "over")]
for table, column in columns:
    (work / "h_forged.db").write_bytes((work / "h.db").read_bytes())
    with contextlib.closing(sqlite3.connect(work / "h_forged.db")) as file, file:
        file.execute(f"UPDATE {table} SET {column} = ?", ["x/" + CONTROL])
    for command in (["verify", "h_forged.db"], ["show", "h_forged.db"], ["select", "h_forged.db", "./m.json", "allgather", "--bytes", "1K"],
                    ["export", "h_forged.db", "./m.json", "allgather", "--as", "preload", "-o", "h"], ["merge", "h_forged.db", "h.db", "-o", "h_merged.db"],
                    ["build", "h_spec.json", "-o", "h_forged.db"]):
        gone = (table, column, command[0]) == ("places", "machine", "verify")
        run("library", *command, **({"code": 3, "shows": "\\u001b[2J"} if gone else {}))

# Every kind of file that there is an example of, with such texts put in at random.
examples = pathlib.Path(__file__).resolve().parents[2] / "examples"
dice = random.Random(7)
for file, *command in [
        ("node.xml", "topology", "import", "@"), ("dgx_a100_4nics.txt", "topology", "import", "@", "--nodes", "2", "--nic-gbits", "200"),
        ("topology.conf", "order", "@", "--job", examples / "order.json"), ("order.json", "order", examples / "topology.conf", "--job", "@"),
        ("calls.csv", "job", "@"), ("alltoallv.csv", "alltoallv", "@"), ("reshard.json", "reshard", "dgx-h100:2", "@", "--search-time", "50ms"),
        ("gpt-22b.json", "place", "a100:8", "--job", "@", "--top", "1"), ("gpt-22b-sizes.json", "place", "a100:4", "--job", "@", "--devices", "32", "--top", "1"),
        ("overlap.json", "place", "a100:4", "--job", "@", "--top", "1"), ("mi250_ring.json", "hierarchy", "show", "@"), ("mi250_ring.json", "topology", "show", "@"),
        ("epilogue.json", "run", "f.json", "--epilogue", "@", "--bytes", "64", "--iterations", "1"), ("three_of_four.json", "bounds", "ring:3", "@"),
        ("adam.chorale", "transform", "@"), ("adam.chorale", "compile", "@", "--machine", "ring:4", "-o", "hostile_adam"), ("library.json", "library", "build", "@", "-o", "e.db")]:
    text = (examples / file).read_text()
    words = [m.span() for m in re.finditer(r"\w[\w.-]*", text)]
    for _ in range(8 if command[0] != "library" else 3):
        begin, end = dice.choice(words)
        put = dice.choice([NAME, CONTROL])
        put = json.dumps(put)[1:-1] if file.endswith(".json") and dice.random() < 0.7 else put
        write(f"e_{file}", text[:end] + put + text[end:])
        run(*[f"./e_{file}" if word == "@" else word for word in command], code=None)

print("\n".join(faults) or f"{runs} runs, and nothing that they print or write steers a terminal")
sys.exit(1 if faults else 0)
