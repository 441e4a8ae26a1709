"""What the slow verifier says of a changed result, and what `check` has to say then."""
import json
import pathlib

import form
import verifier

FORMS = form.Forms(pathlib.Path(__file__).resolve().parents[2] / "docs" / "schemas")


def refutations(result):
    """With all that their formulas depend on, which the verifier does not see."""
    try:
        topology = {key: result["topology"].get(key) for key in ("ranks", "links", "limits")}
        return {json.dumps([topology, result["collective"], {**claim, "seconds": 0}], sort_keys=True) for claim in result["claims"]
                if claim["certificate"]["kind"] == "refutation"}
    except (KeyError, TypeError, AttributeError):
        return set()


def verdict(result, genuine, truth, path=(), undecided=frozenset()):
    """"false", "true" or "unclear", and why. path: of the one field that differs; undecided: what does not count."""
    if not FORMS.fits(result, "result.schema.json"):
        return "false", "not of the form"
    said = verifier.verify(result, truth if refutations(result) else None)
    if said.faults:
        return "false", said.faults[0]
    if path[-1:] == ("formula_sha256",):
        return "false", "no formula has that hash"
    if not refutations(result) <= refutations(genuine):
        return "unclear", "another refutation"
    if "sums" in path:
        return "unclear", "the ranks might add so, but that does not follow from these sends"
    more = set(said.undecided) - undecided
    return ("unclear", min(more)) if more else ("true", "")


def forged(number, kinds):
    """What the verifier calls false `check` refuses, and accepts what is true: of this many forgeries, of which it
    takes seconds to verify a file of half a megabyte."""
    def forge(session):
        if session.faults:
            return  # the result is not genuine
        text = json.dumps(session.result)
        for _ in range(number if len(text) < 500_000 else min(number, 2)):
            changed = json.loads(text)  # a copy: much quicker than copy.deepcopy
            forgery = session.rng.choice(kinds)
            path = forgery(changed, session.rng)
            if path is None or changed == session.result:
                continue
            kind, why = verdict(changed, session.result, session.truth, path)
            session.write("forged.json", changed)
            for seconds in (3, 60):  # where other work has the processors, not all is checked at first
                code, _, errors = session.run("check", "forged.json", "--time-limit", f"{seconds}s", codes={0, 2, 3}, seconds=seconds)
                if kind != "false" or code != 3:
                    break
            session.counts["forgeries"] += 1
            session.counts[f"forgeries, {kind}"] += 1
            if kind == "false" and code != 2:
                session.fault(f"check: accepts what is false: {forgery.__name__}", why, forged=changed)
            elif kind == "true" and code == 2:
                session.fault(f"check: refuses what is true: {forgery.__name__}", errors[:300], forged=changed)
    return forge
