#!/usr/bin/env python3
"""One box, one answer: what bounds say of a machine by the file of its drivers and by its name.

Usage: names.py CHORALE [--line-rates]

A row for each real file in tests/data/topology, and for three inputs of our own in their forms: GB/s of bus
bandwidth that no AllReduce and no Allgather beats on the machine of the file and on that of the name, and the
ratio of the two. Exit code 1: a ratio is off by more than 3 %, where the file has rates of its own.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

tree = pathlib.Path(__file__).resolve().parents[1]
FILES = "tests/data/topology"
PAIRS = [
    (f"{FILES}/azure-ncv4-topo.xml", "nc-a100-v4"), (f"{FILES}/azure-ndv4-topo.xml", "nd-a100-v4:1"),
    (f"{FILES}/h100.xml", "dgx-h100:1"), (f"{FILES}/nvidiaDGX2.xml", "hgx-2:1"), (f"{FILES}/topo_16p1h.xml", "mi250:1"),
    (f"{FILES}/topo_4p1h.xml", "mi50"), (f"{FILES}/topo_8p6l.xml", "mi100"), (f"{FILES}/topo_8p_940.xml", "mi300x:1"),
    (f"{FILES}/topo_8p_pcie.xml", "mi50-pcie:1x2x4"), (f"{FILES}/topo_8p_rome.xml", "mi50-rome"),
    (f"{FILES}/topology_p4d-24xl-topo.xml", "p4d:1"), (f"{FILES}/topo-ndv2-1MB.json", "ndv2"),
    (f"{FILES}/topo-dgx2-1MB.json", "hgx-2:1"),
    ("examples/h100.txt", "dgx-h100:1"), ("examples/dgx_a100_4nics.txt", "dgx-a100:1"),
    ("tests/data/repro/public/quad_mesh.txt", "hgx-a100-4"),
]
# What TACCL measured, in whole microseconds for a megabyte, and no line rates.
MEASURED = {"topo-ndv2-1MB.json", "topo-dgx2-1MB.json"}


def limits(chorale, file, name, options):
    """By collective: the bounds of the file and of the name."""
    done = subprocess.run([chorale, "compare", file, name, "allreduce", "allgather", "--json", "-", *options], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    answer = json.loads(done.stdout)
    return answer["sides"][0]["ranks"], {a["collective"]: (a["busbw_gbs"], b["busbw_gbs"]) for a, b in zip(*answer["limits"])}


def as_machine(chorale, file, folder):
    """What the Python package reads is a machine of Chorale first."""
    if not file.endswith(".json"):
        return str(tree / file)
    subprocess.run([chorale, "topology", "import", str(tree / file), "-o", str(folder / "machine.json"), "-q"], check=True)
    return str(folder / "machine.json")


def main():
    chorale, options = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    worst, folder = 1.0, tempfile.TemporaryDirectory()
    print(f"{'file':29}{'name':17}ranks  AllReduce by file, by name  ratio   Allgather by file, by name  ratio")
    for file, name in PAIRS:
        short = pathlib.Path(file).name
        if options and short in MEASURED:
            continue
        ranks, of = limits(chorale, as_machine(chorale, file, pathlib.Path(folder.name)), name, options)
        ratios = [of[c][1] / of[c][0] for c in ("allreduce", "allgather")]
        print(f"{short:29}{name:17}{ranks:5}{of['allreduce'][0]:19.1f}{of['allreduce'][1]:9.1f}{ratios[0]:7.3f}"
              f"{of['allgather'][0]:20.1f}{of['allgather'][1]:9.1f}{ratios[1]:7.3f}" + (" *" if short in MEASURED else ""))
        worst = max([worst] + [max(r, 1 / r) for r in ratios if short not in MEASURED])
    print("*: the file has what TACCL measured, in whole microseconds for a megabyte")
    print(f"the others are within {100 * (worst - 1):.1f} %")
    sys.exit(worst > 1.03)


main()
