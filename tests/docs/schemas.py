#!/usr/bin/env python3
"""The JSON Schemas of docs/schemas/: what commands write, what docs/formats.md shows and what lies in
examples/ keeps to them; and files that were changed (a member too many, too few, or of another kind) are
refused, by the schema as by the program.

Usage: schemas.py CHORALE SOURCE_DIRECTORY
"""
import copy
import json
import pathlib
import random
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, run_chorale, skip, work  # noqa: E402

try:
    from jsonschema import Draft202012Validator
except ImportError:
    skip("no file was validated: this wants python3-jsonschema (./setup.sh --tests)")

chorale, source = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
schemas = {path.name: json.loads(path.read_text()) for path in sorted((source / "docs/schemas").glob("*.schema.json"))}
assert len(schemas) == 28, sorted(schemas)
page = (source / "docs/formats.md").read_text()


def validators_of(all_schemas):
    """By file name. Schemas name each other by it; since 4.18 jsonschema looks them up in a registry, before
    that in a resolver."""
    try:
        from referencing import Registry, Resource
    except ImportError:
        from jsonschema import RefResolver
        return {name: Draft202012Validator(schema, resolver=RefResolver(name, schema, store=dict(all_schemas)))
                for name, schema in all_schemas.items()}
    registry = Registry().with_resources((name, Resource.from_contents(schema)) for name, schema in all_schemas.items())
    return {name: Draft202012Validator(schema, registry=registry) for name, schema in all_schemas.items()}


for name, schema in schemas.items():
    assert schema["$id"] == name, name
    assert f"(schemas/{name})" in page, f"docs/formats.md does not link {name}"
    Draft202012Validator.check_schema(schema)
validators = validators_of(schemas)


def valid(document, name):
    return validators[f"{name}.schema.json"].is_valid(document)


def must(document, name, where):
    errors = list(validators[f"{name}.schema.json"].iter_errors(document))
    assert not errors, f"{where} is no {name}: {'/'.join(map(str, errors[0].absolute_path))}: {errors[0].message[:300]}"


def run(*arguments, code=0):
    # What ranks measure together is asked by mpirun.
    return mpirun(2, chorale, *arguments, code=code) if arguments[0] in ("bench", "calibrate") else run_chorale(*arguments, code=code)


# Which kind a document is, by a member that only that kind has.
BY_MEMBER = [("chorale_result", "result"), ("chorale_program", "program"), ("chorale_ranking", "ranking"), ("chorale_sizes", "sizes"), ("chorale_bounds", "bounds"), ("chorale_simulate", "simulation"), ("chorale_alltoallv", "alltoallv"), ("chorale_baseline", "baseline"), ("chorale_failures", "failures"), ("chorale_order", "order"), ("chorale_lint", "lint"), ("chorale_proofs", "proofs"), ("chorale_design", "design"), ("chorale_reshard", "reshard-plan"), ("reshard", "reshard"), ("chorale_bench", "bench"), ("chorale_tuning", "tuning"), ("classes", "calibration"), ("read", "import"),
             ("faults", "check"),
             ("machines", "library-spec"), ("job_template", "job-template"), ("job", "job"), ("hierarchy", "hierarchy"), ("epilogue", "epilogue"),
             ("topology", "machine"), ("collective", "collective")]


def kind_of(document):
    return next(kind for member, kind in BY_MEMBER if member in document)


documents = []  # (where, kind, document)
for number, text in enumerate(re.findall(r"^```json\n(.*?)^```", page, re.M | re.S)):
    document = json.loads(text)
    documents.append((f"docs/formats.md, example {number}", kind_of(document), document))
for path in sorted((source / "examples").glob("*.json")):
    document = json.loads(path.read_text())
    documents.append((path.name, kind_of(document), document))

