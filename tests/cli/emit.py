#!/usr/bin/env python3
"""What is emitted for other runtimes: the XML and JSON are read back and verified, the MPI source is compiled
and run.

Usage: emit.py CHORALE MPICXX DATA FLAGS: the folders tests/data and that of tests/scripts/emitted.cmake.
"""
import copy
import json
import math
import pathlib
import random
import re
import sys
import xml.etree.ElementTree as ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.merged import merged  # noqa: E402
from kit.program import mpirun, refused, run, work  # noqa: E402

import mscclpp

chorale, mpicxx = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
flags = pathlib.Path(sys.argv[4]).resolve()
samples = pathlib.Path(sys.argv[3]).resolve() / "msccl"


def result(name, *command):
    run(chorale, *command, "--json", name)
    return name


results = [
    result("ag.json", "frontier", "dgx1", "allgather", "--max-chunks", "2"),
    result("ar.json", "frontier", "ring:4", "allreduce", "--max-chunks", "2"),
    result("gathered.json", "frontier", "ring:4", "allreduce", "--max-chunks", "1"),  # in 2 steps, by gathering all vectors
    result("ring.json", "classic", "ring_allreduce", "ring:4"),
    result("two.json", "classic", "two_tree_allreduce", "full:5"),
    result("a2a.json", "classic", "direct_alltoall", "full:4"),
    result("rs.json", "classic", "recursive_halving_reducescatter", "full:4"),
    result("one.json", "classic", "one_shot_allreduce", "full:4"),  # rank 2 adds two that were received before its own
    # In 3 steps and 3/2 rounds per chunk, where schedules whose ranks agree need 2: some ranks differ.
    result("free.json", "frontier", "ring:6", "allreduce", "--max-chunks", "2", "--allow-disagreement"),
]
# The mean of sums for which nothing but copies is sent.
means = run(chorale, "run", "gathered.json", "--bytes", "1000", "--type", "half", "--op", "avg")
assert " avg " in means, means

REQUIRED = {"algo": ["name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace", "outofplace", "minBytes", "maxBytes"],
            "gpu": ["id", "i_chunks", "o_chunks", "s_chunks"],
            "tb": ["id", "send", "recv", "chan"],
            "step": ["s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"]}


def check_loader_rules(path):
    """What the executor's parser demands, checked without ours."""
    root = ElementTree.parse(path).getroot()
    for element in root.iter():
        for key in REQUIRED[element.tag]:
            assert key in element.attrib, (path, element.tag, key)
        assert len(element.attrib) <= 16
    for gpu in root:
        waited = set()
        for tb in gpu:
            assert len(tb) <= 64 and [int(s.get("s")) for s in tb] == list(range(len(tb)))
            for step in tb:
                assert int(step.get("cnt")) < 72
                if step.get("depid") != "-1":
                    waited.add((step.get("depid"), step.get("deps")))
        assert [int(tb.get("id")) for tb in gpu] == list(range(len(gpu)))
        blocks = {tb.get("id"): tb for tb in gpu}
        for depid, deps in waited:
            assert blocks[depid][int(deps)].get("hasdep") == "1"
        for tb in gpu:
            for step in tb:
                assert (step.get("hasdep") == "1") == ((tb.get("id"), step.get("s")) in waited)


files, plans, sources = 0, [], []
for name in results:
    for target, extension in [("msccl-xml", "xml"), ("mscclpp", "plan.json"), ("json", "json"), ("dot", "dot"), ("mpi", "cpp")]:
        if name == "free.json" and target != "mpi":
            continue
        directory = work / f"{name}.{target}"
        directory.mkdir()
        for path in run(chorale, "emit", name, "--target", target, "-o", str(directory)).split():
            assert path.endswith("." + extension), path
            files += 1
            if target == "msccl-xml":
                check_loader_rules(path)
            if target == "mscclpp":
                plans.append(json.loads(pathlib.Path(path).read_text()))
                for seed in range(5):
                    mscclpp.simulate(plans[-1], seed)
                text = run(chorale, "program", path, "--bytes", "1,1000", "--type", "half", "--op", "all")
                assert "out of place: right" in text, text
            if target in ("msccl-xml", "json"):
                text = run(chorale, "program", path, "--bytes", "1,1000", "--type", "half", "--op", "all")
                assert "right" in text, text
            if target == "dot":
                assert pathlib.Path(path).read_text().count("->") > 3
            if target == "mpi":
                sources.append((name, pathlib.Path(path)))
