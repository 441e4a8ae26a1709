#!/usr/bin/env python3
"""A rank that stops is named: chorale bench and run under mpirun, with one process stopped by a signal.

Usage: hang.py CHORALE
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale, work  # noqa: E402

chorale = str(pathlib.Path(sys.argv[1]).resolve())


def processes_of(launcher, rank):
    """Process ids of that rank among the children of this mpirun."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            variables = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if parent == launcher and b"OMPI_COMM_WORLD_RANK=%d" % rank in variables:
            found.append(int(entry.name))
    return found


def seconds(process):
    """Of a processor, that it has used."""
    try:
        used = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    except OSError:
        return 0
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def stopped_rank_is_named(*command):
    launcher = subprocess.Popen(["mpirun", "--oversubscribe", "-n", "3", chorale, *command], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd=work, start_new_session=True)
    try:
        # Until all of them have left MPI's own start behind, which hangs without a word: that takes less of a
        # processor.
        for _ in range(600):
            time.sleep(0.1)
            if all(sum(map(seconds, processes_of(launcher.pid, rank))) > 1 for rank in range(3)):
                break
        (victim,) = processes_of(launcher.pid, 1)
        os.kill(victim, signal.SIGSTOP)
        _, said = launcher.communicate(timeout=100)
    finally:
        if launcher.poll() is None:
            os.killpg(launcher.pid, signal.SIGKILL)
    assert launcher.returncode != 0
    lines = [line for line in said.splitlines() if line.startswith("chorale: error: ")]
    assert lines, said
    # Who waits for rank 1 makes others wait, so the first that speaks may name one of those.
    who = r"rank [02](, step \d+: message \d+ was not (sent by|received by) rank [012]|: rank 1 did not come to a (barrier|sum)"
    assert any(re.search(who + ") within 2 s", line) for line in lines), lines
    return lines[0]


run_chorale("classic", "ring_allreduce", "full:3", "--json", "ring.json")
endless = ["--wait", "2"]
print(stopped_rank_is_named("bench", "allreduce", "ring", "-b", "1K", "-e", "1K", "-n", "1000000", *endless))
print(stopped_rank_is_named("run", "ring.json", "--transport", "mpi", "--bytes", "1K", "--iterations", "1000000", *endless))
