#!/usr/bin/env python3
"""A limit or Ctrl-C leaves what was found, marked unproven, and says so in the exit code.

Usage: limits.py CHORALE
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

chorale = str(pathlib.Path(sys.argv[1]).resolve())
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_limits_"))
# Most of this is found at once, some of it takes hours.
HARD = ["hypercube:3", "allreduce", "--max-chunks", "12"]
# Without bounds a solver has to refute pigeons here, which no conflict limit in these tests reaches.
PIGEONS = ["hub:8", "broadcast", "--max-chunks", "4", "--no-bounds"]


def unproven_result(name):
    result = json.loads((work / name).read_text())
    assert not result["complete"] and result["stopped"], result["stopped"]
    done = subprocess.run([chorale, "check", name], cwd=work, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return result


# By conflicts: the same on every machine.
done = subprocess.run([chorale, "frontier", *PIGEONS, "--conflicts", "20", "--json", "conflicts.json"], cwd=work,
                      capture_output=True, text=True, timeout=500)
assert done.returncode == 3, (done.returncode, done.stderr)
assert unproven_result("conflicts.json")["stopped"] == "conflict limit"

# By time.
done = subprocess.run([chorale, "frontier", *HARD, "--time-limit", "4s", "--json", "time.json"], cwd=work,
                      capture_output=True, text=True, timeout=300)
assert done.returncode == 3, (done.returncode, done.stderr)
assert unproven_result("time.json")["stopped"] == "time limit"
assert "not complete" in done.stdout

# By Ctrl-C.
process = subprocess.Popen([chorale, "frontier", *HARD, "--json", "interrupted.json", "--progress"], cwd=work,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
time.sleep(4)
process.send_signal(signal.SIGINT)
out, err = process.communicate(timeout=120)
assert process.returncode == 130, (process.returncode, out, err)
result = unproven_result("interrupted.json")
assert result["stopped"] == "interrupted" and result["points"], "nothing that was found is left"
assert "steps" in err and "rounds" in err, "no progress was shown"

# One question.
done = subprocess.run([chorale, "synthesize", "hub:8", "broadcast", "--chunks", "4", "--steps", "4", "--rounds", "5",
                       "--no-bounds", "--conflicts", "50"], cwd=work, capture_output=True, text=True, timeout=300)
assert done.returncode == 3 and "undecided" in done.stdout, (done.returncode, done.stdout, done.stderr)
print("limits keep what was found")
