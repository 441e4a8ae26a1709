"""Long work in parts: what is done stands in a file, a line of JSON a part, and is not done again. For the
scripts beside this one.

An entry has the part's key, its seconds, the commit, and what the work gave: among it `failed`, a list of
words, and `wrong`, a number. A part that failed or was wrong is done again the next time.
"""
import json
import os
import pathlib
import platform
import subprocess
import time

root = pathlib.Path(__file__).resolve().parents[1]


def bad(entry):
    return bool(entry["failed"] or entry["wrong"])


class WorkList:
    """Does parts until the minutes are over; `left` counts the others."""

    def __init__(self, state, minutes):
        self.state, self.end, self.left, self.entries = state, time.monotonic() + 60 * minutes, 0, {}
        self.commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        for line in state.read_text().splitlines() if state.exists() else []:
            entry = json.loads(line)
            self.entries[entry["key"]] = entry

    def do(self, key, work):
        """work() gives a dictionary with `failed` and `wrong`."""
        if key in self.entries and not bad(self.entries[key]):
            return
        if time.monotonic() > self.end:
            self.left += 1
            return
        began = time.monotonic()
        entry = {"key": key, **work(), "seconds": time.monotonic() - began, "commit": self.commit}
        self.entries[key] = entry
        with self.state.open("a") as out:
            out.write(json.dumps(entry) + "\n")

    def machine(self):
        """Where and at which commits the parts were done, in a line."""
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
        commits = ", ".join(sorted({entry["commit"] for entry in self.entries.values()}))
        return f"machine: {cpu}, {os.cpu_count()} hardware threads, {platform.system()} {platform.machine()}; commit {commits}"

    def exit_code(self):
        """1 something was wrong, 3 something is left, else 0; reports it."""
        for entry in filter(bad, self.entries.values()):
            print(f"FAILED {entry['key']}: {entry['wrong']} wrong; " + "; ".join(entry["failed"]).replace("\n", " "))
        if self.left:
            print(f"{self.left} results are left: run it again")
        return 1 if any(map(bad, self.entries.values())) else 3 if self.left else 0
