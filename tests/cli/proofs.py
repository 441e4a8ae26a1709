"""--proofs DIR: formula and proof side by side, so that a checker that is not ours accepts the pair.

drat-trim where it is found, and always a checker of a few lines here: every lemma must follow by unit
propagation.
"""
import hashlib
import json
import os
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit import pb  # noqa: E402
from kit.lrat import accepts  # noqa: E402
from kit.program import refused, run as run_other, run_chorale as run, work  # noqa: E402


def propagates_to_conflict(clauses, assumed):
    """Slow and obvious: goes over all clauses until nothing changes."""
    true = set(assumed)
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            if any(literal in true for literal in clause):
                continue
            free = [literal for literal in clause if -literal not in true]
            if not free:
                return True
            if len(free) == 1:
                true.add(free[0])
                changed = True
    return False


def accepted(cnf, drat):
    clauses = [sorted(map(int, line.split()[:-1])) for line in cnf.splitlines() if line[0] not in 'cp']
    for line in drat.splitlines():
        words = line.split()
        if words[0] == 'd':
            clause = sorted(map(int, words[1:-1]))
            if len(clause) > 1 and clause in clauses:
                clauses.remove(clause)
            continue
        lemma = list(map(int, words[:-1]))
        if not propagates_to_conflict(clauses, [-literal for literal in lemma]):
            return False
        if not lemma:
            return True
        clauses.append(sorted(lemma))
    return propagates_to_conflict(clauses, [])


proofs = os.path.join(work, 'made', 'here')  # neither is there yet
result = os.path.join(work, 'r.json')
run('frontier', 'hub:4', 'broadcast', '--max-chunks', '2', '--no-bounds', '--proofs', proofs, '--json', result)
run('synthesize', 'ring:5', 'allreduce', '--steps', '2', '--proofs', proofs, '--json', result + '2', code=20)

named = [claim['certificate']['formula_sha256'] for file in (result, result + '2') for claim in json.load(open(file))['claims']
         if claim['certificate']['kind'] == 'refutation']
assert len(named) >= 3, named
assert sorted(os.listdir(proofs)) == sorted({name + ending for name in named for ending in ('.cnf', '.drat')})

for name in set(named):
    cnf, drat = (open(os.path.join(proofs, name + ending)).read() for ending in ('.cnf', '.drat'))
    assert hashlib.sha256(cnf.encode()).hexdigest() == name
    assert accepted(cnf, drat), name
    # The checker can state no: without its last clause, or with a lemma out of nothing, it is no proof.
    lines = drat.splitlines()
    assert not accepted('\n'.join(cnf.splitlines()[:1]), drat), name
    trim = shutil.which('drat-trim')
    if trim:
        assert 's VERIFIED' in run_other(trim, os.path.join(proofs, name + '.cnf'), os.path.join(proofs, name + '.drat'))
# A refutation is written while it is found, so there must be a folder for it.
refused('synthesize', 'ring:5', 'allreduce', '--steps', 2, says='TMPDIR', env={'TMPDIR': os.path.join(work, 'not_there')})

if not shutil.which('drat-trim'):
    print('SKIPPED: drat-trim is not installed; the proofs were checked by the checker in this test alone')

# Our check takes what was kept, and refuses what was changed.
run('check', result, '--proofs', proofs)
needed = [name for name in named if not accepted(open(os.path.join(proofs, name + '.cnf')).read(), '0\n')]
with open(os.path.join(proofs, needed[0] + '.drat'), 'w') as file:  # some formulas need no lemma
    file.write('0\n')
refused('check', result, '--proofs', proofs, says='kept proof does not hold')
print(f'{len(set(named))} refutations, each with its formula and a proof that holds')

# As LRAT, a proof of each refutation, from kept proofs as well; what is not decided is named, and an older
# index does not stay. Random machines: property.lrat.
run('synthesize', 'ring:5', 'alltoall', '--chunks', 2, '--steps', 3, '--rounds', 5, '--no-bounds', '--no-symmetry',
    '--proofs', 'kept', '--json', 'c.json', code=20)
refuted = [at for at, claim in enumerate(json.loads((work / 'c.json').read_text())['claims']) if claim['certificate']['kind'] == 'refutation']
assert refuted
for options, code in ([], 0), (['--proofs', 'kept'], 0), (['--conflicts', 1], 3):
    run('check', 'c.json', '--plain-conflicts', 0, '--lrat', 'lrat', *options, code=code)
    index = json.loads((work / 'lrat' / 'lrat.json').read_text())
    assert [row['claim'] for row in index['proofs' if code == 0 else 'left_out']] == refuted, index
    assert all(accepts(*((work / 'lrat' / row[kind]).read_text() for kind in ('cnf', 'lrat'))) for row in index['proofs']), index
# Every claim of a frontier has a proof; checkers of others judge them where they are installed.
run('frontier', 'ring:4', 'allreduce', '--max-chunks', 3, '--json', 'e.json')
run('check', 'e.json', '--plain-conflicts', 1000000, '--lrat', 'lrat_e', '--pb', 'pb_e', '--pb-format', '1.2')
claims = json.loads((work / 'e.json').read_text())['claims']
judged = set()
for folder, ends, program, says in (('lrat_e', ('cnf', 'lrat'), 'cake_lpr', 's VERIFIED UNSAT'), ('pb_e', ('opb', 'pbp'), 'veripb', 'Verification succeeded')):
    index = json.loads((work / folder / f'{folder[:-2]}.json').read_text())
    judged |= {row['claim'] for row in index['proofs']}
    if not shutil.which(program):
        print(f'SKIPPED: {program} is not installed; the proofs were checked by the checkers of tests/kit alone')
    for row in index['proofs']:
        pair = [work / folder / row[end] for end in ends]
        assert (accepts if folder == 'lrat_e' else pb.accepts)(*(path.read_text() for path in pair)), row
        assert not shutil.which(program) or says in run_other(program, *pair), row
assert judged == set(range(len(claims))), f'{len(claims)} claims, proven are {sorted(judged)}'
(work / 'file').write_text('')
for option in '--lrat', '--pb':
    refused('check', 'c.json', option, work / 'file' / 'x', says='cannot be made')
refused('check', 'c.json', '--lrat', work / 'file', says='--lrat')
