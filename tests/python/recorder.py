#!/usr/bin/env python3
"""Dumps of PyTorch's flight recorder: what is pickled is what is written as JSON, with the marks of PyTorch's
own pickler, too; 'chorale job' lists its calls. A pickle that names anything else is refused, and nothing in
it runs; cut ones are refused in a line.

Usage: recorder.py CHORALE     (PYTHONPATH has the package)
"""
import json
import os
import pathlib
import pickle
import random
import sys
import types

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, run_chorale, work  # noqa: E402

import chorale  # noqa: E402
from chorale.recorder import as_json  # noqa: E402

dice = random.Random(1)


def dump(calls):
    return {"version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
            "entries": [{"record_id": i, "process_group": ("0", "default_pg"), "profiling_name": "nccl:all_reduce", "time_created_ns": 10**9 + i,
                         "input_sizes": [[n]], "input_dtypes": ["Float"], "output_sizes": [[n]], "output_dtypes": ["Float"], "state": "completed",
                         "retired": True, "timeout_ms": None, "duration_ms": 0.5} for i, n in enumerate(calls)]}


def refused(data, says):
    (work / "bad").write_bytes(data)
    try:
        as_json(work / "bad")
    except chorale.InputError as fault:
        assert says in str(fault) and "\n" not in str(fault), fault
        return
    raise AssertionError(f"{data[:60]!r} was read")


for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    made = dump([dice.randrange(1, 1 << 20) for _ in range(dice.randrange(1, 9))])
    (work / "trace_0").write_bytes(pickle.dumps(made, protocol))
    assert json.loads(as_json(work / "trace_0")) == json.loads(json.dumps(made))

# As PyTorch's pickler marks types, with a stand-in for its module while this is pickled.
stand_in = types.ModuleType("torch.jit._pickle")
for name in ("restore_type_tag", "build_intlist"):
    exec(f"def {name}(*given): raise AssertionError('called')\n{name}.__module__ = 'torch.jit._pickle'", stand_in.__dict__)


class Marked:
    def __init__(self, name, *given):
        self.name, self.given = name, given

    def __reduce__(self):
        return getattr(stand_in, self.name), self.given


known = {name: sys.modules.get(name) for name in ("torch", "torch.jit", "torch.jit._pickle")}
sys.modules.update({"torch": types.ModuleType("torch"), "torch.jit": types.ModuleType("torch.jit"), "torch.jit._pickle": stand_in})
marked = dump([5, 7])
for entry in marked["entries"]:
    entry["input_sizes"] = Marked("restore_type_tag", [Marked("build_intlist", entry["input_sizes"][0])], "List[List[int]]")
data = pickle.dumps(marked, 2)
for name, module in known.items():
    sys.modules.pop(name) if module is None else sys.modules.update({name: module})
(work / "marked").write_bytes(data)
assert json.loads(as_json(work / "marked")) == json.loads(json.dumps(dump([5, 7])))

# The command, and what reads it.
(work / "trace_0").write_bytes(pickle.dumps(dump([1000, 1000, 3])))
assert run(sys.executable, "-m", "chorale.recorder", "trace_0") == "wrote trace_0.json\n"
assert run_chorale("job", "trace_0") == run_chorale("job", "trace_0.json")
lines = [line.split() for line in run_chorale("job", "trace_0.json").splitlines()[1:3]]
assert sorted(tuple(line[4:7]) for line in lines) == [("12", "B", "1"), ("3.91", "KiB", "2")], lines


# What would run: nothing does.
class Evil:
    def __init__(self, function, *given):
        self.call = (function, given)

    def __reduce__(self):
        return self.call


for evil in (Evil(os.system, f"touch {work}/ran"), Evil(eval, f"open('{work}/ran', 'w')"), Evil(exec, "import os")):
    for protocol in (0, 2, 4):
        refused(pickle.dumps({"entries": [evil]}, protocol), "it was not loaded")
assert not (work / "ran").exists()
done = run(sys.executable, "-m", "chorale.recorder", "bad", code=2)
assert done.stderr.startswith("chorale.recorder: error: bad: names ") and done.stderr.count("\n") == 1, done.stderr
refused(b"\x80\x04Pnumber\n.", "")  # a persistent name

whole = pickle.dumps(dump([5]))
for length in range(len(whole)):
    refused(whole[:length], "bad: ")
for data in (pickle.dumps([1]), pickle.dumps({"entry": 1}), b"{}", b"", pickle.dumps({"entries": {1, 2}})):
    refused(data, "bad: ")
deep = [1]
for _ in range(60):
    deep = [deep, deep]  # a short pickle: 2^60 numbers as JSON
refused(pickle.dumps({"entries": deep}), "MiB as JSON")
assert "usage: " in run(sys.executable, "-m", "chorale.recorder", code=2).stderr
assert "error: " in run(sys.executable, "-m", "chorale.recorder", "nowhere", code=2).stderr
print(f"{len(whole)} cut pickles refused, nothing ran")
