"""A checker of refutations in LRAT, from the definition of the format alone (Cruz-Filipe, Heule, Hunt, Kaufmann and
Schneider-Kamp, Efficient Certified RAT Verification, CADE 2017).

A line is '<id> <literals> 0 <hints> 0', a lemma, or '<id> d <ids> 0', a deletion. A lemma's negation is assumed; each
hint names a clause all of whose literals are false but one, which becomes true, until one has no such literal. If none
has and the lemma is not empty, it may still be redundant by its first literal (RAT): every clause with the negation of
that literal is named, as -<id>, with the hints that refute it.
"""


class Refused(Exception):
    pass


def clauses_of(dimacs):
    lines = [line for line in dimacs.splitlines() if line and line[0] != "c"]
    kind, form, variables, count = lines[0].split()
    numbers = [int(word) for line in lines[1:] for word in line.split()]
    if (kind, form) != ("p", "cnf") or (numbers and numbers[-1] != 0):
        raise Refused("not DIMACS")
    clauses, clause = {}, []
    for number in numbers:
        if abs(number) > int(variables):
            raise Refused(f"no variable {number}")
        if number:
            clause.append(number)
        else:
            clauses[len(clauses) + 1] = frozenset(clause)
            clause = []
    if len(clauses) != int(count):
        raise Refused(f"{len(clauses)} clauses, not {count}")
    return clauses


def _propagated(clauses, true, hints):
    """Whether the hints end in a clause that is false. Adds to `true`."""
    for at, hint in enumerate(hints):
        if hint not in clauses:
            raise Refused(f"no clause {hint}")
        free = [literal for literal in clauses[hint] if -literal not in true]
        if not free:
            if at + 1 < len(hints):
                raise Refused("hints go on after the conflict")
            return True
        if len(free) > 1 or free[0] in true:
            raise Refused(f"clause {hint} is not unit")
        true.add(free[0])
    return False


def _redundant(clauses, lemma, hints):
    heads = [at for at, hint in enumerate(hints) if hint < 0]
    true = {-literal for literal in lemma}
    if any(-literal in true for literal in true):
        return
    if _propagated(clauses, true, hints[:heads[0]] if heads else hints):
        return
    if not lemma:
        raise Refused("no conflict")
    groups = {-hints[at]: hints[at + 1:end] for at, end in zip(heads, heads[1:] + [len(hints)])}
    for name, clause in clauses.items():
        if -lemma[0] not in clause:
            continue
        if name not in groups:
            raise Refused(f"clause {name} has the negation of {lemma[0]}, and no hints")
        more = true | {-literal for literal in clause if literal != -lemma[0]}
        if not any(-literal in more for literal in more) and not _propagated(clauses, more, groups[name]):
            raise Refused(f"no conflict with clause {name}")


def check(dimacs, proof):
    """Raises Refused unless the proof derives the empty clause. Returns the number of lemmas."""
    clauses = clauses_of(dimacs)
    last, lemmas = len(clauses), 0
    for line in proof.splitlines():
        words = line.split()
        name = int(words[0])
        if words[1] == "d":
            if words[-1] != "0":
                raise Refused("a deletion without an end")
            for word in words[2:-1]:
                if clauses.pop(int(word), None) is None:
                    raise Refused(f"no clause {word} to delete")
            continue
        numbers = [int(word) for word in words[1:]]
        if numbers.count(0) != 2 or numbers[-1] != 0:
            raise Refused("a lemma has two ends")
        end = numbers.index(0)
        lemma, hints = numbers[:end], numbers[end + 1:-1]
        if name <= last:
            raise Refused("ids do not increase")
        _redundant(clauses, lemma, hints)
        last, lemmas = name, lemmas + 1
        if not lemma:
            return lemmas
        clauses[name] = frozenset(lemma)
    raise Refused("the empty clause is not derived")


def accepts(dimacs, proof):
    try:
        return check(dimacs, proof) > 0
    except Refused:
        return False
