#!/usr/bin/env python3
"""Libraries from Python: found, chosen from, verified and merged as the command line does; and built by
workers, of which one is killed in the middle, to the answers that one process gives by itself. The workers
are those of a local Dask cluster (where Dask is), ranks of MPI (where mpi4py is), and processes of this
machine.

Usage: build.py CHORALE    (with the package on the path)
"""
import concurrent.futures
import importlib.util
import itertools
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.stored import contents  # noqa: E402


def kill_one_when(path, processes):
    """When the first answers are in the file, one of those that work is killed. Which: when it is done."""
    struck = []

    def work():
        for _ in range(3000):
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as file:
                    there = file.execute("SELECT count(*) FROM answers").fetchone()[0]
            except sqlite3.Error:
                there = 0
            pids = processes() if there else []
            if pids:
                os.kill(pids[0], signal.SIGKILL)
                struck.append(pids[0])
                return
            time.sleep(0.01)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, struck


def main():
    try:
        import chorale
        from chorale import library
    except ImportError as error:
        print(f"left out: {error}")
        return 77
    # Here, since processes that are made anew read this file, and need no folder.
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
    from kit.program import mpirun, run, run_chorale, work
    os.chdir(work)
    spec = {"machines": ["torus:2x3", "dgx1", "ring:5", "hub:4", "mesh:2x4"], "collectives": ["allgather", "broadcast", "allreduce", "alltoall"],
            "groups": ["all"], "bytes": [1024, 1 << 20], "max_chunks": 2, "conflicts": 200}
    (work / "spec.json").write_text(json.dumps(spec))
    run_chorale("library", "build", "spec.json", "-o", "alone.db")
    alone = contents("alone.db")
    questions = len(alone[0])

    # Read as the command line reads.
    there = library.open("alone.db")
    assert len(there.places()) == 20
    verified = there.verify()
    assert verified.answers == questions and not verified.faults, verified
    found = there.find("torus:2x3", "allreduce", max_chunks=2, conflicts=200)
    assert found.check().ok and there.find("torus:2x3", "allreduce", max_chunks=3, conflicts=200) is None
    chosen = there.select("torus:2x3", "allgather", 1 << 20)
    said = run_chorale("library", "select", "alone.db", "torus:2x3", "allgather", "--bytes", "1M")
    assert said.splitlines()[1].split()[7] == str(chosen.result.points[chosen.point].steps), (said, chosen)
    for wrong in (lambda: library.open("nowhere.db"), lambda: there.select("torus:2x3", "gather", 1), lambda: library.build("nowhere.json", "x.db"),
                  lambda: library.merge(["alone.db"], "alone.db")):
        try:
            wrong()
            raise AssertionError("not refused")
        except chorale.InputError:
            pass
    merged = library.merge(["alone.db", "alone.db"], "merged.db")
    assert merged == (questions, questions, [0, 0], 0) and contents("merged.db") == alone

    # Ctrl-C ends it, and leaves nothing.
    def interrupt():
        while not list(work.glob("cut.db.*")):
            time.sleep(0.001)
        signal.raise_signal(signal.SIGINT)

    other = threading.Thread(target=interrupt, daemon=True)
    other.start()
    try:
        library.merge(["alone.db"] * 100, "cut.db")
        raise AssertionError("not interrupted")
    except KeyboardInterrupt:
        pass
    other.join()
    assert not list(work.glob("cut.db*"))

    # Processes of this machine, one killed: the executor breaks, and is made again.
    pools = []

    def pool():
        pools.append(library.processes(2)())
        return pools[-1]

    thread, struck = kill_one_when("pool.db", lambda: list(pools[-1]._processes or {}))
    submit = concurrent.futures.ProcessPoolExecutor.submit
    asked = itertools.count(1)

    def held(self, function, *arguments):  # the last question, for a process to be killed before all are answered
        if next(asked) == questions:
            thread.join()
        return submit(self, function, *arguments)

    concurrent.futures.ProcessPoolExecutor.submit = held
    built = library.build("spec.json", "pool.db", pool)
    concurrent.futures.ProcessPoolExecutor.submit = submit
    assert struck and len(pools) > 1 and built == (0, questions, []), (struck, len(pools), built)
    assert contents("pool.db") == alone
    print(f"{questions} questions by processes, process {struck[0]} killed: the same answers")

    # Ranks of MPI.
    ranks = importlib.util.find_spec("mpi4py") and shutil.which("mpirun")
    if ranks:
        line = [sys.executable, "-m", "chorale.build", "spec.json", "-o", "mpi.db", "--mpi"]
        said = mpirun(3, sys.executable, "-m", "mpi4py.futures", *line[1:])
        assert f"{questions} answered now, 0 open" in said, said
        assert contents("mpi.db") == alone
        assert "mpirun" in run(*line, code=2).stderr
        print(f"{questions} questions by 2 ranks of MPI: the same answers")
    else:
        print("LEFT OUT, ranks of MPI: mpi4py is not there (Debian: python3-mpi4py)")

    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        print(f"LEFT OUT, the Dask cluster: {error} (Debian: python3-distributed)")
        return 0
    with LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
        busy = lambda: [pid for worker, pid in client.run(os.getpid).items() if any(client.processing().get(worker, ()))]
        thread, struck = kill_one_when("dask.db", busy)
        said = []
        built = library.build("spec.json", "dask.db", client.get_executor(retries=3, pure=False), tell=lambda *numbers: said.append(numbers))
        thread.join()
        assert struck and built == (0, questions, []), (struck, built)
        assert contents("dask.db") == alone and said[-1] == (questions, questions)
        print(f"{questions} questions by 4 workers of Dask, process {struck[0]} killed: the same answers")
        # As a program.
        said = run(sys.executable, "-m", "chorale.build", "spec.json", "-o", "dask.db", "--scheduler", cluster.scheduler_address)
        assert said == f"{questions} there before, 0 answered now, 0 open\n", said
    assert run(sys.executable, "-m", "chorale.build", "nowhere.json", "-o", "x.db", code=2).stderr.count("\n") == 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
