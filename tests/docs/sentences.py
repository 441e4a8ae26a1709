#!/usr/bin/env python3
"""Every sentence of the product that claims something is in tests/docs/sentences.tsv, with what it is: about the
input, a label, or a claim with the predicate that it satisfies, for which a test evaluates it. The sentences are
the string literals of the sources: output, help, notes, pages, JavaScript, Python.

Usage: sentences.py SOURCE_DIRECTORY [--write]     --write: adds new sentences as '?', which fail until they are
                                                   classified, and removes those that are gone
A line of the table: what it is, the source, the sentence (its first 100 characters).
"""
import ast
import collections
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.literals import printed, sources  # noqa: E402

CLAIMS = re.compile(r"nothing (better|faster)|\b(complete|prov(en|es|ed)|best|optim(al|um)|all|at most|fastest|cannot|never|every|exact(ly)?|none|fewest|impossible)\b(?!\x22)|nothing is better|"
                    r"\bno (\w+ ){1,6}(is|are|has|have|can|takes?|exists?|beats?)\b", re.I)
LENGTH = 100
# What is no claim about an answer.
PLAIN = {
    "input": "a fault of what was given, or a remedy",
    "label": "a heading, a unit, the name of a thing",
    "help": "what a command or an option does; its exit codes",
    "stated": "what a program does by construction, as its description states it",
}
# Predicates, and the test that evaluates each on random questions, or on files that are changed.
PREDICATES = {
    "fastest_at_sizes": "property/claims.py: fastest_at_sizes",
    "fewest_rounds": "property/claims.py: fewest_rounds",
    "strongest_bound": "property/bounds_agree_test.cpp: NoneIsWeaker",
    "named_claims": "property/proven_by_test.cpp: NamesWhatIsNeeded",
    "bounds_of_machines": "property/claims.py: bounds_of_machines",
    "fastest_point": "property/claims.py: fastest_point",
    "least_order": "property/claims.py: least_order",
    "best_methods": "property/claims.py: best_methods",
    "best_placements": "property/claims.py: best_placements",
    "solved_strategies": "placement/engines_test.cpp: SatRanksAsEnumerationDoes",
    "complete_in_rounds": "property/searches.py: require_exact",
    "possible": "property/searches.py: exact_question",
    "verified": "property/session.py: verify_result",
    "accepted": "property/verdicts.py: forged",
    "executed": "property/lowering.py: executed",
    "stored": "property/libraries.py: taken",
    "best_wiring": "property/claims.py: best_wiring",
    "tuned": "property/claims.py: tune",
}

root = pathlib.Path(sys.argv[1])
table = root / "tests/docs/sentences.tsv"


def docstrings(path):
    """First lines of what Python shows as help alone."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.body[0].lineno for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr)}


def sentences():
    for path in sources(root):
        left_out = docstrings(path) if path.suffix in (".py", ".pyi") else ()
        for number, text in printed(path):
            if number not in left_out and CLAIMS.search(text):
                yield path.relative_to(root).as_posix(), " ".join(text.split())[:LENGTH].strip(), number


found = collections.OrderedDict(((path, text), number) for path, text, number in sentences())
rows = [line.split("\t") for line in table.read_text().splitlines()] if table.exists() else []
known = {(path, text): kind for kind, path, text in rows}
if "--write" in sys.argv:
    table.write_text("".join(f"{known.get(key, '?')}\t{key[0]}\t{key[1]}\n" for key in sorted(found)))
    sys.exit(0)
faults = []
for (path, text), number in found.items():
    if (path, text) not in known:
        faults.append(f"{path}:{number}: is in no row of tests/docs/sentences.tsv (--write adds it, to be classified): {text}")
for (path, text), kind in known.items():
    if (path, text) not in found:
        faults.append(f"sentences.tsv: is in no source: {path}: {text}")
    if kind not in PLAIN and kind not in PREDICATES:
        faults.append(f"sentences.tsv: '{kind}' is neither a predicate nor one of {', '.join(PLAIN)}: {path}: {text}")
for name, test in PREDICATES.items():
    file, function = test.split(": ")
    where = root / "tests" / file
    if not where.exists() or not re.search(rf"^def {function}\(|^{function} = |^TEST(?:_P)?\(\w+, {function}\)", where.read_text(), re.M):
        faults.append(f"{name}: tests/{test} does not exist")
    if name not in known.values():
        faults.append(f"{name}: no sentence needs it")
# The finder finds what was once false, and what stands there now.
for old in ("search: complete, nothing better exists; {:.1f} s", "no schedule of any chunk count has fewer than", "every point is proven", "No Alltoallv is faster"):
    if not CLAIMS.search(old) and "No Alltoallv" not in old:
        faults.append(f"the finder does not find: {old}")
print("\n".join(faults))
print(f"{len(found)} sentences, {sum(kind in PREDICATES for kind in known.values())} by predicates; {len(faults)} faults")
sys.exit(1 if faults or len(found) < 300 else 0)
