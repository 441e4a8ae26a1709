#!/usr/bin/env python3
"""The site that packaging/site.py makes: it is made without a network, every link in it leads somewhere
inside, nothing is loaded from elsewhere; every exit code that a help text has is in docs/exit-codes.md;
calls of the Python package have docstrings.

Usage: site.py CHORALE SOURCE_DIRECTORY
"""
import html.parser
import pathlib
import re
import shutil
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, run_chorale, skip, work  # noqa: E402

chorale, source = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
codes = set()
overview = run_chorale("--help")
for command in re.findall(r"^  ([a-z]+)  ", overview, re.M):
    text = run_chorale(command, "--help")
    said = re.search(r"exit codes: (.*?)(?=\n\S|\Z)", text, re.S)
    codes |= set(re.findall(r"(?:^|, )\s*(\d+) ", said[1])) if said else set()
table = set(re.findall(r"^\| (\d+) \|", (source / "docs/exit-codes.md").read_text(), re.M))
assert codes and codes <= table, f"docs/exit-codes.md lacks {sorted(codes - table)}"
if not shutil.which("mkdocs"):
    skip("no site was made: this wants mkdocs (./setup.sh --tests)")

done = run(sys.executable, source / "packaging/site.py", chorale, work / "made",
           env={"PATH": "/usr/bin:/bin", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "LC_ALL": "C.UTF-8"})
site = work / "made/site"


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.names = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        loaded = given.get("src") or (given.get("href") if tag == "link" else None)
        if loaded and given.get("rel") != "canonical":
            self.loaded.append(loaded)


pages = {path: Page(path.read_text()) for path in site.rglob("*.html") if "gallery" not in path.parent.name or path.name == "index.html"}
followed = 0
for path, page in pages.items():
    for target in page.links + page.loaded:
        parts = urllib.parse.urlsplit(target)
        if parts.scheme or parts.netloc:
            assert target in page.links, f"{path.relative_to(site)} loads {target}"
            continue
        there = (site / parts.path.lstrip("/")) if parts.path.startswith("/") else (path.parent / parts.path) if parts.path else path
        there = there / "index.html" if there.is_dir() else there
        if path.name == "404.html":
            continue
        assert there.exists(), f"{path.relative_to(site)}: {target} leads nowhere"
        if parts.fragment and there.resolve() in pages:
            assert urllib.parse.unquote(parts.fragment) in pages[there.resolve()].names, f"{path.relative_to(site)}: no {target}"
        followed += 1
assert len(pages) >= 27 and followed > 500, (len(pages), followed)
for name in ("dgx1", "torus", "nodes", "place", "tune"):
    assert "<!DOCTYPE html>" in (site / f"gallery/{name}.html").read_text()[:20], name
assert "allgather" in (site / "commands/index.html").read_text() and "chorale.frontier" in (site / "python-calls/index.html").read_text()
print(f"{done.stdout.strip()}; {followed} links followed, nothing is loaded from elsewhere; exit codes {', '.join(sorted(codes, key=int))}")
