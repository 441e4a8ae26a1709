#!/usr/bin/env python3
"""What files for others have of the rows of fields and options (ir/fields.h, ir/option.h): docs/schemas, and
the stub of the Python package. Says what differs; with --write the files are made so.

Usage: described.py DESCRIBED SOURCE_DIRECTORY [--write]    (the stub only with the package on the path)
"""
import difflib
import json
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[2])
WIDTH = 138
# Where a noun is in the schemas.
PLACES = {"Link": ["machine#$defs/link"], "SharedLimit": ["machine#$defs/limit"], "NodeLabel": ["machine#$defs/label"],
          "Topology": ["machine#", "machine#$defs/graph"],
          "Result": ["result#"], "Space": ["result#properties/space"], "SearchLimits": ["result#properties/limits"],
          "Opening": ["result#properties/openings/items"], "Claim": ["result#properties/claims/items"],
          "TimeClaim": ["result#properties/time_claims/items"], "Point": ["result#$defs/point"],
          "Level": ["hierarchy#$defs/level"], "SharedPath": ["hierarchy#$defs/path"], "HostPath": ["hierarchy#$defs/host"],
          "Axis": ["job#properties/axes/items"], "Reduction": ["job#properties/reductions/items"], "Job": ["job#"],
          "Ranking": ["ranking#"], "Memory": ["ranking#properties/conditions/properties/memory/items"],
          "SolverReport": ["ranking#properties/solver"], "RankedSizes": ["ranking#properties/sizes/items"], "RankedMatrix": ["ranking#$defs/placement"],
          "ReductionRanking": ["ranking#$defs/reduction"], "Exchange": ["ranking#$defs/reduction/properties/exchange"],
          "RankedStrategy": ["ranking#$defs/strategy"], "Instruction": ["ranking#$defs/instruction"],
          "Block": ["program#properties/ranks/items/properties/blocks/items"], "BlockRank": ["program#properties/ranks/items"],
          "ChunkSpec": ["collective#$defs/chunk"], "Fault": ["check#properties/faults/items"],
          "FaultPlace": ["check#properties/faults/items/properties/place"], "CheckReport": ["check#"],
          "RankingReport": ["check#"], "CheckedRefutations": ["check#properties/refutations"],
          "Specification": ["library-spec#"]}
# Where the names of collectives are.
ENUMERATIONS = {"collectives": ["collective#$defs/named/properties/collective", "collective#$defs/custom/properties/collective/not"],
                "offered": ["library-spec#properties/collectives/items"]}
OPTIONS = {"_SynthesisOptions": "synthesize", "_FrontierOptions": "frontier", "_PlaceOptions": "place", "_RunOptions": "measure",
           "_CompileOptions": "compile", "_ImportOptions": "import_topology"}


def laid_out(value, indent=0, before=0):
    """As JSON; what fits is on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or indent and before + len(line) <= WIDTH:
        return line
    start = "\n" + " " * (indent + 2)
    if isinstance(value, list):
        parts = [laid_out(each, indent + 2, indent + 2) for each in value]
    else:
        parts = [f'"{key}": ' + laid_out(each, indent + 2, indent + len(key) + 6) for key, each in value.items()]
    return "[{"[isinstance(value, dict)] + ",".join(start + part for part in parts) + "\n" + " " * indent + "]}"[isinstance(value, dict)]


def with_rows(schema, rows):
    """The schema of an object with these of its properties; what rows do not say is as it was."""
    known = schema["properties"]
    for key, (form, _) in rows.items():
        assert form or key in known, f"{key}: no row says its form: write it into the schema"
        known[key] = form or known[key]
    required = [key for key in schema["required"] if rows.get(key, [None, True])[1]]
    schema["required"] = required + [key for key, (_, always) in rows.items() if always and key not in required]


def schemas():
    said = json.loads(subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout)
    names = {key: said.pop(key) for key in ENUMERATIONS}
    assert set(said) == set(PLACES), set(said) ^ set(PLACES)
    read = {}

    def at(place):
        name, _, path = place.partition("#")
        file = source / f"docs/schemas/{name}.schema.json"
        schema = read.setdefault(file, json.loads(file.read_text()))
        for key in path.split("/") if path else []:
            schema = schema[key]
        return schema

    for noun, places in PLACES.items():
        for place in places:
            with_rows(at(place), said[noun])
    for key, places in ENUMERATIONS.items():
        for place in places:
            at(place)["enum"] = names[key]
    return {file: laid_out(schema) + "\n" for file, schema in read.items()}


def annotated(name, default):
    """Of an option, by its default; None where it is not given."""
    if name in ("proofs", "ipasir"):
        return "Union[str, os.PathLike[str]]"
    return "Optional[float]" if name == "time_limit" else "Optional[int]" if default is None else type(default).__name__


def stub(chorale):
    file = source / "python/chorale/_chorale.pyi"
    text = file.read_text()
    for noun, rows in chorale._fields.items():
        head, body, rest = re.fullmatch(rf"(.*^class {noun}:\n)(.*?)(^\S.*)", text, re.S | re.M).groups()
        for field, annotation in rows.items():
            entry = f"    {field}: Final[{annotation}]\n"
            old = re.search(rf"^    {field}: .*\n", body, re.M)
            body = body.replace(old[0], entry) if old else entry + body if body.strip() else entry
        text = head + body + rest
    common = [name for name, _, _ in chorale.options("synthesize") if name in {each for each, _, _ in chorale.options("frontier")}]
    for options, call in {"_SearchOptions": "frontier", **OPTIONS}.items():
        rows = [f"    {name}: {annotated(name, default)}\n" for name, default, _ in chorale.options(call)
                if (name in common) == (options == "_SearchOptions") or call not in ("frontier", "synthesize")]
        text = re.sub(rf"(^class {options}\(.*\n)(?:    .*\n)+", lambda found: found[1] + "".join(rows), text, flags=re.M)
    return {file: text}


made = schemas()
try:
    from chorale import _chorale
    made.update(stub(_chorale))
except ImportError as error:
    print(f"LEFT OUT, the stub: {error}")
wrong = {file: text for file, text in made.items() if file.read_text() != text}
for file, text in wrong.items():
    print("".join(difflib.unified_diff(file.read_text().splitlines(True), text.splitlines(True), str(file), "by the rows")))
    if "--write" in sys.argv:
        file.write_text(text)
print(f"{len(made)} files, {len(wrong)} of them other than the rows say")
sys.exit(1 if wrong and "--write" not in sys.argv else 0)