# What commands write.
WRITTEN = [
    ("result", ["frontier", "dgx1", "allgather", "--max-chunks", "2", "--json", "a.json"]),
    ("result", ["frontier", "mesh:2x3", "allreduce", "--max-chunks", "2", "--json", "b.json"]),
    ("result", ["frontier", "leaf-spine:2x2x1", "broadcast", "--switches-multicast", "--max-chunks", "4", "--json", "c.json"]),
    ("result", ["frontier", "ring:4", source / "examples/three_of_four.json", "--max-chunks", "4", "--json", "-"]),
    ("result", ["frontier", "ring:3", "alltoall", "--max-chunks", "2", "--no-bounds", "--json", "e.json"]),
    ("result", ["synthesize", "line:3", "scatter", "--steps", "1", "--json", "f.json"]),
    ("result", ["classic", "ring_allreduce", "dgx1", "--json", "g.json"]),
    ("result", ["compose", "dgx-a100:2", "reducescatter", "--json", "h.json"]),
    ("check", ["check", "b.json", "--json", "i.json"]),
    ("sizes", ["show", "a.json", "--bytes", "1K:1G:1024", "--json", "j.json"]),
    ("optimize", ["optimize", "ring:4", "allreduce", "--sizes", "0,1K,1M", "--search-time", "1", "--json", "x.json"]),
    ("bounds", ["bounds", "dgx1", "allgather", "--chunks", "6", "--steps", "3", "--json", "-"]),
    ("bounds", ["bounds", "ring:2", "broadcast", "--group", "1", "--json", "-"]),
    ("baseline", ["baseline", "dgx-h100:2", "allreduce", "--json", "y.json"]),
    ("alltoallv", ["alltoallv", source / "examples/alltoallv.csv", "--nodes", "4", "--json", "y.json"]),
    ("order", ["order", source / "examples/topology.conf", "--hosts", "n[01-05,08-10]", "--job", source / "examples/order.json", "--json", "za.json"]),
    ("design", ["design", "--ranks", "9", "--degree", "4", "--for", "alltoall=2,broadcast", "--search-time", "1", "--json", "zc.json"]),
    ("reshard-plan", ["reshard", "dgx-h100:2", source / "examples/reshard.json", "--search-time", "1", "--json", "zb.json"]),
    ("machine", ["topology", "show", "dgx2", "--json"]),
    ("machine", ["topology", "show", "leaf-spine:2x2x1", "--switches-reduce", "--json"]),
    ("machine", ["topology", "import", source / "examples/node.xml", "-o", "k.json"]),
    ("hierarchy", ["hierarchy", "show", "a100:4", "--json"]),
    ("hierarchy", ["hierarchy", "show", "dgx1:2", "--json"]),
    ("ranking", ["place", "a100:2", "--axes", "data=2,tensor=16", "--reduce", "tensor", "--bytes", "1GB", "--json", "l.json"]),
    ("ranking", ["place", "a100:2", "--axes", "expert=32", "--reduce", "expert", "--bytes", "1GB", "--goal", "alltoall", "--json", "m.json"]),
    ("ranking", ["place", "a100:2", "--job", source / "examples/gpt-22b-sizes.json", "--devices", "all", "--json", "n.json"]),
    ("ranking", ["place", "a100:4", "--job", source / "examples/overlap.json", "--top", "1", "--json", "q.json"]),
    ("ranking", ["place", "rack:1x2x2x4", "--axes", "a=8,b=2", "--reduce", "a", "--bytes", "1M", "--inside", "b=server", "--order", "b<a",
                 "--memory", "server:a:1G:512G", "--strategy", "(root, InsideGroup, AllReduce)", "--json", "o.json"]),
    ("check", ["check", "o.json", "--json", "p.json"]),
    ("import", ["topology", "import", source / "examples/node.xml", "--nodes", "2", "-o", "v.json", "--json", "w.json"]),
    ("lint", ["topology", "lint", source / "examples/node.xml", "--json", "w.json"]),
    ("bench", ["bench", "broadcast", "mpi", "binomial", "-b", "64", "-e", "256", "-f", "4", "--json", "q.json"]),
    ("bench", ["bench", "allreduce", "ring", "-b", "64", "-e", "64", "-c", "0", "--json", "r.json"]),
    ("calibration", ["calibrate", "ring:2", "--json", "s.json"]),
    ("tuning", ["tune", source / "examples/self_attention.chorale", "--machine", "ring:4", "--json", "t.json"]),
    ("tuning", ["tune", source / "examples/adam.chorale", "--machine", "ring:4", "--candidates", "4", "--json", "u.json"]),
    ("program", ["emit", "a.json", "--point", "0", "--target", "json", "-o", "programs"]),
]
if shutil.which("smpirun"):
    WRITTEN.append(("simulation", ["simulate", "a.json", "--sizes", "1K,1M", "--json", "x.json"]))
