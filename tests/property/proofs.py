"""What is written for others to check: each refutation as a formula and an LRAT proof, each bound as a
pseudo-Boolean formula and its proof (kit/lrat.py, kit/pb.py, from the definitions of the formats); and sums that a
reader adds as docs/formats.md says, from the left and as "sums" states, end with the same bits on all ranks."""
import collections
import hashlib
import json
import os
import re

from kit import lrat, pb


def kept(session, kind, *options):
    """What the index of proofs of a kind names, with the texts of each; nothing else is in the folder."""
    folder, endings = session.folder / "made" / "here", {"lrat": ("cnf", "lrat"), "pb": ("opb", "pbp")}[kind]  # neither folder is there yet
    for path in folder.glob("*"):
        path.unlink()
    session.run("check", "r.json", f"--{kind}", folder, *options, codes={0, 3})
    index = json.loads((folder / f"{kind}.json").read_text())
    session.require(sorted(os.listdir(folder)) == sorted({f"{kind}.json"} | {row[each] for row in index["proofs"] for each in endings}), f"{kind}: other files than the index names")
    named = [claim for claim, each in enumerate(session.result["claims"]) if (each["certificate"]["kind"] == "refutation") == (kind == "lrat")]
    session.require({row["claim"] for row in index["proofs"] + index["left_out"]} == set(named), f"{kind}: not every claim is in the index")
    for row in index["left_out"]:
        session.counts[f"left out: {session.result['claims'][row['claim']]['certificate']['kind']}: {row['why']}"] += 1
    return [(row, session.result["claims"][row["claim"]], *((folder / row[each]).read_text() for each in endings)) for row in index["proofs"]]


def refutations_proven(session):
    """A checker that knows LRAT alone accepts each, with the plain formula and with the search's; one that was
    changed is no proof, and neither is one of a formula that lost a clause it needs."""
    rng = session.rng
    plain = rng.choice([(), ("--plain-conflicts", 0)])
    for row, claim, cnf, proof in kept(session, "lrat", *plain):
        by_search = row["formula"] == "search"
        name = hashlib.sha256(cnf.encode()).hexdigest()
        session.require((by_search or not plain) and row["cnf"] == f"{name}.cnf" and row["lrat_bytes"] == len(proof) and
                        (not by_search or claim["certificate"]["formula_sha256"] == name), "lrat: the index is wrong", json.dumps(row))
        if len(cnf) + len(proof) > 400_000:
            continue
        lines = proof.splitlines()
        session.counts["refutations proven"] += 1
        session.require(lrat.accepts(cnf, proof), "lrat: a proof does not hold", json.dumps(row))
        session.require(not lrat.accepts(cnf, "\n".join(lines[:-1])) and not lrat.accepts("\n".join(cnf.splitlines()[:1]), proof), "lrat: less is a proof, too")
        if len(proof) < 50_000:
            # The conflict of the last lemma needs each of its hints.
            words = lines[-1].split()
            for at in rng.sample(range(2, len(words) - 1), min(3, len(words) - 3)):
                session.require(not lrat.accepts(cnf, "\n".join(lines[:-1] + [" ".join(words[:at] + words[at + 1:])])), "lrat: a hint less is a proof, too")
            at = rng.choice([at for at, line in enumerate(lines) if " d " not in line])
            words = lines[at].split()
            del words[rng.randrange(words.index("0") + 1, len(words) - 1)]
            session.counts["changed proofs refused"] += not lrat.accepts(cnf, "\n".join(lines[:at] + [" ".join(words)] + lines[at + 1:]))


