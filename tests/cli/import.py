#!/usr/bin/env python3
"""Machines from files of others: read, shown, drawn, bounded; what cannot be read is refused in one line.

Usage: import.py CHORALE DATA, the folder tests/data.
"""
import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run as any_program, run_chorale as run, work  # noqa: E402

files = pathlib.Path(sys.argv[2]).resolve() / "topology"
source = pathlib.Path(__file__).resolve().parents[2]


# Two NVLinks between three GPUs in a row, one NIC.
GPU = '<pci busid="0:{0}" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="{0}" sm="80" rank="{0}">{1}</gpu></pci>'
LINK = '<nvlink target="0:{}" count="{}" tclass="0x030200"/>'
NIC = ('<pci busid="9:0" class="0x020000" link_speed="16 GT/s" link_width="16">'
       '<nic><net name="mlx5_0" dev="0" speed="100000" port="1"/></nic></pci>')
NODE = ('<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">' +
        GPU.format(0, LINK.format(1, 2)) + GPU.format(1, LINK.format(0, 2) + LINK.format(2, 2)) +
        GPU.format(2, LINK.format(1, 2)) + NIC + "</cpu></system>")
(work / "node.xml").write_text(NODE)

done = run("topology", "import", "node.xml", "-o", "node.json", "--json", "report.json")
assert "wrote node.json" in done and "assumed:" in done, done
report = json.loads((work / "report.json").read_text())
machine = json.loads((work / "node.json").read_text())
assert report["machine"] == machine and machine["ranks"] == 3 and len(report["names"]) == 3, report
assert any("--nodes" in line for line in report["assumed"]), report["assumed"]
# A row of three: an end receives both foreign chunks over its one link, whose two NVLinks are one unit.
bound = run("bounds", "./node.json", "allgather")
assert "any chunk count:  2 rounds per chunk at least" in bound, bound
assert run("topology", "import", "node.xml", "-o", "-") == (work / "node.json").read_text(), "-o -"

done = run("topology", "import", "node.xml", "node.xml", "-o", "two.json")
assert json.loads((work / "two.json").read_text())["ranks"] == 6, done
run("frontier", "./two.json", "allgather", "--conflicts", "0", code=(0, 3))
shown = run("topology", "show", "./two.json", "--html", "two.html")
assert "6 ranks" in shown, shown
page = (work / "two.html").read_text()
assert "<svg" in page and '"ranks":6' in page and "http://" not in page.replace("http://www.w3.org/2000/svg", ""), "page"

(work / "cut.xml").write_text(NODE[:300])
(work / "bomb.xml").write_text('<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><system version="1">&b;</system>')
(work / "slow.xml").write_text(NODE.replace('speed="100000"', 'speed="-5"'))
(work / "graphs.xml").write_text('<graphs version="1"/>')
(work / "odd.txt").write_text("no machine at all\n")
for name, words in [("cut.xml", "is not XML"), ("bomb.xml", "declares entities"), ("slow.xml", "out of range"),
                    ("graphs.xml", "only graphs"), ("odd.txt", "no known format"), ("missing.xml", "missing.xml")]:
    refused("topology", "import", name, "-o", "out.json", says=words)
assert not (work / "out.json").exists(), "a refused file was written"
refused("topology", "import", "node.xml", "--nodes", "1000000000", says="--nodes")
for far in ("2", "0", "1e999"):
    refused("topology", "import", "node.xml", "--error", far, says="use 1e-09 to 0.5")
refused("topology", "import", says="files is required")

# A GPU that lost its NVLinks: named with its line, and what it costs is the bound of the file beside that of
# the file where it was never lost. With a fault that no twin heals, the record alone.
whole = (files / "h100.xml").read_text()
lost = re.sub(r'(<gpu dev="5".*?>).*?</gpu>', r"\1</gpu>", whole, flags=re.S)
(work / "lost.xml").write_text(lost)
assert run("topology", "lint", files / "h100.xml", "--json", "none.json").startswith("0 odd records in 1 file"), "h100"
text = run("topology", "lint", "lost.xml", "--json", "lint.json", code=1)
(odd,) = json.loads((work / "lint.json").read_text())["odd"]
line = 1 + whole[:whole.index('<gpu dev="5"')].count("\n")
assert odd["record"].startswith(f"lost.xml:{line}: gpu5 (") and "has no NVLink, where 7 of 8 GPUs have" in odd["record"], odd
for printed in (text, run("topology", "import", "lost.xml", "-o", "lost.json")):
    assert odd["record"] in " ".join(printed.split()), printed
