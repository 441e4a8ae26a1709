#!/usr/bin/env python3
"""What a start costs: CPU time of a command from exec to exit, the libraries that are loaded and the
relocations that are done.

Usage: start.py [--starts N] CHORALE [OLDER_CHORALE ...]
Programs take turns, so that other work harms all alike.
"""
import argparse
import os
import platform
import re
import statistics
import subprocess

COMMANDS = (["--version"], ["frontier", "ring:4", "allgather"])


def cpu_ms(command):
    into_nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=into_nothing)
    _, status, used = os.wait4(child, 0)
    assert status == 0, command
    return 1000 * (used.ru_utime + used.ru_stime)


def loader_says(program, variable, value):
    return subprocess.run([program, "--version"], env={**os.environ, variable: value}, capture_output=True, text=True)


parser = argparse.ArgumentParser()
parser.add_argument("--starts", type=int, default=200)
parser.add_argument("programs", nargs="+")
arguments = parser.parse_args()
print(f"machine: {os.cpu_count()} hardware threads, {platform.system()} {platform.machine()}; {arguments.starts} starts of each, "
      "CPU ms: median, least, 9 of 10")
for program in arguments.programs:
    libraries = len(loader_says(program, "LD_TRACE_LOADED_OBJECTS", "1").stdout.splitlines())
    said = loader_says(program, "LD_DEBUG", "statistics").stderr
    counts = dict(re.findall(r"number of (relative relocations|relocations): (\d+)", said))
    print(f"{program}: {libraries} libraries, {counts['relocations']} relocations and {counts['relative relocations']} relative ones")
for command in COMMANDS:
    times = {program: [] for program in arguments.programs}
    for _ in range(arguments.starts):
        for program in arguments.programs:
            times[program].append(cpu_ms([program, *command]))
    for program in arguments.programs:
        spent = sorted(times[program])
        print(f"{' '.join(command):<26} {statistics.median(spent):6.2f} {spent[0]:6.2f} {spent[len(spent) * 9 // 10]:6.2f}  {program}")