def bounds_proven(session):
    """A checker of pseudo-Boolean proofs accepts each. The formula is right: every schedule of the result keeps
    all of its rules, but for the number of rounds, which is one less than claimed."""
    result = session.result
    for row, claim, opb, proof in kept(session, "pb", "--conflicts", 100, "--plain-conflicts", 0, *session.rng.choice([[], ["--pb-format", "1.2"]])):
        if claim["rounds"] is None:
            right = row["rounds"] is None and row["steps"] == claim["steps"]
        elif claim.get("any_chunks"):
            right = row["rounds"] == -(-claim["rounds"] * row["chunks"] // claim["chunks"]) - 1
        else:
            right = row["chunks"] == claim["chunks"] and row["rounds"] == claim["rounds"] - 1
        session.require(right, "pb: a row of the index is not of its claim", json.dumps([row, claim]))
        if len(opb) > 300_000:
            continue
        session.require(pb.accepts(opb, proof), "pb: a proof does not hold", json.dumps(row))
        session.counts["bounds proven"] += 1
        session.counts[f"bounds proven by {claim['certificate']['kind']}"] += 1
        # With a round more it may be possible, and the sum of the cuts is no contradiction, unless less was
        # claimed than they show.
        if row["cuts"]:
            at = re.search(r"^(-1 r_.*>= -)(\d+) ;$", opb, re.M)
            session.counts["bounds refused with a round more"] += not pb.accepts(opb.replace(at[0], f"{at[1]}{int(at[2]) + 1} ;"), proof)
        for point in result["points"]:
            if (point["does"] == {**result["collective"], "chunks": row["chunks"]} and claim["collective"] == point["does"]["collective"] and
                    point["steps"] <= row["steps"] and (row["rounds"] is None or all(step["rounds"] <= row["rounds"] for step in point["schedule"]))):
                # Where there is no schedule, some rule is broken.
                session.require(not broken(opb, true_of(point["schedule"], opb, row["steps"])), "pb: a schedule breaks a rule of the formula", json.dumps(row))
                session.counts["schedules that keep all rules"] += 1


def true_of(schedule, opb, most_steps):
    """The literals that a schedule makes true, of what the formula starts with."""
    started = set(re.findall(r"\bh_\d+_\d+_0(?:_\d+)?\b", opb)) - set(re.findall(r"^1 ~(\S+) >= 1 ;$", opb, re.M))
    value = {}
    for name in started:
        c, n, _, *i = name.split("_")[1:]
        value.setdefault((int(c), int(n)), set()).add(i[0] if i else "")
    true = set(started)
    for s in range(1, most_steps + 1):
        step = schedule[s - 1] if s <= len(schedule) else {"rounds": 0, "sends": []}
        true |= {f"r_{s}_{j}" for j in range(1, step["rounds"] + 1)}
        arrived, replaced = {}, set()
        for c, src, dst, link, *add in step["sends"]:
            true.add(f"s_{c}_{link}_{s}")
            for i in value.get((c, src), ()):
                if i:
                    true.add(f"p_{c}_{link}_{s}_{i}")
                arrived.setdefault((c, dst), set()).add(i)
            if not add:
                replaced.add((c, dst))
        for at in replaced:
            value[at] = set()
        for at, more in arrived.items():
            value[at] = value.get(at, set()) | more
        true |= {f"h_{c}_{n}_{s}" + (f"_{i}" if i else "") for (c, n), all_of in value.items() for i in all_of}
    return true


def broken(opb, true):
    """Rules that do not hold, but (rounds)."""
    lines = [line for line in opb.splitlines() if line[0] != "*"]
    holds = lambda literal: (literal[1:] not in true) if literal[0] == "~" else literal in true  # noqa: E731
    return [line[:100] for line, (terms, degree) in zip(lines, pb.constraints_of(opb))
            if not line.startswith("-1 r_") and sum(a for literal, a in terms.items() if holds(literal)) < degree]


# -- sums ----------------------------------------------------------------------------------------------------

def stated(text, values):
    """The value of "((0 1) 2)": values by the ranks that they come from, added from the left."""
    def read(words):
        word = words.pop(0)
        if word != "(":
            return values[int(word)]
        total = read(words)
        while words[0] != ")":
            total = add(total, read(words))
        words.pop(0)
        return total
    return read(text.replace("(", " ( ").replace(")", " ) ").split())


def add(a, b):
    """Floats with the tree along which they were added; the order of two has no meaning."""
    return a[0] + b[0], frozenset((a[1], b[1]))


def ends(point, ranks, chunk, numbers, uses_sums=True):
    """What each rank has of a chunk at the end: (float, tree), or None."""
    held = [(numbers[n], n) for n in range(ranks)]
    for step in point["schedule"]:
        orders = {(c, n): text for c, n, text in step.get("sums", [])} if uses_sums else {}
        arrivals = collections.defaultdict(list)
        for c, src, dst, _link, *adds in step["sends"]:
            if c == chunk:
                arrivals[dst].append((src, bool(adds)))
        after = list(held)
        for dst, sends in arrivals.items():
            values = {dst: held[dst]}
            for src, adds in sends:
                if not adds:
                    values = {src: held[src]}
            total = next(iter(values.values()))
            for src, adds in sends:
                if adds:
                    values[src] = held[src]
                    total = add(total, held[src])
            after[dst] = stated(orders[chunk, dst], values) if (chunk, dst) in orders else total
        held = after
    return held


def same_bits(session):
    """On normal floats, and as trees."""
    ranks, rng = session.result["topology"]["ranks"], session.rng
    for point in session.result["points"]:
        if point["does"]["collective"] != "allreduce":
            continue  # gathered vectors are added up where they are
        session.counts["points with sums"] += 1
        session.counts["points that state sums"] += any("sums" in step for step in point["schedule"])
        for chunk in sorted({send[0] for step in point["schedule"] for send in step["sends"]})[:40]:
            numbers = [rng.uniform(-1, 1) * 10 ** rng.randint(-3, 3) for _ in range(ranks)]
            values = ends(point, ranks, chunk, numbers)
            session.require(len({tree for _, tree in values}) == len({bits for bits, _ in values}) == 1, f"sums: ranks differ by {point.get('construction')}", f"chunk {chunk}: {values}")
            session.counts["chunks added up"] += 1
            session.counts["chunks that need stated sums"] += len({tree for _, tree in ends(point, ranks, chunk, numbers, uses_sums=False)}) > 1
