"""A checker of pseudo-Boolean refutations, from the description of VeriPB's formats alone: OPB formulas, and proofs of
version 2.0 with the rules f, rup and pol, and the conclusion UNSAT, or of 1.2, which ends with the rule c (Gocht and
Nordstrom, AAAI 2021).

A constraint is a set of literals with positive coefficients whose true ones must add up to a degree. Adding two cancels
a literal against its negation. One is contradicted if all of its coefficients together are less than its degree.
"""


class Refused(Exception):
    pass


def negation(literal):
    return literal[1:] if literal[0] == "~" else "~" + literal


def normal(terms, degree):
    """Positive coefficients, one literal of a variable."""
    by_variable = {}
    for coefficient, literal in terms:
        if literal[0] == "~":  # a * ~x = a - a * x
            degree -= coefficient
            coefficient, literal = -coefficient, literal[1:]
        by_variable[literal] = by_variable.get(literal, 0) + coefficient
    constraint = {}
    for variable, coefficient in by_variable.items():
        if coefficient > 0:
            constraint[variable] = coefficient
        elif coefficient < 0:  # -a * x = a * ~x - a
            constraint["~" + variable] = -coefficient
            degree -= coefficient
    return constraint, degree


def parsed(words):
    """Of 'coefficient literal ... >= degree'."""
    at = words.index(">=")
    if len(words) != at + 2 or at % 2:
        raise Refused(f"not a constraint: {' '.join(words)[:80]}")
    return normal([(int(a), b) for a, b in zip(words[:at:2], words[1:at:2])], int(words[at + 1]))


def constraints_of(opb):
    constraints = []
    for line in opb.splitlines():
        if line and line[0] != "*":
            words = line.split()
            if words[-1] != ";":
                raise Refused("a constraint without an end")
            constraints.append(parsed(words[:-1]))
    return constraints


class Database:
    """Constraints by id, and what follows from them by unit propagation."""

    def __init__(self, constraints):
        self.constraints, self.slack, self.most, self.occurs = [], [], [], {}
        self.true, self.trail, self.conflict = set(), [], False
        for constraint in constraints:
            self.add(*constraint)
        self.propagate(0)

    def add(self, constraint, degree):
        number = len(self.constraints)
        self.constraints.append((constraint, degree))
        for literal in constraint:
            self.occurs.setdefault(literal, []).append(number)
        self.slack.append(sum(a for literal, a in constraint.items() if negation(literal) not in self.true) - degree)
        self.most.append(max(constraint.values(), default=0))
        self.look(number)

    def look(self, number):
        if self.slack[number] < 0:
            self.conflict = True
        elif self.slack[number] < self.most[number]:
            for literal, a in self.constraints[number][0].items():
                if a > self.slack[number] and literal not in self.true and negation(literal) not in self.true:
                    self.assume(literal)

    def assume(self, literal):
        self.true.add(literal)
        self.trail.append(literal)
        # At once, so that what is undone is what was counted.
        for number in self.occurs.get(negation(literal), ()):
            self.slack[number] -= self.constraints[number][0][negation(literal)]

    def propagate(self, begun):
        while begun < len(self.trail) and not self.conflict:
            for number in self.occurs.get(negation(self.trail[begun]), ()):
                self.look(number)
            begun += 1

    def follows(self, constraint, degree):
        """By reverse unit propagation: the negation is sum of a * ~l >= sum of a - degree + 1."""
        if self.conflict:
            return True
        kept = len(self.trail)
        degree = sum(constraint.values()) - degree + 1
        free = {negation(literal): a for literal, a in constraint.items()}
        slack = sum(a for literal, a in free.items() if negation(literal) not in self.true) - degree
        self.conflict = slack < 0
        for literal, a in free.items():
            if a > slack and literal not in self.true and negation(literal) not in self.true:
                self.assume(literal)
        self.propagate(kept)
        found, self.conflict = self.conflict, False
        for literal in self.trail[kept:]:
            self.true.discard(literal)
            for number in self.occurs.get(negation(literal), ()):
                self.slack[number] += self.constraints[number][0][negation(literal)]
        del self.trail[kept:]
        return found


def summed(words, database):
    """Reverse Polish notation: ids of constraints, literals (at least 0), '+', 's' (saturation), and '*' or 'd' (division)
    with a number before it."""
    stack = []  # (constraint, degree, whether it is ours to change)
    for word, after in zip(words, words[1:] + [""]):
        if word == "+":
            if len(stack) < 2:
                raise Refused("nothing to add")
            (one, d, _), (other, e, ours) = stack.pop(), stack.pop()
            total = other if ours else dict(other)
            for literal, a in one.items():
                against = total.pop(negation(literal), 0)
                e -= min(a, against)
                if against > a:
                    total[negation(literal)] = against - a
                elif a > against:
                    total[literal] = total.get(literal, 0) + a - against
            stack.append((total, d + e, True))
        elif word in ("*", "d"):
            factor, (constraint, degree, _) = stack.pop(), stack.pop()
            by = (lambda a: a * factor) if word == "*" else (lambda a: -(-a // factor))  # noqa: E731
            stack.append(({literal: by(a) for literal, a in constraint.items()}, by(degree), True))
        elif word == "s":
            constraint, degree, _ = stack.pop()
            stack.append(({literal: min(a, degree) for literal, a in constraint.items() if degree > 0}, degree, True))
        elif after in ("*", "d"):
            if int(word) < 1 or not stack:
                raise Refused(f"factor {word}")
            stack.append(int(word))
        elif word.lstrip("~")[:1].isalpha():
            stack.append(({word: 1}, 0, False))
        elif 1 <= int(word) <= len(database.constraints):
            stack.append((*database.constraints[int(word) - 1], False))
        else:
            raise Refused(f"no constraint {word}")
    if len(stack) != 1:
        raise Refused("not one constraint")
    return stack[0][:2]


def check(opb, proof):
    """Raises Refused unless the proof derives a contradiction. Returns the number of derived constraints."""
    database = Database(constraints_of(opb))
    rules = len(database.constraints)
    lines = proof.splitlines()
    # By version: how many lines end it, and what stands before the number of the contradiction.
    ending, before = {"2.0": (3, ["conclusion", "UNSAT", ":"]), "1.2": (1, ["c"])}.get(lines[0].removeprefix("pseudo-Boolean proof version "), (0, []))
    if not ending or len(lines) < 2 + ending or lines[1] != f"f {rules}":
        raise Refused("not a proof of this formula")
    for line in lines[2:-ending]:
        words = line.split()
        if words[0] == "rup":
            if words[-1] != ";":
                raise Refused("a constraint without an end")
            derived = parsed(words[1:-1])
            if not database.follows(*derived):
                raise Refused(f"does not follow: {line[:80]}")
        elif words[0] == "pol":
            derived = summed(words[1:], database)
        else:
            raise Refused(f"rule {words[0]}")
        begun = len(database.trail)
        database.add(*derived)
        database.propagate(begun)
    if ending == 3 and (lines[-3] != "output NONE" or lines[-1] != "end pseudo-Boolean proof"):
        raise Refused("no end")
    *words, number = lines[-2 if ending == 3 else -1].split()
    if words != before:
        raise Refused("no conclusion")
    number = int(number)
    if not 1 <= number <= len(database.constraints):
        raise Refused("the conclusion names no constraint")
    constraint, degree = database.constraints[number - 1]
    if sum(constraint.values()) >= degree:
        raise Refused("the conclusion is no contradiction")
    return len(database.constraints) - rules


def accepts(opb, proof):
    try:
        return check(opb, proof) > 0
    except Refused:
        return False