run("library", "build", source / "examples/failures.json", "--failures", "1", "-o", "ready.db")
WRITTEN.append(("failures", ["library", "failures", "ready.db", "--json", "z.json"]))
known_names = run("hierarchy", "list").stdout
for number, (kind, arguments) in enumerate(WRITTEN):
    arguments = [str(each) for each in arguments]
    if arguments[:2] == ["hierarchy", "show"] and arguments[2].split(":")[0] not in known_names:
        continue
    codes = {"synthesize": (0, 20), "tune": (0, 3), "optimize": (0, 3)}.get(arguments[0], (0,))
    done = run(*arguments, code=codes)
    options = ("--json",) if "-o" in arguments and "--json" in arguments and arguments[-2] == "--json" else ("--json", "-o")
    file = next((arguments[k + 1] for k, each in enumerate(arguments) if each in options and k + 1 < len(arguments)), "-")
    path = work / file
    text = done.stdout if file == "-" else next(path.glob("**/*.json")).read_text() if path.is_dir() else path.read_text()
    documents.append((" ".join(["chorale", *arguments[:4]]), kind, json.loads(text)))
run("check", "e.json", "--lrat", "others")
run("check", "a.json", "--pb", "others")
documents += [(f"chorale check, {name}", "proofs", json.loads((work / "others" / name).read_text())) for name in ("lrat.json", "pb.json")]
for where, kind, document in documents:
    must(document, kind, where)
assert {kind for _, kind, _ in documents} == {name.removesuffix(".schema.json") for name in schemas}, "some kind was never there"

# -- changed files ------------------------------------------------------------------------------------------
READ_BY = {
    "machine": lambda file: ["topology", "show", file],
    "hierarchy": lambda file: ["hierarchy", "show", file],
    "result": lambda file: ["show", file],
    "collective": lambda file: ["bounds", "ring:4", file],
    "program": lambda file: ["program", file],
    "epilogue": None, "library-spec": None, "check": None, "ranking": lambda file: ["check", file], "sizes": None, "simulation": None,
    "import": None, "lint": None, "bench": None, "calibration": None, "tuning": None, "optimize": None, "bounds": None, "alltoallv": None, "baseline": None, "failures": None, "order": None, "proofs": None, "design": None, "reshard-plan": None,
    "reshard": lambda file: ["reshard", "dgx-h100:2", file],
    "job": lambda file: ["place", "a100:4", "--job", file],
    "job-template": lambda file: ["place", "a100:4", "--job", file, "--devices", "all"],
}


def objects(value):
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from objects(each)


def changed(document, dice):
    """A member too many, or one of another kind; and which."""
    mutant = copy.deepcopy(document)
    all_objects = list(objects(mutant))
    target = all_objects[0] if dice.random() < 0.4 else dice.choice(all_objects)
    if not target or dice.random() < 0.4:
        target["nobody_said_this"] = 1
        return mutant, "a member too many"
    name = dice.choice(sorted(target))
    value = target[name]
    target[name] = {"a": 1} if not isinstance(value, dict) else 7
    return mutant, f"{name} of another kind"


dice = random.Random(7)
refused = read = 0
for where, kind, document in documents:
    if not isinstance(document, dict):
        continue
    required = schemas[f"{kind}.schema.json"].get("required", ["collective"])
    for name in required:
        assert not valid({k: v for k, v in document.items() if k != name}, kind), f"{where} without {name} is still a {kind}"
        refused += 1
    for number in range(12):
        mutant, what = changed(document, dice)
        assert not valid(mutant, kind), f"{where}: {what}: still a {kind} (seed 7)"
        refused += 1
        if number < 2 and READ_BY[kind]:
            (work / "mutant.json").write_text(json.dumps(mutant))
            done = run(*READ_BY[kind]("mutant.json"), code=2)
            assert done.stderr.count("\n") == 1, done.stderr
            read += 1

# Where the schema states no to something that a reader takes, one of them is wrong: all that fuzzing keeps,
# and what was refused there.
agreed = 0
for folder, kind in [("topology", "machine"), ("result", "result"), ("hierarchy", "hierarchy"), ("job", "job"), ("block_program", "program")]:
    for path in sorted((source / "tests/fuzz/corpus" / folder).glob("*.json")):
        done = run(*READ_BY[kind](str(path)), code=None)
        if done.returncode == 2:
            continue
        document = json.loads(path.read_text())
        must(document, "job-template" if "job_template" in document else kind, path)
        agreed += 1
print(f"{len(documents)} files of {len(schemas)} kinds keep to their schemas, and {agreed} of the fuzzers'; {refused} changed ones do not, "
      f"{read} of them tried with the program, which refuses them, too")
