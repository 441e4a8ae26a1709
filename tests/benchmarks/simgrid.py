"""benchmarks/simgrid.py on a small machine with parallel links, limits and links of different rates:
predictions agree with SimGrid, and a prediction that is off is found. Without SimGrid nothing is tested,
which is reported."""
import json
import pathlib
import subprocess
import sys

chorale, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
script = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "simgrid.py"
work.mkdir(parents=True, exist_ok=True)

# Two nodes of three, a NIC each that all share, and a slower way beside the links inside.
links, out, into = [], [], []
for a in range(6):
    for b in range(6):
        if a == b:
            continue
        if a // 3 == b // 3:
            links.append({"src": a, "dst": b, "bandwidth": 4, "alpha_us": 0.7})
            if (a, b) in [(0, 1), (1, 0)]:
                links.append({"src": a, "dst": b, "bandwidth": 1, "alpha_us": 2})
        else:
            (out if a < b else into).append(len(links))
            links.append({"src": a, "dst": b, "bandwidth": 2, "alpha_us": 5})
machine = {"topology": "two of three", "ranks": 6, "links": links,
           "limits": [{"name": "out", "links": out, "bandwidth": 3}, {"name": "in", "links": into, "bandwidth": 2}]}
(work / "machine.json").write_text(json.dumps(machine))


def compared(*arguments):
    done = subprocess.run([sys.executable, script, "--chorale", arguments[0], "--seconds", "3", "--max-chunks", "3", *arguments[1:],
                           work / "machine.json"], capture_output=True, text=True)
    if "no SimGrid" in done.stdout:
        print(done.stdout.strip())
        sys.exit(77)
    return done


right = compared(chorale)
assert right.returncode == 0 and "times compared; the worst is off by 0.0" in right.stdout, right.stdout + right.stderr

# A chorale that tells times 2 % longer.
wrong = work / "wrong.py"
wrong.write_text(f"""#!{sys.executable}
import json, subprocess, sys
code = subprocess.run([{str(chorale)!r}, *sys.argv[1:]]).returncode
if sys.argv[1] == "show":
    file = sys.argv[sys.argv.index("--json") + 1]
    table = json.load(open(file))
    for row in table["rows"]:
        row["us"] *= 1.02
    json.dump(table, open(file, "w"))
sys.exit(code)
""")
wrong.chmod(0o755)
off = compared(wrong)
assert off.returncode == 1 and "the worst is off by 2.0" in off.stdout, off.stdout + off.stderr
print("predictions are SimGrid's")
