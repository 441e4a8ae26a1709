"""What README.md and docs/*.md say must be so: every command line of a ```sh block that starts with `chorale` runs (in
the order of the page, in an empty directory), and every link and every `path/of/a.file` leads somewhere.
Usage: pages.py CHORALE SOURCE_DIRECTORY"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

chorale, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()


def commands(page):
    inside = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```sh"
        elif inside and line.startswith("chorale "):
            yield line


def names(page):
    """(as written, where it should be)"""
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            yield target, page.parent / target
    for target in re.findall(r"`([a-z_]+/[\w/.-]*\w\.(?:h|cpp|py|sh|md|html|log|json))[`\s]", text):
        if not target.startswith("build/"):
            yield target, source / target


ran = failed = named = 0
for page in [source / "README.md", source / "benchmarks/README.md", *sorted((source / "docs").glob("*.md"))]:
    for written, path in names(page):
        named += 1
        if not path.exists():
            failed += 1
            print(f"{page.name}: {written} does not exist")
    with tempfile.TemporaryDirectory() as directory:
        for line in commands(page):
            arguments = shlex.split(line, comments=True)
            done = subprocess.run([chorale, *arguments[1:]], cwd=directory, capture_output=True, text=True, timeout=550)
            ran += 1
            if done.returncode != 0:
                failed += 1
                print(f"{page.name}: {line}\nexit code {done.returncode}: {done.stderr}")
print(f"{ran} documented commands run, {named} names looked up, {failed} failed")
sys.exit(1 if failed or ran < 10 or named < 20 else 0)
