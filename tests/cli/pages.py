#!/usr/bin/env python3
"""The pages in a browser (chromium, without a window): each page in frames of 400, 1000 and 2000 pixels,
light and dark. A script beside them measures what a reader sees: texts that overlap or are cut, colours
too near to each other, what the keys do, what flies when. Skipped where there is no chromium.

Usage: pages.py CHORALE
"""
import html
import json
import pathlib
import re
import shutil
import sys
from collections import Counter
from itertools import accumulate

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run as run_other, run_chorale as run, skip, work  # noqa: E402


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def spread(column):
    """[7, [0, 255], 3] is a 7, 255 zeros, a 3 (pages/html.cpp)."""
    return [number for each in column for number in ([each[0]] * each[1] if isinstance(each, list) else [each])]


# -- the pages ---------------------------------------------------------------------------------------------
both = {"both_ways": True}
fat_tree = {"topology": "a <b>fat</b> tree", "ranks": 8, "switches": 6,
            "links": [{"src": r, "dst": 8 + r // 2, **both} for r in range(8)] +
                     [{"src": leaf, "dst": spine, **both} for leaf in range(8, 12) for spine in (12, 13)]}
(work / "fat.json").write_text(json.dumps(fat_tree))
for name, machine, arguments in [("dgx1", "dgx1", ["--max-chunks", "2"]), ("hub", "hub:8", []), ("ring", "ring:5", ["--max-chunks", "2"])]:
    run("frontier", machine, "allgather", *arguments, "--json", f"{name}.json")
run("synthesize", "fat.json", "broadcast", "--steps", "3", "--rounds", "3", "--json", "fat_result.json")
run("synthesize", "dgx-a100:4", "broadcast", "--steps", "3", "--rounds", "3", "--json", "nodes.json")
run("synthesize", "torus:8x8", "broadcast", "--steps", "8", "--rounds", "8", "--json", "torus.json")
results = ["dgx1", "hub", "ring", "fat_result", "nodes", "torus"]
none = json.loads((work / "ring.json").read_text())
none.update(points=[], claims=[], complete=False, stopped="time limit")
(work / "none.json").write_text(json.dumps(none))
for name in [*results, "none"]:
    run("show", f"{name}.json", "--html", f"{name}.html")
run("place", "a100:4", "--axes", "data=4,tensor=16", "--reduce", "tensor", "--bytes", "4GB", "--html", "place.html", "--json", "place.json")

run("tune", pathlib.Path(__file__).parents[2] / "examples/adam.chorale", "--machine", "ring:4", "--html", "tune.html")
run("tune", pathlib.Path(__file__).parents[2] / "examples/moe.chorale", "--machine", "ring:4", "--candidates", "0", "--html", "tune_one.html", code=3)

# What flies when, counted again from the page: no link and no shared limit carries more in a step than its
# bandwidth in each of its rounds.
sends = 0
for name in results:
    topology = json.loads((work / f"{name}.json").read_text())["topology"]
    page = data_of((work / f"{name}.html").read_text())
    bandwidth = spread(page["topology"]["links"]["bandwidth"])
    for point in page["points"]:
        for step in point["schedule"]:
            here = Counter(accumulate(spread(step["link"])))
            sends += sum(here.values())
            assert all(n <= bandwidth[l] * step["rounds"] for l, n in here.items()), (name, here)
            for limit in topology["limits"]:
                assert sum(here[l] for l in limit["links"]) <= limit["bandwidth"] * step["rounds"], (name, limit["name"])
assert sends > 200, sends
assert "<title>a &lt;b&gt;fat&lt;/b&gt; tree broadcast: 1 point - Chorale</title>" in (work / "fat_result.html").read_text()

chromium = next((path for path in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if path), None)
if chromium is None:
    skip(f"no chromium, so no page was looked at; {sends} sends keep to their rounds")

# -- in the browser -----------------------------------------------------------------------------------------
measure = """
const report = [];
const fault = (frame, words) => report.push(`${frame.title}: ${words}`);
const shown = node => node.getClientRects().length > 0;

function texts(doc) {  // of the drawings; those in tables and paragraphs wrap
  return [...doc.querySelectorAll('svg text')].map(t => ({text: t.textContent, svg: t.ownerSVGElement.id,
                                                          box: t.getBoundingClientRect(), limit: t.ownerSVGElement.getBoundingClientRect()}));
}
function look(frame) {
  const doc = frame.contentDocument, all = texts(doc);
  all.forEach((t, i) => {
    if (t.box.left < t.limit.left - 1 || t.box.right > t.limit.right + 1 || t.box.top < t.limit.top - 1 || t.box.bottom > t.limit.bottom + 1)
      fault(frame, `"${t.text}" is cut`);
    if (t.box.height < 5) fault(frame, `"${t.text}" is ${t.box.height} pixels high`);
    for (const u of all.slice(0, i))  // boxes are a little higher than what is in them
      if (u.svg === t.svg && t.box.left < u.box.right - 1 && u.box.left < t.box.right - 1 &&
          t.box.top < u.box.bottom - 4 && u.box.top < t.box.bottom - 4) fault(frame, `"${t.text}" on "${u.text}"`);
  });
  const root = doc.documentElement;
  if (root.scrollWidth > root.clientWidth + 1) fault(frame, `${root.scrollWidth} pixels wide`);
  for (const cell of doc.querySelectorAll('h1, h2, p, td, th, button'))
    if (shown(cell) && cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth > 0) fault(frame, `"${cell.textContent}" is cut`);
  for (const section of doc.querySelectorAll('section'))
    if (section.textContent.trim() === '') fault(frame, 'an empty panel');
}

function luminance(colour) {
  const c = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}
function contrast(frame) {  // of the colours of words with those that they stand on: WCAG's 4.5
  const doc = frame.contentDocument, probe = doc.body.appendChild(doc.createElement('i'));
  const value = name => { probe.style.color = `var(--${name})`; return luminance(frame.contentWindow.getComputedStyle(probe).color); };
  for (const [words, grounds] of [['ink', ['paper', 'ground', 'chosen', 'rank', 'switch', 'box']], ['soft', ['paper', 'box', 'chosen']],
                                  ['good', ['paper', 'chosen']], ['open', ['paper', 'chosen']], ['bound', ['paper']]])
    for (const ground of grounds) {
      const a = value(words), b = value(ground), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) fault(frame, `${words} on ${ground}: contrast ${ratio.toFixed(1)}`);
    }
  probe.remove();
}

function press(frame, key) {
  frame.contentDocument.body.dispatchEvent(new frame.contentWindow.KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
}
function keys(frame) {
  const doc = frame.contentDocument, text = id => doc.getElementById(id).textContent;
  const expect = (words, is) => { if (!is) fault(frame, `key ${words}: ${text('step-title')}, ${text('clock')}`); };
  const points = doc.querySelectorAll('tr.point').length;
  press(frame, 'End');
  expect('End', text('step-title').startsWith('After'));
  press(frame, 'Home');
  expect('Home', text('step-title').startsWith('Step 1 of') && text('clock').startsWith('0.0'));
  press(frame, 'ArrowRight');
  expect('right', !text('clock').startsWith('0.0'));
  press(frame, 'ArrowLeft');
  expect('left', text('clock').startsWith('0.0'));
  press(frame, ' ');
  expect('space', text('play') === 'pause');
  press(frame, ' ');
  expect('space again', text('play') === 'play');
  const chosen = () => [...doc.querySelectorAll('tr.point')].findIndex(row => row.classList.contains('chosen'));
  press(frame, '0');
  expect('0', chosen() === 0);
  press(frame, 'ArrowDown');
  expect('down', chosen() === Math.min(1, points - 1));
  press(frame, 'ArrowUp');
  expect('up', chosen() === 0);
  press(frame, '?');
  expect('?', doc.getElementById('help').open);
  press(frame, '?');
  expect('? again', !doc.getElementById('help').open);
}

window.addEventListener('load', () => {
  let looks = 0;
  for (const frame of document.querySelectorAll('iframe')) {
    const doc = frame.contentDocument;
    if (!doc.getElementById('title') || doc.getElementById('title').textContent === '') fault(frame, 'its script stopped');
    for (const theme of ['light', 'dark']) {
      doc.documentElement.dataset.theme = theme;
      contrast(frame);
    }
    look(frame);
    ++looks;
    if (frame.dataset.keys) keys(frame);
    if (doc.querySelector('svg text b, svg b, h1 b')) fault(frame, 'a name became markup');
    const end = doc.querySelector('#time');
    if (!end) continue;
    press(frame, 'ArrowRight');
    look(frame);
    ++looks;
  }
  const said = document.body.appendChild(document.createElement('pre'));
  said.id = 'report';
  said.textContent = JSON.stringify({looks, report});
});
"""
frames = []
for name in [*results, "none", "place", "tune", "tune_one"]:
    page = html.escape((work / f"{name}.html").read_text())
    for width in (400, 1000, 2000):
        keyed = 'data-keys="1"' if name in ("dgx1", "hub", "torus") and width == 1000 else ""
        frames.append(f'<iframe title="{name} at {width}" {keyed} style="width: {width}px; height: 1200px" srcdoc="{page}"></iframe>')
(work / "all.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{''.join(frames)}<script>{measure}</script>")
done = run_other(chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={work / 'profile'}",
                 "--virtual-time-budget=20000", "--dump-dom", (work / "all.html").as_uri(), code=None)
said = re.search(r'<pre id="report">(.*?)</pre>', done.stdout, re.S)
assert said, f"no report: exit code {done.returncode}\n{done.stderr[-2000:]}"
said = json.loads(html.unescape(said[1]))
assert not said["report"], "\n".join(said["report"])
assert said["looks"] >= 40, said["looks"]
print(f"{sends} sends keep to their rounds; {len(frames)} frames, {said['looks']} looks, nothing overlaps or is cut")
