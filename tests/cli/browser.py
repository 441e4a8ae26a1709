#!/usr/bin/env python3
"""Every kind of page as a person uses it: a real browser (chromium, driven by selenium) with a mouse and
keys, from 400 to 2,000 pixels wide, light and dark. Steps forward and back, points chosen, what hovering
shows; nothing on the console, no label on another (by their boxes), nothing cut. What fails leaves a
picture in SCREENS. tests/cli/pages.py looks at more pages, without hands. Skipped where there is no
browser or no selenium.

Usage: browser.py CHORALE SCREENS     (BROWSER_KEEP=1: a picture of every look stays)
"""
import os
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale as run, work  # noqa: E402

screens = pathlib.Path(sys.argv[2]).resolve()
examples = pathlib.Path(__file__).resolve().parents[2] / "examples"
browser = next((path for path in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if path), None)
driver_path = shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None
if not (browser and driver_path and webdriver):
    print("SKIPPED, NO PAGE WAS USED: this wants chromium, chromium-driver and python3-selenium (./setup.sh --tests)")
    sys.exit(77)

shutil.rmtree(screens, ignore_errors=True)
screens.mkdir(parents=True)


run("frontier", "dgx1", "allgather", "--max-chunks", "6", "--json", "show.json")
run("show", "show.json", "--html", "show.html")
run("place", "a100:4", "--axes", "data=4,tensor=16", "--reduce", "tensor", "--bytes", "4GB", "--algo", "ring", "--strategies", "3", "--html", "place.html")
run("tune", examples / "adam.chorale", "--machine", "ring:4", "--html", "tune.html")
run("topology", "show", "dgx-a100:2", "--html", "topology.html")
run("library", "build", examples / "library.json", "-o", "mine.db")
run("library", "show", "mine.db", "--html", "library.html")

run("frontier", "dgx1", "allgather", "--max-chunks", "1", "--json", "one.json")
run("optimize", examples / "h100.txt", "allreduce", "-o", "fastest", code=3)
shutil.copy(work / "fastest/index.html", work / "optimize.html")
run("compare", "./one.json", "./show.json", "--html", "compare.html")

LOOK = """
const found = [], seen = node => node.getClientRects().length > 0, root = document.documentElement;
const texts = [...document.querySelectorAll('svg text, svg ~ .label, .device, button')].filter(seen).filter(t => t.textContent.trim());
const inside = (a, b) => a !== b && (a.contains(b) || b.contains(a));
texts.forEach((t, i) => {
  const a = t.getBoundingClientRect(), svg = t.ownerSVGElement, limit = svg && svg.getBoundingClientRect();
  if (limit && (a.left < limit.left - 1 || a.right > limit.right + 1 || a.top < limit.top - 1 || a.bottom > limit.bottom + 1))
    found.push(`"${t.textContent}" is cut by its drawing`);
  if (!svg && t.scrollWidth > t.clientWidth + 1 && t.clientWidth > 0) found.push(`"${t.textContent}" is cut`);
  for (const u of texts.slice(0, i)) {
    const b = u.getBoundingClientRect();
    if (u.ownerSVGElement === svg && !inside(t, u) && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
      found.push(`"${t.textContent}" on "${u.textContent}"`);
  }
});
const cells = [...document.querySelectorAll('h1, h2, p, td, th, li, label, summary')].filter(seen);
for (const cell of cells)
  if (cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth > 0 && getComputedStyle(cell).display !== 'inline')
    found.push(`"${cell.textContent.slice(0, 60)}" is cut`);
if (root.scrollWidth > root.clientWidth + 1) found.push(`the page is ${root.scrollWidth} pixels wide in ${root.clientWidth}`);
const words = document.body.innerText;
for (const wrong of ['undefined', 'NaN', 'null', '[object', 'ys of', 'Infinity'])
  if (words.includes(wrong)) found.push(`it says "${wrong}": ${words.slice(Math.max(0, words.indexOf(wrong) - 40), words.indexOf(wrong) + 20)}`);
const rgb = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => { const [r, g, b] = rgb(colour).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                          return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = node => { for (; node; node = node.parentElement) { const c = rgb(getComputedStyle(node).backgroundColor); if (c.length < 4 || c[3] > 0) return getComputedStyle(node).backgroundColor; }
                         return getComputedStyle(root).backgroundColor; };
for (const cell of document.querySelectorAll('h1, h2, p, td, th, button, .device, .label')) {
  if (!seen(cell) || !cell.textContent.trim()) continue;
  const style = getComputedStyle(cell);
  if (!style.color.startsWith('rgb') || !ground(cell).startsWith('rgb')) continue;
  const a = light(style.color), b = light(ground(cell)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5 && found.length < 20) found.push(`"${cell.textContent.slice(0, 40)}": contrast ${ratio.toFixed(1)}`);
}
return found;
"""