assert files >= 35, files

# MPI programs: one as it is, then all as one.
result("hub.json", "classic", "direct_alltoall", "hub:4")
sources.append(("hub.json", work / run(chorale, "emit", "hub.json", "--target", "mpi").strip()))
texts = [path.read_text() for _, path in sources]
(work / "all.cpp").write_text(merged(texts))
run(mpicxx, "-O1", "-std=c++17", "-Wall", "-Wextra", "-Werror", sources[0][1], "-o", "first")
run(mpicxx, f"@{flags}/quick17", "-Wall", "-Wextra", "-Werror", "all.cpp", "-o", "all")
some_differ = False
for number, ((name, _), text) in enumerate(zip(sources, texts)):
    ranks = re.search(r"\bkRanks = (\d+)", text)[1]
    forms = re.findall(r'^    \{([^,]+), ".*", kTables(\w*), (true|false), check\w*\},$', text, re.M)
    # Ports of a hub are shared, so an emitted program has both forms and chooses by the size, as the preload
    # library does: to the last byte. The others have links of their own, and one form.
    assert [serialized for *_, serialized in forms] == ["false", "true"][:1 + (name == "hub.json")], forms
    last = math.floor(float(forms[0][0]) / 4) if len(forms) > 1 else None
    # One step in which three ranks send to each becomes three.
    steps = [re.search(rf"kTables{suffix} = {{{ranks}, (\d+), ", text)[1] for _, suffix, _ in forms]
    assert not last or steps == ["1", "3"], steps
    # Of each result one program with every size.
    few = [0, 1] * (number == 0 or sources[number - 1][0] != name)
    for elements in [*few, 10007, *([last, last + 1] if last else [1 << 20] * (name == "ring.json"))]:
        for program in [["./all", number]] + [["./first"]] * (number == 0):
            said = mpirun(ranks, *program, elements, 2)
            assert ", 0 wrong" in said and ("with ports serialized" in said) == bool(last and elements > last), (elements, said)
            differ, free = int(re.search(r", (\d+) slots with ranks that differ", said)[1]), said.endswith(", as they may\n")
            assert free == (name == "free.json") and (differ == 0 or free), said
            some_differ = some_differ or differ > 0
assert some_differ

# The page of a result, of all points or of one.
(work / "pages").mkdir()
for arguments, name, points in [([], "dgx1_allgather.html", None), (["--point", "0"], "dgx1_allgather_0.html", 1)]:
    assert run(chorale, "emit", "ag.json", "--target", "html", "-o", "pages", *arguments) == f"pages/{name}\n"
    page = (work / "pages" / name).read_text()
    shown = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])["points"]
    assert len(shown) == (points or len(json.loads((work / "ag.json").read_text())["points"])), name
refused("emit", "ag.json", "--target", "html", "--point", "99", says="99")

# MSCCL++'s executor keeps what it has set up by a plan's name: the same for the same plan, and for no other.
assert len({plan["name"] for plan in plans}) == len({json.dumps(plan) for plan in plans}), sorted(plan["name"] for plan in plans)
same, placed = ([json.loads(pathlib.Path(path).read_text())["name"] for path in run(chorale, "emit", "ring.json", "--target", "mscclpp", *where, "-o", str(work)).split()]
                for where in ([], ["--in-place"]))
assert set(same) <= {plan["name"] for plan in plans} and not set(same) & set(placed), (same, placed)

# In place, Alltoall too, whose inputs are saved before they are overwritten.
for name in ["ring.json", "a2a.json"]:
    for path in run(chorale, "emit", name, "--target", "mscclpp", "--in-place", "-o", str(work)).split():
        assert json.loads(pathlib.Path(path).read_text())["inplace"]
        text = run(chorale, "program", path, "--bytes", "1,1000")
        assert "\nin place: right" in text, text

# A ring AllReduce takes what its 6 steps and 6 rounds of a quarter cost: 4.2 us, and 60 us for a million
# bytes.
path = str(work / "ring.json.msccl-xml/ring_4_allreduce_0.xml")
assert re.search(r"1000000 +64\.20", run(chorale, "program", path, "--topology", "ring:4", "--bytes", "1000000"))