run("compare", files / "h100.xml", "lost.xml", "--json", "both.json", code=(0, 3))
limits = [{each["collective"]: each["busbw_gbs"] for each in side} for side in json.loads((work / "both.json").read_text())["limits"]]
assert odd["ranks"] == 8 and [odd["healed_gbs"], odd["gbs"]] == [side[odd["collective"]] for side in limits], (odd, limits)
(work / "speed.xml").write_text(whole.replace("32.0 GT/s", "24 GT/s", 1))
assert "24 GT/s, which no generation of PCI has" in run("topology", "lint", "speed.xml", code=1)
refused("topology", "lint", source / "examples/topology.conf", says="describes no node")

# Parts by name: what is left is the machine of a file in which the same record was changed by hand.
for changes, by_hand in [(["--without-link", "node1:mlx5_3"], (r'<net name="mlx5_3".*?/>', "")), (["--without-link", "node1:nic3"], (r'<net name="mlx5_3".*?/>', "")),
                         (["--degrade", "node1:mlx5_8=0.5"], (r'(<net name="mlx5_8".*?speed=)"180000"', r'\1"90000"')),
                         (["--without-link", "node1:nvswitch2"], (r'<nvlink target="0000:f2:00.0".*?/>', ""))]:
    changed, times = re.subn(*by_hand, whole)
    assert times == (8 if "nvswitch2" in changes[1] else 1), (changes, times)
    (work / "changed.xml").write_text(changed)
    run("topology", "import", files / "h100.xml", "changed.xml", "-o", "hand.json")
    shown = json.loads(run("topology", "show", files / "h100.xml", "--nodes", "2", *changes, "--json"))
    assert shown["links"] == json.loads((work / "hand.json").read_text())["links"] and shown["topology"].endswith(("without link " if "out" in changes[0] else "with ") + changes[1]), (changes, shown["topology"])
# What binds says which NIC, in words and as JSON; as these names are written, or in capitals.
slow = ("optimize", source / "examples/node.xml", "allgather", "--nodes", "2", "--degrade", "NODE1:MLX5_1=0.5", "--sizes", "1G", "--effort", "1")
answer = json.loads(run(*slow, "--json", "answer.json", code=(0, 3)) and (work / "answer.json").read_text())
assert "node1:mlx5_1" in [name for part in answer["binding"]["parts"] for name in part["names"]], answer["binding"]
refused("bounds", files / "h100.xml", "allreduce", "--nodes", "2", "--without-link", "mlx5_3", says="'mlx5_3' is in 2 nodes; use node0:mlx5_3")
refused("bounds", files / "h100.xml", "allreduce", "--degrade", "mlx5_99=0.5", says="one of gpu0, mlx5_0")
refused("bounds", files / "h100.xml", "allreduce", "--nodes", "2", "--without-link", "node2:mlx5_0", says="one of node0:gpu0, node0:mlx5_0")
refused("bounds", files / "h100.xml", "allreduce", "--without-link", "mlx5_3", says="those of one node lead nowhere; join several nodes")
# A cable has one name: what is printed is taken, before the collective too. On PCI a GPU's name is its link.
run("optimize", "rtx-4090:1x1x4", "--degrade", "0-switch0=0.5", "allreduce", "--sizes", "1G", "--effort", "1", "--json", "answer.json", code=(0, 3))
(names,) = [part["names"] for part in json.loads((work / "answer.json").read_text())["binding"]["parts"]]
assert names == ["gpu0>PCI switch"], names
assert "gpu0" in run("topology", "show", "rtx-4090:1x1x4", "--without-link", names[0])
assert "NOT connected" in run("topology", "show", files / "topo_8p_pcie.xml", "--without-link", "gpu5")
halved = json.loads(run("topology", "show", files / "topo_8p_pcie.xml", "--degrade", "gpu5=0.25", "--json"))
whole_pci = json.loads(run("topology", "show", files / "topo_8p_pcie.xml", "--json"))
rates = [sorted(link["bandwidth"] / link["beta_us_per_byte"] for link in each["links"] if 5 in (link["src"], link["dst"])) for each in (halved, whole_pci)]
assert all(abs(2 * slow - fast) < 0.06 * fast for slow, fast in zip(*rates)), rates