options = webdriver.ChromeOptions()
options.binary_location = browser
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={work / 'profile'}"):
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
driver = webdriver.Chrome(service=Service(driver_path), options=options)
failed, looks, acts = [], 0, 0
where = ""


def one(css):
    return driver.find_element(By.CSS_SELECTOR, css)


def every(css):
    return driver.find_elements(By.CSS_SELECTOR, css)


def text(css):
    return one(css).text


def fail(words):
    name = re.sub(r"\W+", "_", f"{where}_{len(failed)}")
    driver.save_screenshot(str(screens / f"{name}.png"))
    failed.append(f"{where}: {words} ({name}.png)")


def expect(words, is_so):
    global acts
    acts += 1
    if not is_so:
        fail(words)


def soon(words, is_so):
    """For what takes a moment."""
    global acts
    acts += 1
    try:
        WebDriverWait(driver, 20, 0.05).until(lambda _: is_so())
    except Exception:
        fail(words)


def look():
    global looks
    looks += 1
    for found in driver.execute_script(LOOK):
        fail(found)
    for entry in driver.get_log("browser"):
        if entry["level"] in ("SEVERE", "WARNING"):
            fail(f"on the console: {entry['message']}")
    if os.environ.get("BROWSER_KEEP"):
        driver.save_screenshot(str(screens / f"look_{re.sub(chr(92) + 'W+', '_', where)}_{looks}.png"))


def keys(*pressed):
    ActionChains(driver, duration=20).send_keys(*pressed).perform()


def click(element):
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    ActionChains(driver, duration=20).move_to_element(element).click().perform()


def hover(element):
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    ActionChains(driver, duration=20).move_to_element(element).perform()
    return driver.execute_script("return arguments[0].matches(':hover')", element)


def open_page(name, width, dark=False, at=""):
    global where
    where = f"{name} at {width} {'dark' if dark else 'light'}"
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    driver.get("about:blank")
    driver.get((work / f"{name}.html").as_uri() + at)


def ground():
    return driver.execute_script("return getComputedStyle(document.body).backgroundColor + getComputedStyle(document.documentElement).backgroundColor")


def theme_and_help():
    before = ground()
    click(one("#theme"))
    expect("the button changes the theme", ground() != before)
    look()
    keys("t")
    expect("t changes it back", ground() == before)
    keys("?")
    expect("? shows the keys", one("#help").is_displayed() and len(every("#keys tr")) >= 2)
    look()
    keys("?")
    expect("? again hides them", not one("#help").is_displayed())
    click(one("#keys-button"))
    expect("the button shows the keys", one("#help").is_displayed())
    click(one("#help-close"))
    expect("and close hides them", not one("#help").is_displayed())


def use_result():
    title = lambda: text("#step-title")
    steps = int(re.search(r"of (\d+)", title())[1])
    for s in range(2, steps + 1):
        click(one("#on"))
        expect("one step on by mouse", title().startswith(f"Step {s} of {steps}"))
    click(one("#on"))
    expect("after the last step all is there", title().startswith("After"))
    look()
    click(one("#back"))
    expect("one step back by mouse", title().startswith(f"Step {steps} of"))
    keys(Keys.HOME)
    expect("Home", title().startswith("Step 1 of"))
    keys(Keys.ARROW_RIGHT)
    expect("right", title().startswith("Step 2 of"))
    keys(Keys.ARROW_LEFT)
    expect("left", title().startswith("Step 1 of") and text("#clock").startswith("0.0"))
    click(one("#time"))
    expect("a click into the middle of time", not text("#clock").startswith("0.0"))
    look()
    keys(Keys.END)
    expect("End", title().startswith("After"))
    keys(Keys.HOME)
    click(one("#play"))
    soon("it plays", lambda: not text("#clock").startswith("0.0") and text("#play") == "pause")
    click(one("#play"))
    stands = text("#clock")
    expect("it pauses", text("#play") == "play")
    expect("and stands", text("#clock") == stands)
    rows = every("tr.point")
    chosen = lambda: [i for i, row in enumerate(every("tr.point")) if "chosen" in row.get_attribute("class")]
    click(rows[-1])
    expect("a row chooses its point", chosen() == [len(rows) - 1])
    look()
    click(every("#frontier .point-mark:not(.dominated)")[0])
    expect("a mark chooses its point", len(chosen()) == 1 and chosen() != [len(rows) - 1])
    keys("1")
    expect("a number chooses its point", chosen() == [1])
    keys(Keys.ARROW_UP)
    expect("up", chosen() == [0])
    keys(Keys.ARROW_DOWN)
    expect("down", chosen() == [1])
    expect("hovering over a mark says what it is",
           hover(every("#frontier .point-mark")[0]) and re.match(r"point \d+: \d+ steps?, ", every("#frontier .point-mark title")[0].get_attribute("textContent")))


def use_topology():
    expect("its name", "dgx-a100:2" in text("#title") and text("#step-title") == "The machine")
    expect("nothing to play", not every("#play") and not every("#points"))


