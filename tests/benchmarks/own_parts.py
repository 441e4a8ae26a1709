#!/usr/bin/env python3
"""benchmarks/own_parts.py: what beats is reported, what is equal is not; a slow link that is added makes no answer
worse.

Usage: own_parts.py SCRIPT CHORALE
"""

import importlib.util
import json
import pathlib
import random
import sys
import tempfile

script, chorale = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
spec = importlib.util.spec_from_file_location("own_parts", script)
own_parts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(own_parts)

assert own_parts.beaten_times({1: 10, 2: 10}, {1: 9.95, 2: 9.8, 4: 1}) == ["2 bytes: 9.8 us, and 10"]
assert own_parts.beaten_costs([(2, 3), (4, 1)], [(2, 3), (3, 2), (5, 1)]) == ["3 steps: 2 rounds per chunk, and 3"]
assert len(own_parts.beaten_costs([(2, 3)], [(1, 9)])) == 1  # nothing of so few steps

# 0 -> 1 is a hundred times as slow as 0 -> 2 -> 1: 1 MiB goes round, in 21 us, and not over it, in 1,050.
machine = {
    "topology": "detour",
    "ranks": 3,
    "alpha_us": 1,
    "beta_us_per_byte": 1e-5,
    "links": [{"src": 0, "dst": 1, "beta_us_per_byte": 1e-3}, {"src": 0, "dst": 2}, {"src": 2, "dst": 1}],
}
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    asked = own_parts.Asked(chorale, folder)
    file = folder / "machine.json"
    file.write_text(json.dumps(machine))
    assert asked.times(file, "broadcast")[1 << 20] <= 21
    for number in range(4):
        rng = random.Random(f"own parts test {number}")
        while True:
            machine = own_parts.random_machine(rng)
            fewer = own_parts.without_slowest(machine)
            if machine["ranks"] <= 4 and fewer:
                break
        collective = own_parts.COLLECTIVES[number]
        us = []
        for each in (machine, fewer):
            file.write_text(json.dumps(each))
            us.append(asked.times(file, collective))
        assert us[0] and not own_parts.beaten_times(*us), (number, us)
