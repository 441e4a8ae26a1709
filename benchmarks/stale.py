#!/usr/bin/env python3
"""Logs whose machines have other rates now: which of benchmarks/results name machines of the table of facts, and
were made by other numbers.

Usage: stale.py

A line per log: the commit that wrote it, the documents that cite it, and the machines. What counts are the rates
of links and PCI, the parts of networks and the shares of switches in topology/hardware/facts.cpp at that commit.
"""
import pathlib
import re
import subprocess

tree = pathlib.Path(__file__).resolve().parents[1]
FACTS = "topology/hardware/facts.cpp"
NAMES = r"(?:dgx-a100|dgx-h100|b200|gb200-nvl72|p4d|p5(?:en)?|nd-[ah]100-v[45]|hgx-2|mi250|mi3[05]5?x|h100|rail|pods):[0-9x]+"
FILES = r"(?:topo_\w+|[hH]100[-\w]*|azure-[-\w]*)\.(?:xml|json)"


def git(*words):
    return subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True).stdout.strip()


def rates_at(commit):
    """By table, its rows up to their sources. A commit before the tables has none."""
    text = git("show", f"{commit}:{FACTS}")
    tables = re.findall(r"constexpr (Link|Switch|Network|Pci)Facts k\w+\[\] = \{(.*?)^\};", text, re.S | re.M)
    return {table: {" ".join(row.split()) for row in re.findall(r'\{(?:"[^"]*"|\d+)[^"]*"', body)} for table, body in tables}


def are_rates_of(then, now, machines):
    """Rows that came since do not count, nor do switches of machines that have none that add."""
    tables = [table for table in now if table != "Switch" or re.search("h100|H100|b200|p5", " ".join(machines))]
    return bool(then) and all(then[table] <= now[table] for table in tables)


def main():
    now = rates_at("HEAD")
    assert len(now) == 4, now.keys()
    pages = [page for page in [*tree.glob("*.md"), *tree.glob("docs/*.md")]]
    stale = 0
    for log in sorted((tree / "benchmarks" / "results").iterdir()):
        machines = sorted(set(re.findall(rf"\b(?:{NAMES}|{FILES})", log.read_text(errors="replace"))))
        made = git("log", "-1", "--format=%h", "--", str(log))
        if not machines or not made or are_rates_of(rates_at(made), now, machines):
            continue
        cited = [page.name for page in pages if f"results/{log.name}" in page.read_text()]
        print(f"{log.name}: {made}, cited by {', '.join(cited) or 'none'}: {', '.join(machines[:6])}")
        stale += 1
    print(f"{stale} logs are of other rates")


main()