def use_place():
    rows = lambda: every("#matrices tr")
    chosen = lambda body: [i for i, row in enumerate(every(f"{body} tr")) if "chosen" in row.get_attribute("class")]
    expect("the best is shown", chosen("#matrices") == [0])
    click(rows()[1])
    expect("a row chooses its placement", chosen("#matrices") == [1] and text("#chosen").startswith("Number 2:"))
    look()
    before = text("#legend")
    keys(Keys.ARROW_RIGHT)
    expect("right: the next step", chosen("#steps") == [1] and text("#legend") != before)
    keys(Keys.ARROW_LEFT)
    expect("left", chosen("#steps") == [0])
    click(every("#steps tr")[-1])
    expect("a row chooses its step", chosen("#steps") == [len(every("#steps tr")) - 1])
    click(every("#strategies button")[1])
    expect("a button chooses its strategy", every("#strategies button")[1].get_attribute("class") == "chosen" and chosen("#steps") == [0])
    look()
    tile = every(".device")[0]
    expect("hovering over a device says its group", hover(tile) and "group {" in tile.get_attribute("title"))
    same = every(".device.same")
    expect("and shows it", len(same) >= 2 and len({t.value_of_css_property("background-color") for t in same}) == 1)
    hover(one("#title"))
    expect("until the mouse leaves", not every(".device.same"))
    keys(Keys.ARROW_DOWN)
    expect("down", chosen("#matrices") == [2])
    keys(Keys.ARROW_DOWN)
    expect("no further than the last", chosen("#matrices") == [2])
    keys("1")
    expect("a number chooses its placement", chosen("#matrices") == [0])


def use_tune():
    chosen = lambda: [i for i, row in enumerate(every("#ranking tr")) if "chosen" in row.get_attribute("class")]
    expect("the best is shown", chosen() == [0] and text("#chosen").startswith("Number 1:"))
    click(every("#ranking tr")[2])
    expect("a row chooses its schedule", chosen() == [2] and len(every("#tree circle.chosen")) == 1)
    look()
    keys(Keys.ARROW_LEFT)
    expect("left: what it was made from", chosen() != [2])
    keys(Keys.HOME)
    expect("Home", chosen() == [0])
    keys(Keys.ARROW_DOWN)
    expect("down", chosen() == [1])
    click(every("#tree circle")[0])
    expect("a dot chooses its schedule", "The program as it was given" in text("#why"))
    look()
    dot = every("#tree circle")[1]
    expect("hovering over a dot says what it is", hover(dot) and dot.find_element(By.CSS_SELECTOR, "title").get_attribute("textContent").startswith("number "))


def use_library():
    titles = [each.text for each in every("#content h2")]
    expect("the entries, then the choice by size", len(every("#content table")) == 2 and titles == ["The point that is chosen, by message size"])
    expect("how much is in it is on top", "answers in" in text("header"))


def use_compare():
    expect("a figure and both tables", len(every("#content svg")) == 1 and len(every("#content table")) == 2)
    expect("the answer is on top", "as fast as" in text("header"))
    mark = every("#content svg circle")[-1]  # no other lies on it
    expect("hovering over a mark says its size and GB/s", hover(mark) and "GB/s" in mark.find_element(By.CSS_SELECTOR, "title").get_attribute("textContent"))


def use_optimize():
    expect("the table of optimize is first", "nvls" in text("main section:not([hidden])") and "as fast as" in text("#answer"))
    panels = [panel.rect for panel in every("#size-figure svg > g:not(.key)")]
    width = driver.execute_script("return document.documentElement.clientWidth")
    expect("both panels are on the page", len(panels) == 2 and all(0 <= each["x"] and each["x"] + each["width"] <= width for each in panels))
    expect("one below the other where it is narrow", (panels[1]["y"] > panels[0]["y"] + panels[0]["height"] / 2) == (width < 640))


try:
    for name, use in [("optimize", use_optimize), ("compare", use_compare), ("show", use_result), ("place", use_place), ("tune", use_tune), ("topology", use_topology), ("library", use_library)]:
        for width, dark in [(2000, True), (400, True), (1000, False), (700, False)]:
            open_page(name, width, dark)
            expect("its script ran", text("#title") != "")
            look()
            if (width, dark) in ((1000, False), (400, True)):
                use()
                theme_and_help()
                look()
    # Places that there are not, as somebody may have typed them.
    for at in ("#point=99&time=1e9", "#point=-1&time=x", "#matrix=99&step=99&strategy=99&reduction=99"):
        for name in ("show", "place"):
            open_page(name, 1000, at=at)
            look()
            expect(f"{at} shows something", text("#title") != "" and "Every device has its sum already" not in (text("#legend") if name == "place" else ""))
finally:
    driver.quit()
    shutil.rmtree(work, ignore_errors=True)
print("\n".join(failed))
if failed:
    print(f"pictures: {screens}")
    sys.exit(1)
print(f"6 kinds of pages: {acts} acts and {looks} looks in one browser, nothing amiss")