# One box, one answer: of 16 files and the names of such machines, by what programs reach and by datasheets.
for more in ([], ["--line-rates"]):
    names = any_program(sys.executable, source / "benchmarks" / "names.py", pathlib.Path(sys.argv[1]).resolve(), *more)
    assert names.count("1.000") >= 2 * 14 and "the others are within 0." in names, names


def busbw(*machine):
    rows = json.loads(run("optimize", *machine, "allreduce", "--sizes", "1G", "--search-time", "0.2", "--json", "-", code=(0, 3)).stdout)["rows"]
    return rows[0]["busbw_gbs"]


# A DGX H100 by its datasheet: 450 GB/s of 370.8.
assert abs(busbw("dgx-h100:1", "--line-rates", "--switches-forward-only") / busbw("dgx-h100:1", "--switches-forward-only") - 450 / 370.8) < 0.01
# The table of facts has what the name was made of, and where it is from.
facts = " ".join(run("topology", "facts").split())
assert "NVLink 4 25 20.6 0.8" in facts and "NCCL, sm 90" in facts and "azure-h100-1n-ar" in facts, facts
refused("bounds", "ring:4", "allgather", "--line-rates", says="ring:4 has the same rates without it; leave it out")

# What was read of a file and assumed is under its answers, too, and under no others.
answer = run("optimize", "./node.xml", "allgather", "--sizes", "1M", "--search-time", "0.1", code=(0, 3))
for line in report["read"] + report["assumed"]:
    assert " ".join(line.split()) in " ".join(answer.split()), (line, answer)
assert "assumed:" not in run("optimize", "ring:4", "allgather", "--sizes", "1M", "--search-time", "0.1", code=(0, 3))

# What is changed about a machine, for every command that takes one.
for command in [["topology", "show", "ring:4"], ["bounds", "ring:4", "allgather"], ["classic", "ring_allgather", "ring:4"],
                ["frontier", "ring:4", "allgather", "--conflicts", "100"], ["synthesize", "ring:4", "allgather"],
                ["hierarchy", "show", "ring:4"],
                ["place", "ring:4", "--axes", "data=4", "--reduce", "data", "--bytes", "1M"]]:
    refused(*command, "--without-link", "0-2", says="no link 0-2")
    refused(*command, "--without-rank", "7", says="is not a rank")
    refused(*command, "--degrade", "0-1=2", says="is not a fraction")
bound = run("bounds", "ring:4", "allgather", "--without-link", "0-1")
assert "ring:4 without link 0-1" in bound and "3 rounds per chunk at least" in bound, bound
# A ring cut twice is in two parts.
refused("frontier", "ring:8", "allreduce", "--without-rank", "3", "--without-link", "0-1", "--conflicts", "0", says="no path from rank 0 to rank 1")
run("frontier", "ring:4", "allgather", "--without-rank", "3", "--json", "line.json")
run("check", "line.json")
slow = run("topology", "show", "ring:4", "--degrade", "0-1=0.5", "--degrade", "2-3=0.25")
assert "ring:4 with 0-1=0.5, with 2-3=0.25" in slow, slow

for file in sorted(files.iterdir()):
    run("topology", "import", file, "-o", "real.json")
    (found,) = [line for line in run("bounds", "./real.json", "allgather").split("\n") if line.startswith("any chunk count:")]
    run("topology", "show", "./real.json", "--html", "real.html")
    print(f"{file.name}: {json.loads((work / 'real.json').read_text())['ranks']} ranks, Allgather {found.split(':')[1].strip()}")

print("machines are read, or refused in one line")
