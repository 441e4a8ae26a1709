"""What holds of what is made of answers: programs for every target, their readers, executors, pages; and of
placements and compiled tensor programs."""
import re
import shutil

from kit import random_input
from session import NOT_WRITTEN, Over, machine_of, verify_result, words_of

# What a target cannot express.
CANNOT = "|".join(["cannot express", "can hold", "needs", "at most", "has no schedules", "no rank", "nothing", "does not", "cannot", "has no such collective", "do not know"])
TARGETS = ["cuda", "nccl", "mpi", "msccl-xml", "mscclpp", "json", "dot", "simgrid", "goal", "chakra", "html"]
CLASSIC = ["ring_allgather", "ring_allreduce", "multi_ring_reducescatter", "multi_ring_allreduce", "tree_broadcast", "tree_allreduce",
           "two_tree_allreduce", "binomial_reduce", "binomial_scatter", "recursive_doubling_allgather", "halving_doubling_allreduce", "direct_allreduce",
           "one_shot_allreduce", "direct_alltoall"]
ONCE = ["--iterations", 1, "--warmup", 0]


def classic(session, names=CLASSIC, machine=None):
    """An algorithm written by hand, where the machine suits it."""
    code, _, _ = session.run("classic", session.rng.choice(names), machine or machine_of(session, session.case), "--json", "r.json", codes={0, 2})
    if code == 2:
        raise Over()
    session.result = session.read()
    verify_result(session, session.result, "classic")


def lowered(session):
    """Each emitter writes files that its reader takes, or says what it cannot express and writes nothing."""
    rng = session.rng
    if not session.result["points"]:
        raise Over()
    session.counts["lowered"] += 1
    out = session.folder / "out"
    for target in rng.sample(TARGETS, 3):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        extra = rng.choice([[], [], ["--channels", 2] if target in ("json", "dot") else [], ["--point", 0]])
        code, text, errors = session.run("emit", "r.json", "--target", target, "-o", "out", *extra, codes={0, 2})
        session.counts[f"emitted for {target}"] += code == 0
        session.counts["not expressible"] += code == 2
        files = sorted(path for path in out.rglob("*") if path.is_file())
        if code == 0:
            session.require(files and all(path.stat().st_size for path in files), f"emit: wrote nothing for {target}", text[-200:])
        else:
            session.require(re.search(CANNOT, " ".join(errors.split())), f"emit: refuses for {target}", (errors + text)[:300])
            session.require(bool(files) == (NOT_WRITTEN in errors), f"emit: refuses for {target}, and wrote, or not", str(files[:1]))
        for path in files if target in ("msccl-xml", "mscclpp", "json") else []:
            session.run("program", path.relative_to(session.folder), *rng.choice([[], ["--bytes", "100", "--iterations", 1, "--depth", 64]]), codes={0, 4})
            session.counts["programs verified"] += 1


def executed(session, transports=("threads", "kernel"), sizes=("1", "100", "4K"), more=([], [], ["--in-place"])):
    """Executors end with right elements, or say what they cannot express."""
    if not session.result["points"]:
        return
    transport = session.rng.choice(transports)
    code, _, errors = session.run("run", "r.json", "--transport", transport, "--bytes", session.rng.choice(sizes), "--point", session.rng.choice(["0", "all"]),
                                  *ONCE, *session.rng.choice(more), codes={0, 2})
    session.counts[f"run on {transport}"] += code == 0
    session.require(code == 0 or re.search(CANNOT + "|in place", errors), f"run: refuses on {transport}", errors[:300])


def executed_in_types(session):
    executed(session, sizes=("4", "100", "4K"), more=[["--type", name] for name in ("float", "double", "half", "bfloat16")])


def executed_by_mpi(session):
    if shutil.which("mpirun"):
        code, said = session.run_with_mpi(session.result["topology"]["ranks"], "run", "r.json", "--transport", "mpi", "--bytes", "100", "--point", "0", *ONCE)
        session.counts["run on mpi"] += code == 0
        session.require(code == 0 or re.search(CANNOT, said), f"run: exit code {code} on mpi", said[:500])


def shown(session):
    session.run("show", "r.json", "--html", "page.html")


def placed(session):
    """Strategies are in order, none is slower than an AllReduce, and exit code 0 says that all are priced."""
    case, rng = session.case, session.rng
    where = session.write("h.json", case["machine"]) if isinstance(case["machine"], dict) else case["machine"]
    axes = ",".join(f"{name}={size}" for name, size in case["axes"])
    reduce = ",".join(random_input.subset(rng, [name for name, _ in case["axes"]]))
    extra = [words for words, chance in [(["--algo", rng.choice(["ring", "tree", "auto"])], 0.5), (["--rules", rng.choice(["paper", "full"])], 0.5),
                                         (["--top", rng.choice([1, 3])], 0.3), (["--strategies", 3], 0.3), (["--explain"], 0.3),
                                         (["--html", "p.html"], 0.3)] if session.flip(chance)]
    code, _, _ = session.run("place", where, "--axes", axes, "--reduce", reduce, "--bytes", case["bytes"], *words_of(*extra, case["limit"]), "--json", "p.json",
                             codes={0, 3}, seconds=0.001 if case["limit"] else 20)
    session.counts["placed"] += 1
    ranking = session.read("p.json")
    session.require(code != 0 or ranking["priced"] == ranking["matrices"] and ranking["best"], "place: exit code 0, not all are priced")
    for best in ranking["best"]:
        session.require(best["us"] <= best["allreduce_us"] * (1 + 1e-9), "place: the best strategy is slower than an AllReduce", f"{best['us']} {best['allreduce_us']}")
    times = [best["us"] for best in ranking["best"]]
    session.require(times == sorted(times), "place: not in order")


def compiled(session):
    """Random tensor programs, transformed and compiled, do what the interpreter does, and ranks end alike:
    tests/tensor/emit_random.cpp."""
    case = session.case
    carrier = case["carrier"] if case["carrier"] != "mpi" or shutil.which("mpirun") else "threads"
    code, text, errors, _ = session.spawn(session.options.programs / "tests/emit_random", case["programs"], case["seed"], case["first"], carrier, "replicas", wall=1200)
    session.counts[f"programs compiled for {carrier}"] += case["programs"]
    session.require(code == 0 and " 0 differences" in text, f"compile: a program for {carrier} computes something else, or nothing", (text + errors)[-3000:])