# A place for a function of the caller's: read back, verified and run with one that shows where it was
# applied.
(work / "epilogue").mkdir()
said = run(chorale, "emit", "ring.json", "--target", "json", "--epilogue", "-o", "epilogue")
assert "each sum is completed by one rank" in said, said
said = run(chorale, "program", "epilogue/ring_4_allreduce_0.json", "--bytes", "1,1000", "--type", "all", "--op", "all")
assert "right" in said, said
run(chorale, "classic", "recursive_doubling_allreduce", "full:4", "--json", "doubling.json")
assert "up to 4 ranks" in run(chorale, "emit", "doubling.json", "--target", "dot", "--epilogue", "-o", "epilogue")
refused("emit", "ring.json", "--target", "html", "--epilogue", says="--epilogue: means nothing here")
refused("emit", "a2a.json", "--target", "json", "--epilogue", says="has no sums")
epilogue = json.loads((work / "epilogue/ring_4_allreduce_0.json").read_text())
moved = 0
for rank in epilogue["ranks"]:
    for block in rank["blocks"]:
        for i in block["instructions"]:
            if "position" in i:
                i["position"] += 1
                moved += 1
assert moved == 4, moved
(work / "epilogue/moved.json").write_text(json.dumps(epilogue))
refused("program", "epilogue/moved.json", says="is wrong")

# The simulator notices what would be wrong: operations that are missing, moved, or about another chunk.
noticed = tried = 0
generator = random.Random(1)
for plan in plans:
    for _ in range(30):
        changed = copy.deepcopy(plan)
        ops = generator.choice(generator.choice(changed["gpus"])["threadblocks"])["ops"]
        at = generator.randrange(len(ops))
        kind = generator.choice(["drop", "index"])
        if kind == "index" and "src_buff" in ops[at]:
            ops[at]["src_buff"][0]["index"] += 1
        else:
            del ops[at]
        tried += 1
        try:
            for seed in range(3):
                mscclpp.simulate(changed, seed)
        except AssertionError:
            noticed += 1
assert noticed >= 0.9 * tried, (noticed, tried)

# In place and out of place where both work; what cannot be expressed is reported.
text = (work / "ring.json.msccl-xml/ring_4_allreduce_0.xml").read_text()
assert 'inplace="1"' in text and 'outofplace="1"' in text
(work / "pairs.json").write_text('{"collective": "pairs", "chunks": [{"pre": [0], "post": [1]}, {"pre": [1], "post": [0]}]}')
run(chorale, "synthesize", "full:2", "./pairs.json", "--json", "custom.json")
refused("emit", "custom.json", "--target", "msccl-xml", says="has no such collective: pairs")

# A name of a machine neither begins a file's name as an option does nor hides it.
for name, stem in [("-rf", "_rf"), (".hidden", "_hidden"), ("--help", "_-help"), ("a b/../c;d", "a_b_.._c_d"), ("~", "_")]:
    machine = {**json.loads((work / "ring.json").read_text())["topology"], "topology": name}
    (work / "named.json").write_text(json.dumps(machine))
    run(chorale, "classic", "ring_allgather", "./named.json", "--json", "named_result.json")
    for target in ("mpi", "cuda", "json"):
        for path in run(chorale, "emit", "named_result.json", "--target", target, "-o", "named").split():
            assert path.startswith(f"named/{stem}_allgather_0."), path

# What it performs is in the file, whatever its root and whether or not it has a name.
def names(work_file):
    return [str(work / path) for path in work_file.split()]


for collective in ["gather", "scatter", "broadcast", "reduce"]:
    run(chorale, "frontier", "ring:4", collective, "--root", "2", "--max-chunks", "2", "--json", "rooted.json")
    for target in ["json", "msccl-xml"]:
        for path in names(run(chorale, "emit", "rooted.json", "--target", target, "-o", "rooted")):
            said = run(chorale, "program", path, "--bytes", "1,1000")
            assert "out of place: right" in said, (path, said)
            other = pathlib.Path(path).read_text().replace('root="2"', 'root="1"').replace('"root": 2', '"root": 1')
            (work / "other").write_text(other)
            refused("program", "other", says="is wrong")
            if target == "msccl-xml":
                check_loader_rules(path)
                (work / "other").write_text(other.replace('root="1"', 'root="4"'))
                assert 'root="4" is out of range' in run(chorale, "program", "other", code=2)
