#!/usr/bin/env python3
"""Machines from files of others: read, shown, drawn, bounded; what cannot be read is refused in one line.

Usage: import.py CHORALE SHARED

SHARED is where the real files are (data/topology); without it only texts of this test are read, and it
reports it.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

chorale, shared = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]) / "data/topology"
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_import_"))
faults = []


def runs(*arguments):
    return subprocess.run([str(chorale), *map(str, arguments)], capture_output=True, text=True, cwd=work, timeout=300)


def expect(holds, *what):
    if not holds:
        faults.append(" ".join(map(str, what)))


def refused(what, *arguments):
    done = runs(*arguments)
    lines = done.stderr.strip().split("\n")
    expect(done.returncode == 2 and done.stdout == "" and len(lines) == 1 and lines[0].startswith("chorale: error: "),
           what, done.returncode, done.stdout[:200], done.stderr[:400])
    return done.stderr


# Two NVLinks between three GPUs in a row, one NIC.
GPU = '<pci busid="0:{0}" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="{0}" sm="80" rank="{0}">{1}</gpu></pci>'
LINK = '<nvlink target="0:{}" count="{}" tclass="0x030200"/>'
NIC = ('<pci busid="9:0" class="0x020000" link_speed="16 GT/s" link_width="16">'
       '<nic><net name="mlx5_0" dev="0" speed="100000" port="1"/></nic></pci>')
NODE = ('<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">' +
        GPU.format(0, LINK.format(1, 2)) + GPU.format(1, LINK.format(0, 2) + LINK.format(2, 2)) +
        GPU.format(2, LINK.format(1, 2)) + NIC + "</cpu></system>")
(work / "node.xml").write_text(NODE)

done = runs("topology", "import", "node.xml", "-o", "node.json", "--json", "report.json")
expect(done.returncode == 0 and "wrote node.json" in done.stdout and "assumed:" in done.stdout, done)
report = json.loads((work / "report.json").read_text())
machine = json.loads((work / "node.json").read_text())
expect(report["machine"] == machine and machine["ranks"] == 3 and len(report["names"]) == 3, report)
expect(any("--nodes" in line for line in report["assumed"]), report["assumed"])
# A row of three: an end receives both foreign chunks over its one link, whose two NVLinks are one unit.
bound = runs("bounds", "./node.json", "allgather")
expect("any chunk count:   2 rounds per chunk at least" in bound.stdout, bound.stdout, bound.stderr)
expect(runs("topology", "import", "node.xml", "-o", "-").stdout == (work / "node.json").read_text(), "-o -")

done = runs("topology", "import", "node.xml", "node.xml", "-o", "two.json")
expect(done.returncode == 0 and json.loads((work / "two.json").read_text())["ranks"] == 6, done)
done = runs("frontier", "./two.json", "allgather", "--conflicts", "0")
expect(done.returncode in (0, 3), done)
shown = runs("topology", "show", "./two.json", "--html", "two.html")
expect(shown.returncode == 0 and "6 ranks" in shown.stdout, shown)
page = (work / "two.html").read_text()
expect("<svg" in page and '"ranks":6' in page and "http://" not in page.replace("http://www.w3.org/2000/svg", ""), "page")

(work / "cut.xml").write_text(NODE[:300])
(work / "bomb.xml").write_text('<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><system version="1">&b;</system>')
(work / "slow.xml").write_text(NODE.replace('speed="100000"', 'speed="-5"'))
(work / "graphs.xml").write_text('<graphs version="1"/>')
(work / "huge.json").write_text(json.dumps({"name": "x", "gpus_per_node": 10**9, "alpha": 1, "node_betas_list": [1]}))
(work / "cycle.json").write_text(json.dumps({"msccl_type": "topology", "links": [[1]]}))
(work / "odd.txt").write_text("no machine at all\n")
for name, words in [("cut.xml", "is not XML"), ("bomb.xml", "declares entities"), ("slow.xml", "out of range"),
                    ("graphs.xml", "only graphs"), ("huge.json", "gpus_per_node"), ("cycle.json", "to itself"),
                    ("odd.txt", "no known format"), ("missing.xml", "missing.xml")]:
    expect(words in refused(name, "topology", "import", name, "-o", "out.json"), name, words)
expect(not (work / "out.json").exists(), "a refused file was written")
refused("--nodes", "topology", "import", "node.xml", "--nodes", "1000000000")
refused("--error", "topology", "import", "node.xml", "--error", "2")
refused("no file", "topology", "import")

# What is changed about a machine, for every command that takes one.
for command in [["topology", "show", "ring:4"], ["bounds", "ring:4", "allgather"], ["classic", "ring_allgather", "ring:4"],
                ["frontier", "ring:4", "allgather", "--conflicts", "100"], ["synthesize", "ring:4", "allgather"],
                ["hierarchy", "show", "ring:4"],
                ["place", "ring:4", "--axes", "data=4", "--reduce", "data", "--bytes", "1M"]]:
    expect("no link 0-2" in refused(command, *command, "--without-link", "0-2"), command)
    expect("is not a rank" in refused(command, *command, "--without-rank", "7"), command)
    expect("is not a fraction" in refused(command, *command, "--degrade", "0-1=2"), command)
bound = runs("bounds", "ring:4", "allgather", "--without-link", "0-1")
expect("ring:4 without link 0-1" in bound.stdout and "3 rounds per chunk at least" in bound.stdout, bound.stdout)
done = runs("frontier", "ring:8", "allreduce", "--without-rank", "3", "--without-link", "0-1", "--conflicts", "0")
expect("no path from rank 0 to rank 1" in done.stderr and done.returncode == 2, done)  # a ring cut twice is in two parts
done = runs("frontier", "ring:4", "allgather", "--without-rank", "3", "--json", "line.json")
expect(done.returncode == 0 and runs("check", "line.json").returncode == 0, done)
slow = runs("topology", "show", "ring:4", "--degrade", "0-1=0.5", "--degrade", "2-3=0.25")
expect("ring:4 with 0-1=0.5, with 2-3=0.25" in slow.stdout and slow.returncode == 0, slow)

if shared.is_dir():
    for file in sorted(shared.iterdir()):
        done = runs("topology", "import", file, "-o", "real.json")
        expect(done.returncode == 0, file.name, done.stderr)
        bound = runs("bounds", "./real.json", "allgather")
        found = [line for line in bound.stdout.split("\n") if line.startswith("any chunk count:")]
        expect(bound.returncode == 0 and len(found) == 1, file.name, bound.stdout, bound.stderr)
        expect(runs("topology", "show", "./real.json", "--html", "real.html").returncode == 0, file.name)
        print(f"{file.name}: {json.loads((work / 'real.json').read_text())['ranks']} ranks, Allgather "
              f"{found[0].split(':')[1].strip() if found else '?'}")
else:
    print(f"SKIPPED: no real files are here ({shared} is missing)")

print("\n".join(faults) or "machines are read, or refused in one line")
sys.exit(1 if faults else 0)
