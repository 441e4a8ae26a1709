"""check --lrat DIR: each refutation as a formula and an LRAT proof, for a verified checker.

The judge is tests/kit/lrat.py, from the definition of the format; on random machines, with the plain formula and with
the search's. A proof that was changed is no proof, and neither is one of a formula that lost a clause it needs.
"""
import hashlib
import json
import os
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.lrat import accepts, check  # noqa: E402
from kit.program import refused, run_chorale as run, work  # noqa: E402
from property import random_input  # noqa: E402

rng = random.Random(5)


def kept(result, *options, code=0):
    """What the index names, each formula and proof read."""
    folder = work / "made" / "here"  # neither is there yet
    for path in folder.glob("*") if folder.is_dir() else []:
        path.unlink()
    run("check", result, "--lrat", folder, *options, code=code)
    index = json.loads((folder / "lrat.json").read_text())
    assert sorted(os.listdir(folder)) == sorted({"lrat.json"} | {row[kind] for row in index["proofs"] for kind in ("cnf", "lrat")})
    return index, [(row, (folder / row["cnf"]).read_text(), (folder / row["lrat"]).read_text()) for row in index["proofs"]]


def changed(proof, which):
    lines = proof.splitlines()
    if which == "shorter":
        return "\n".join(lines[:-1])
    lemmas = [at for at, line in enumerate(lines) if " d " not in line]
    at = rng.choice(lemmas)
    words = lines[at].split()
    end = words.index("0")
    if which == "a hint less":
        del words[rng.randrange(end + 1, len(words) - 1)]
    else:  # a literal less
        del words[rng.randrange(1, end)]
    return "\n".join(lines[:at] + [" ".join(words)] + lines[at + 1:])


judged = changes = 0
for number in range(18):
    machine = random_input.machine(rng, tiny=True)
    ranks = random_input.ranks_of(machine)
    if not isinstance(machine, str):
        (work / "m.json").write_text(json.dumps(machine))
        machine = "m.json"
    name = rng.choice(["broadcast", "allgather", "allreduce", "reducescatter", "alltoall", "scatter"])
    run("frontier", machine, name, "--max-chunks", 2, "--no-bounds", "--conflicts", 1000, "--json", "r.json", code=(0, 2, 3, 20))
    if not (work / "r.json").exists():
        continue
    claims = json.loads((work / "r.json").read_text())["claims"]
    refuted = [at for at, claim in enumerate(claims) if claim["certificate"]["kind"] == "refutation"]
    plain = rng.choice([(), ("--plain-conflicts", 0)])
    index, files = kept("r.json", *plain, code=(0, 3))
    assert sorted({row["claim"] for row in index["proofs"] + index["left_out"]}) == refuted, (index, refuted)
    for row, cnf, lrat in files:
        by_search = row["formula"] == "search"
        assert by_search or not plain
        in_parts = by_search and bool(claims[row["claim"]]["certificate"].get("cubes"))
        assert (row["cube"] is not None) == in_parts
        assert row["cnf"] == hashlib.sha256(cnf.encode()).hexdigest() + ".cnf"
        if by_search and not in_parts:
            assert claims[row["claim"]]["certificate"]["formula_sha256"] + ".cnf" == row["cnf"]
        assert row["lrat_bytes"] == len(lrat)
        if len(cnf) + len(lrat) > 400_000:
            continue
        check(cnf, lrat)
        judged += 1
        assert not accepts(cnf, changed(lrat, "shorter"))
        assert not accepts("\n".join(cnf.splitlines()[:1]), lrat)
        if len(lrat) < 50_000:
            # The conflict of the last lemma needs each of its hints.
            words = lrat.splitlines()[-1].split()
            assert words[1] == "0", words
            for at in rng.sample(range(2, len(words) - 1), min(3, len(words) - 3)):
                assert not accepts(cnf, "\n".join(lrat.splitlines()[:-1] + [" ".join(words[:at] + words[at + 1:])]))
            changes += not accepts(cnf, changed(lrat, "a hint less"))
    (work / "r.json").unlink()
assert judged > 30 and changes > 20, (judged, changes)

# In cubes: a proof for each. Kept proofs are taken, and become LRAT as well.
run("synthesize", "ring:5", "alltoall", "--chunks", 2, "--steps", 3, "--rounds", 5, "--no-bounds", "--no-symmetry", "--conflicts", 100,
    "--cubes", 16, "--proofs", "kept", "--json", "c.json", code=20)
claims = json.loads((work / "c.json").read_text())["claims"]
at, cubes = next((at, claim["certificate"]["cubes"]) for at, claim in enumerate(claims) if claim["certificate"].get("cubes"))
for options in (), ("--proofs", "kept"):
    index, files = kept("c.json", "--plain-conflicts", 0, *options)
    assert [row["cube"] for row, _, _ in files] == list(range(len(cubes))) and len(cubes) > 3
    for row, cnf, lrat in files[:4]:
        check(cnf, lrat)

# What is not decided is named, and an older index does not stay.
index, files = kept("c.json", "--plain-conflicts", 0, "--conflicts", 1, code=3)
assert [row["claim"] for row in index["left_out"]] == [at] and len(files) < len(cubes)

(work / "file").write_text("")
refused("check", "c.json", "--lrat", work / "file" / "x", says="cannot be made")
refused("check", "c.json", "--lrat", work / "file", says="--lrat")
print(f"{judged} refutations accepted by a checker that knows LRAT alone; {changes} changed proofs refused")
