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
        paid = row["payment"] is not None
        if claim["rounds"] is None:
            right = row["rounds"] is None and row["steps"] == claim["steps"]
        elif paid and claim.get("any_chunks"):
            right = row["chunks"] is None and row["payment"] * claim["chunks"] < claim["rounds"] * row["per_round"] <= (row["payment"] + 1) * claim["chunks"]
        elif claim.get("any_chunks"):
            right = row["rounds"] == -(-claim["rounds"] * row["chunks"] // claim["chunks"]) - 1
        else:
            right = row["chunks"] == claim["chunks"] and row["rounds"] == claim["rounds"] - 1 and (not paid or row["payment"] == row["rounds"] * row["per_round"])
        session.require(right, "pb: a row of the index is not of its claim", json.dumps([row, claim]))
        if len(opb) > 300_000:
            continue
        session.require(pb.accepts(opb, proof), "pb: a proof does not hold", json.dumps(row))
        session.counts["bounds proven"] += 1
        session.counts[f"bounds proven by {claim['certificate']['kind']}"] += 1
        session.counts["bounds proven by crossings"] += "x_" in opb
        # With a round more it may be possible, and the sum of the cuts is no contradiction, unless less was
        # claimed than they show.
        most = re.search(r"^(-.*>= -)(\d+) ;$", opb.splitlines()[-1] if paid else opb, re.M)
        if most and (paid or row["cuts"]):
            more = f"{most[1]}{int(most[2]) + (row['per_round'] if paid else 1)} ;"
            session.counts["bounds refused with a round more"] += not pb.accepts(opb.replace(most[0], more), proof)
        for point in result["points"]:
            if claim["collective"] != point["does"]["collective"] or {**point["does"], "chunks": 1} != {**result["collective"], "chunks": 1}:
                continue
            if paid and row["chunks"] in (None, point["chunks"]):
                parts = range(point["chunks"]) if row["chunks"] is None else [None]
                true = [paid_of(point, part, opb, claim, result["topology"]) for part in parts]
            elif (not paid and point["chunks"] == row["chunks"] and point["steps"] <= row["steps"] and
                    (row["rounds"] is None or all(step["rounds"] <= row["rounds"] for step in point["schedule"]))):
                grows = claim["certificate"]["kind"] == "growth"
                true = [(grown_of(point, opb, result) if grows else true_of(point["schedule"], opb, row["steps"]))]
                session.counts["schedules that grow"] += grows
            else:
                continue
            # Where there is no schedule, some rule is broken.
            session.require(not any(broken(opb, each, paid) for each in true), "pb: a schedule breaks a rule of the formula", json.dumps(row))
            if paid:  # on average no more than its rounds; `chunks` of the formula are of one part, or all
                each = [sum(-int(a) for a, name in re.findall(r"(-\d+) ([a-z]_\S+)", opb.splitlines()[-1]) if name in names) for names in true]
                session.require(sum(each) <= point["rounds"] * row["per_round"], "pb: a schedule pays more than its rounds", json.dumps(row))
            session.counts["schedules that count sends once"] += paid and (" o_" in opb or " i_" in opb)
            session.counts["schedules that keep all rules"] += 1
            session.counts["schedules that pay"] += paid


def paid_of(point, part, opb, claim, topology):
    """The literals of what chunks pay that a schedule makes true: of the part-th chunks of all blocks, or of all chunks."""
    of = lambda chunk: (chunk if part is None else chunk // point["chunks"] if chunk % point["chunks"] == part else -1)  # noqa: E731
    numbers = {}
    group = [numbers.setdefault(each, len(numbers)) for each in claim["certificate"].get("group", [])]
    added = {(int(c), int(link)) for c, link in re.findall(r"\ba_(\d+)_(\d+)\b", opb)}
    contributors = re.findall(r"^1 ~h_(\d+)_(\d+)_0_(\d+) >= 1 ;$", opb, re.M)
    last = {}
    for c, j in re.findall(r"\bx_(\d+)_(\d+)_", opb):
        last[int(c)] = max(last.get(int(c), 0), int(j))
    true, crossed = set(), dict.fromkeys(last, 0)
    gives = {c: {int(i) for k, _, i in contributors if int(k) == c} for c in last}
    held = {(c, n): {group[n]} & gives[c] for c in last for n in range(topology["ranks"])}  # groups, of what each rank has
    known = {(c, g): {g} & gives[c] for c in last for g in set(group)}

    def note(c):
        true.update(f"h_{c}_{g}_{crossed[c]}_{i}" for (k, g), all_of in known.items() if k == c for i in all_of)
    for c in last:
        note(c)
    for step in point["schedule"]:
        arrived = []
        for chunk, src, dst, link, *add in step["sends"]:
            c = of(chunk)
            true.add(f"a_{c}_{link}" if add and (c, link) in added else f"s_{c}_{link}")
            if c not in last:
                continue
            arrived.append((c, dst, set(held[c, src])))
            if group[src] != group[dst] and crossed[c] < last[c]:
                crossed[c] += 1
                true.add(f"x_{c}_{crossed[c]}_{link}")
                known[c, group[dst]] |= held[c, src]
                note(c)
        for c, dst, what in arrived:
            held[c, dst] |= what
    for c in last:
        while crossed[c] < last[c]:
            crossed[c] += 1
            note(c)
    return true | {once for each, once in re.findall(r"^1 ~([sa]_\S+) 1 ([oi]_\S+) >= 1 ;$", opb, re.M) if each in true}


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


def grown_of(point, opb, result):
    """The literals of growth that a schedule makes true; of sums, one that is reversed in time."""
    sums = point["does"]["collective"] in ("reduce", "reducescatter") or result["collective"].get("combining", False)
    steps = [dict(step, sends=[[c, dst, src] if sums else [c, src, dst] for c, src, dst, *_ in step["sends"]]) for step in point["schedule"]]
    if sums:
        steps.reverse()
    others = {}
    for c, n in re.findall(r"\bh_(\d+)_(\d+)_1\b", opb):
        others.setdefault(int(c), set()).add(int(n))
    held = {c: set(range(result["topology"]["ranks"])) - ranks for c, ranks in others.items()}
    first, true = {c: set(ranks) for c, ranks in held.items()}, set()
    for s in range(1, 1 + max(int(each) for each in re.findall(r"\br_(\d+)_", opb))):
        step = steps[s - 1] if s <= len(steps) else {"rounds": 0, "sends": []}
        true |= {f"r_{s}_{j}" for j in range(1, step["rounds"] + 1)}
        news = {c: {} for c in others}  # the first that gives it
        for c, src, dst in step["sends"]:
            if c in others and src in held[c] and dst not in held[c]:
                news[c].setdefault(dst, src)
        for c, of in news.items():
            true |= {f"f_{c}_{s}_{i}" for i in range(1, 1 + sum(src in first[c] for src in of.values()))}
            held[c] |= set(of)
            true |= {f"h_{c}_{n}_{s}" for n in held[c] - first[c]}
    return true


def broken(opb, true, paid):
    """Rules that do not hold, but (rounds), or (payment), which is the last."""
    lines = [line for line in opb.splitlines() if line[0] != "*"]
    lines = lines[:-1] if paid else lines
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
