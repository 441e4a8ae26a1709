"""benchmarks/simgrid.py on a small machine with parallel links, limits and links of different rates:
predictions agree with SimGrid, and one that is off is found; algorithms of SMPI compete where they do their
job, and one that is faster is listed. Without SimGrid nothing is tested, which is reported."""
import json
import pathlib
import re
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


def benchmark(program, mode, *arguments):
    done = subprocess.run([sys.executable, script, mode, "--chorale", program, "--seconds", "2", *arguments, work / "machine.json"],
                          capture_output=True, text=True)
    if "no SimGrid" in done.stdout:
        print(done.stdout.strip())
        sys.exit(77)
    return done


def stand_in(change):
    """A chorale whose simulations are changed before they are read."""
    wrong = work / "wrong.py"
    wrong.write_text(f"""#!{sys.executable}
import json, subprocess, sys
code = subprocess.run([{str(chorale)!r}, *sys.argv[1:]]).returncode
if sys.argv[1] == "simulate":
    file = sys.argv[sys.argv.index("--json") + 1]
    table = json.load(open(file))
    for row in table["rows"]:
        {change}
    json.dump(table, open(file, "w"))
sys.exit(code)
""")
    wrong.chmod(0o755)
    return wrong


right = benchmark(chorale, "predict", "--collective", "allreduce")
assert right.returncode == 0 and re.search(r"[1-9]\d* times compared; the worst is off by 0\.0", right.stdout), right.stdout + right.stderr
off = benchmark(stand_in('row["predicted_us"] /= 1.02'), "predict", "--collective", "allreduce")
assert off.returncode == 1 and "the worst is off by 2.0" in off.stdout, off.stdout + off.stderr

ours = benchmark(chorale, "compare", "--sizes", "1M", "--collective", "allreduce")
row = re.search(r"allreduce +1048576 +(\S+) +\d+ +(\S+) +(\S+)  (\S+)", ours.stdout)
assert ours.returncode == 0 and row and abs(float(row[2]) / float(row[1]) / float(row[3]) - 1) < 0.01, ours.stdout + ours.stderr
assert float(row[3]) >= 1 and "1 rows; in 0 of them" in ours.stdout, ours.stdout
known, left_out = re.search(r"(\d+) algorithms and selectors of SMPI; left out at some size: (.*)", ours.stdout).groups()
assert 20 <= int(known) and left_out.count(";") < 8, ours.stdout
slow = benchmark(stand_in('row["simulated_us"] *= 1000'), "compare", "--sizes", "1M", "--collective", "allreduce")
assert "1 rows; in 1 of them the best of SMPI is faster:" in slow.stdout, slow.stdout + slow.stderr
# What docs/results.md says of the log.
root = pathlib.Path(__file__).resolve().parents[2]
done = benchmark(chorale, "total", root / "benchmarks/results/simgrid.log")
rows, machines, least, most, slower = re.search(r"(\d+) rows on (\d+) machines; (\S+) to (\S+) times as fast .* in (\d+)$", done.stdout, re.M).groups()
assert f"{least}x to {most}x, slower in {slower} rows" in (root / "docs/results.md").read_text(), done.stdout
assert f"{slower} of {rows} rows" in (root / "benchmarks/README.md").read_text(), done.stdout
log = work / "log.txt"  # the rows that are listed again count once
log.write_text(ours.stdout + "$ again\n" + slow.stdout)
assert "2 rows on 1 machines" in benchmark(chorale, "total", log).stdout, log.read_text()
assert benchmark(chorale, "total", root / "README.md").returncode == 1

print("predictions are SimGrid's, and what is faster is listed")
