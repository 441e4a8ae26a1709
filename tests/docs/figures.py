"""The figures of docs/results.md are those of the logs and pages that it cites, and what loses is said. Each
number in the caption of the figure, in a row of the table of peers, or in a bullet that cites a log, is in a
file that the row or bullet links, or in a log that such a page links, at the digits that the page has; or it is
counted here from the rows of that file. Left out are cells and sentences that cite other sites, whose numbers
are theirs, names of machines, and text in code. Sentences of results that lose are put together here from the
rows, and must be in the page.
Usage: figures.py SOURCE_DIRECTORY
"""
import math
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1]).resolve()
page = source / "docs/results.md"
results_page = page.read_text()
results = source / "benchmarks/results"
faults = []


def log(name):
    return (results / name).read_text()


def rows_of(page, *cells):
    """The cells of a table's rows that have as many."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ") and line.count(" | ") == len(cells) - 1]


def microseconds(text):
    value, unit = re.search(r"([\d.]+) (us|ms)", text).groups()
    return float(value) * {"us": 1, "ms": 1000}[unit]


# ---- What is counted or computed from the rows of a file.
def te_ccl():
    """(message, ours over theirs) of each row."""
    page = (source / "docs/paper-te-ccl.md").read_text()
    rows = [row for row in rows_of(page, *"sizes time rate solver command printed".split()) if re.match(r"\d+[KMG]B$", row[0])]
    return [(row[0], microseconds(row[5]) / microseconds(row[1]), int(row[3])) for row in rows]


def astrasim():
    return [(float(theirs), float(ours)) for theirs, ours in re.findall(
        r"^\S+_\d+ +\w+ +\d+ +([\d.]+) +\S+ +[\d.]+ +([\d.]+) +\d+ ", log("astrasim.log"), re.M)]


plans = te_ccl()
ratios = [1 / ratio for _, ratio, _ in plans]
small = [ratio for size, ratio, _ in plans if size.endswith("KB")]
slower = [ours / theirs for theirs, ours in astrasim() if ours > theirs * 1.001]
shares = [float(share) for share in re.findall(r"^ *\d+ [KMG]iB .* ([\d.]+) %  two_tree", log("readme.log"), re.M)]
random_allreduce = re.findall(r"^random:1024 +frontier allreduce .* ([\d.]+) %$", log("scale.log"), re.M)
total = re.search(r"^(\d+) rows on (\d+) machines; ([\d.]+) to ([\d.]+) times as fast as the best of SMPI, which is faster in (\d+)$", log("simgrid.log"), re.M)
ahead = [each for each in re.findall(r"^\S+ +\S+ +[\d.]+ +[\d.]+, \S+ s +[\d.]+, \S+ s +([\d.]+), \S+ s +([\d.]+), ", log("reshard.log"), re.M)
         if float(each[0]) < float(each[1]) - 0.01]  # M2N's ring of nodes before the plan
orders = [tuple(map(int, row)) for row in re.findall(r"^\w.*?  +(\d+) / (\d+) ", log("node_order.log"), re.M)]
COUNTED = {
    "compare.log": [len(set(re.findall(r"^(\S+) +\w+ +\d+ +\(", log("compare.log"), re.M)))],
    "paper-te-ccl.md": [min(ratios), max(ratios), sum(ratio < 1 for ratio in ratios), len(ratios), min(small), max(small), 64, *(s for _, _, s in plans)],
    "astrasim.log": [100 * (slower[0] - 1)],
    "node_order.log": [sum(proven for proven, _ in orders[:5]), sum(proven for proven, _ in orders[5:]), sum(asked for _, asked in orders[:5])],
    "proofs.log": [math.prod(map(int, re.search(r"(\d+) machines x (\d+) collectives x 1 to (\d+) chunks", log("proofs.log")).groups()))],
}
assert len(plans) == 15 and len(shares) == 11 and len(astrasim()) == 45 and len(slower) == 1 and len(orders) == 10 and ahead, (len(plans), len(shares), len(astrasim()), slower, orders)

# ---- What loses, as it has to be said.
SAID = [
    f"{min(ratios):.2f}x to {max(ratios):.2f}x, slower in {sum(ratio < 1 for ratio in ratios)} of {len(ratios)} rows",
    f"TE-CCL's plans are {min(small):.2f} to {max(small):.2f} times as fast",
    f"{total[3]}x to {total[4]}x, slower in {total[5]} rows",
    f"slower in {len(slower)} by {100 * (slower[0] - 1):.2f} %",
    f"at 1 MiB, where they are farthest from it, {min(shares)} %",
    f"{random_allreduce[-1]} % over the bound",
    *(ratio for pair in ahead for ratio in pair),
]
whole = " ".join(results_page.split())
faults += [f"docs/results.md: does not say: {words}" for words in SAID if words not in whole]


# ---- Each number of a row, or of a bullet, in what it cites.
def numbers(text):
    """The numbers of a text without code, links and names of machines: as shown, the values that a log may have
    for it, and how far these may be off."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|\barXiv:\S+|\bnccl \d+|\b[A-Z][\w-]*-\d+\b|\b\w+:\d\S*|\d+x\d+(?:x\d+)?\b|\bOpen MPI [\d.]+", " ", text)
    for found in re.finditer(r"(?<![\w.,/])(\d[\d,]*\d|\d)(\.\d+)?(/\d+)?( %| KiB)?", text):
        value, off = float((found[1] + (found[2] or "")).replace(",", "")), 0.5 * 10 ** -(len(found[2] or ".") - 1)
        if found[3]:
            yield found[0], [(value / int(found[3][1:]), 5e-5)]
        else:
            yield found[0], [(value, off)] + {" %": [(1 + value / 100, off / 100)], " KiB": [(1024 * value, 0)]}.get(found[4], [])