(work / "sums.json").write_text('{"collective": "sums", "combining": true, "chunks": [{"pre": [0, 1, 2], "post": [2, 3]}, {"pre": [0, 3], "post": [1]}]}')
(work / "down.json").write_text('{"collective": "down", "chunks": [{"pre": [0], "post": [1, 2]}]}')
for machine, collective in [("full:2", "./pairs.json"), ("ring:4", "./sums.json"), ("line:3", "./down.json")]:
    run(chorale, "frontier", machine, collective, "--max-chunks", "2", "--json", "custom.json")
    for path in names(run(chorale, "emit", "custom.json", "--target", "json", "-o", "custom")):
        assert "out of place: right" in run(chorale, "program", path, "--bytes", "1,1000"), path

# Plans for several nodes have port channels between them and memory channels inside; in a ring of one-GPU
# nodes all are ports. Verdicts on them, and on what faults make of them, are those of an interpreter that
# shares nothing; they run on threads.
for machine, kind, nodes in [("dgx-h100:2x2", "allgather", [0, 0, 1, 1]), ("dgx-h100:2x2", "allreduce", [0, 0, 1, 1]),
                             ("dgx-h100:3x1", "broadcast", [0, 1, 2]), ("dgx-spark:4", "alltoall", [0, 1, 2, 3])]:
    run(chorale, "frontier", machine, kind, "--max-chunks", "2", "--time-limit", "5", "--json", "nodes.json", code=(0, 3))
    for mode in [[], ["--in-place"]]:
        for path in run(chorale, "emit", "nodes.json", "--target", "mscclpp", "-o", f"nodes{len(mode)}", *mode).split():
            for rank, gpu in enumerate(json.loads((work / path).read_text())["gpus"]):
                assert all((channel["channel_type"] == "port") == (nodes[rank] != nodes[peer])
                           for channel in gpu["channels"] for peer in channel.get("connected_to", [])), path
            assert "port channels" in run(chorale, "program", path, "--bytes", "1,1000").replace("\n  ", " "), path
said = run(sys.executable, samples.parents[2] / "benchmarks/programs", chorale, work / "nodes0", work / "nodes1", "--orders", "2")
same, of = map(int, re.search(r"(\d+) of (\d+) the same", said).groups())
assert same == of >= 40, said

# What a target cannot express is said on standard error: one line if nothing is written, otherwise one for
# each point that is not.
said = refused("emit", "custom.json", "--target", "msccl-xml", "-o", "none")
assert re.match(r"chorale: error: custom.json: none of its 2 points on the frontier can be written; point 0: .* has no such collective: down; use --target json\n", said), said
assert not (work / "none").exists()
run(chorale, "frontier", "ring:6", "allreduce", "--max-chunks", "6", "--json", "longer.json")
for quiet in [[], ["-q"]]:
    some = run(chorale, "emit", "longer.json", "--most-steps", "4", "-o", "some", *quiet, code=2)
    assert some.stdout == ("" if quiet else "some/ring_6_allreduce_2.xml\n"), some
    assert [line.split(":")[:3] for line in some.stderr.splitlines()] == [["chorale", " error", f" point {k} is not written"] for k in (0, 1)], some
    assert sorted(path.name for path in (work / "some").iterdir()) == ["ring_6_allreduce_2.xml"]
run(chorale, "frontier", "dgx1", "alltoall", "--max-steps", "1", "--json", "none.json", code=20)
refused("emit", "none.json", says="none.json: has no point to write")

# Wrong programs are named: a dependency, a peer, an offset.
for change, words in [(('type="rrs"', 'type="rrc"'), None), (('chan="0"', 'chan="1"'), "senders"), (('send="1"', 'send="2"'), "senders"),
                      (('srcoff="0"', 'srcoff="1"'), "wrong"), (('type="s"', 'type="x"'), "not supported"), (('cnt="1"', 'cnt="0"'), "cnt"),
                      (('ngpus="4"', 'ngpus="5"'), "gpu 4 is missing"), (("</algo>", ""), "is not XML"), (('nchannels="1"', ""), None)]:
    changed = text.replace(change[0], change[1], 1)
    (work / "changed.xml").write_text(changed)
    if words is not None:
        assert changed != text, change
        refused("program", "changed.xml", says=words)

for sample in sorted(samples.glob("*.xml")):
    assert "right" in run(chorale, "program", str(sample)), sample
print(f"{files} files written, read and run; {noticed} of {tried} changed plans noticed; {len(list(samples.glob('*.xml')))} files of others right")