def of_source(text):
    return [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])(\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?)", text)]


def linked(text):
    """The files of the tree that a text links, and the logs that these pages link."""
    files = [(page.parent / target).resolve() for target in re.findall(r"\]\(([\w/.-]+\.(?:log|md))(?:#[\w-]*)?\)", text)]
    for linked_page in [file for file in files if file.suffix == ".md"]:
        files += [(linked_page.parent / target).resolve() for target in re.findall(r"\]\(([\w/.-]+\.log)\)", linked_page.read_text())]
    return files


def compare(where, text):
    files = linked(text)
    words = "\n".join(file.read_text() for file in files)
    known = of_source(words) + [value for file in files for value in COUNTED.get(file.name, [])]
    compared = 0
    for shown, values in numbers(text):
        compared += 1
        if shown not in words and not any(abs(value - each) <= off * (1 + 1e-9) for value, off in values for each in known):
            faults.append(f"docs/results.md: {where}: {shown} is in none of {', '.join(sorted({file.name for file in files}))}")
    return compared


caption = re.search(r"^!\[.*?\n\n(.*?)\n\n", results_page, re.M | re.S)[1]
checked, rows = compare("the figure's caption", caption + "[log](../benchmarks/results/readme.log)"), 1
table = results_page[results_page.index("## Against peers"):]
for line in table[:table.index("\n## ", 5)].splitlines():
    if line.startswith("| ") and not line.startswith("| question"):
        own = [cell for cell in line.split(" | ") if "](http" not in cell]
        assert linked(own[-1]), line
        checked += compare(line[2:50], " | ".join(own))
        rows += 1
section = results_page[results_page.index("## Features"):]
for bullet in re.findall(r"^- (.*?)(?=^- |\Z)", section, re.M | re.S):
    bullet = " ".join(bullet.split())
    sentences = re.split(r"(?<=[.)]) (?=[A-Z\[])", bullet)
    own = " ".join(each for each in sentences if "](http" not in each)
    if linked(own):
        checked += compare(bullet[:50], own)
        rows += 1

# What it has to find, so that it can fail.
before = list(faults)
compare("a row that is wrong", "9.99x ([log](../benchmarks/results/simgrid.log)), 106 rows")
assert len(faults) == len(before) + 1 and "9.99" in faults[-1], faults
faults = before
print("\n".join(faults) or f"{checked} numbers of {rows} rows and bullets are in what they cite; {len(SAID)} results that lose are said")
sys.exit(1 if faults or rows < 12 or checked < 80 else 0)
