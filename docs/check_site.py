"""Read a built site as visitors do, in a real browser, and tell what is broken.

    python docs/check_site.py docs/_build/html

Every page must load without an error in the console and without asking another host; its
images must load, its links within the site must lead somewhere, and nothing may be wider
than the window, on a screen and on a phone. On a screen, code must not be clipped either.
Images need words, headings an order, header cells a scope, and code a button that copies
it without prompts. On a phone first columns of wide tables stay in sight, and letters of
figures are large enough to read: ``site_reading.py`` has these questions. The search must
find what visitors look for, and the button with the version must lead to the same page of
another version. The header must stand in order, too, where the start is opened from its
folder. Chromium and its driver do the reading; where there is none, nothing is checked, and
a line says so.
"""

import os
import runpy
import shutil
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.parse import unquote, urldefrag, urlsplit

SCREEN, PHONE = (1280, 900), (390, 844)  # CSS pixels
BROWSERS = "chromium", "chromium-browser", "google-chrome"
DRIVER = "chromedriver"
# What visitors type, and a page that must be among the results
SEARCHES = {
    "GPU": "sklearn_talr.hashing.TALRHasher",
    "MATLAB": "user_guide/migrate",
    "bootstrap": "user_guide/compare",
    "cite": "user_guide/support",
    "faiss": "user_guide/migrate",
    "filter": "user_guide/search",
    "image hashes": "user_guide/hash_lookup",
    "memory": "user_guide/size",
    "new classes": "user_guide/unseen",
    "threads": "user_guide/size",
    "rerank": "user_guide/search",
    "nearest neighbors": "sklearn_talr.neighbors.HammingNeighbors",
}
SECONDS_TO_SETTLE = 60
READING = runpy.run_path(str(Path(__file__).with_name("site_reading.py")))
# Pages that stand beside the sections, and have the sidebar of all pages
WITH_SIDEBAR = "quickstart.html", "whats_new.html", "glossary.html"
# A page whose other versions are asked for, and where the button must lead from it: to the
# same page, or to the start where a version has no such page
SWITCHED = "user_guide/ties.html"
SWITCHED_TO = {"0.2": "stable/{page}", "0.1": "0.1/"}

# Resolves when formulas are set and images, also those further down, have loaded or failed.
SETTLE = """
const done = arguments[0];
const images = [...document.images];
images.forEach(image => image.loading = "eager");
const formulas = (window.MathJax && MathJax.startup && MathJax.startup.promise) || null;
const buttons = new Promise(resolve => {  // of code, which come a moment later
  const wanted = !!document.querySelector("script[src*=copybutton]")
    && !!document.querySelector("main div.highlight pre");
  const look = tries => !wanted || !tries || document.querySelector("button.copybtn")
    ? resolve() : setTimeout(look, 50, tries - 1);
  look(100);
});
Promise.allSettled([formulas, buttons, ...images.map(image => image.decode())]).then(
  () => done());
"""
READ = """
const urls = performance.getEntriesByType("resource").map(entry => entry.name);
return {
  broken: [...document.images].filter(i => !i.naturalWidth).map(i => i.currentSrc || i.src),
  ids: [...document.querySelectorAll("[id]")].map(element => element.id),
  links: [...document.querySelectorAll("a[href]")].map(link => link.href),
  elsewhere: urls.filter(url => url.startsWith("http") && !url.startsWith(location.origin)),
  unset: [...document.querySelectorAll(".math")].filter(
    math => !math.querySelector("mjx-container") || math.querySelector("mjx-merror")
  ).map(math => math.textContent.trim()),
};
"""
# What makes the window scroll sideways, or the article, which the theme lets scroll as a
# whole. What scrolls inside a box of its own does neither.
OVERFLOWING = """
const article = document.querySelectorAll(".bd-article-container");
const boxes = [document.documentElement, ...article];
const narrow = boxes.filter(box => box.scrollWidth > box.clientWidth + 1);
const visible = element => getComputedStyle(element).overflowX === "visible";
const inside = (element, box) => element === box || element === document.body
  || (visible(element) && inside(element.parentElement, box));
return narrow.flatMap(box => {
  const edge = box.getBoundingClientRect().left + box.clientWidth + 1;
  const wide = [...box.querySelectorAll("*")].filter(element =>
    element.getBoundingClientRect().right > edge && inside(element.parentElement, box));
  return wide.length ? wide.slice(-1).map(e => e.outerHTML.slice(0, 160)) : ["an element"];
});
"""
CLIPPED = """
return [...document.querySelectorAll("main pre, main div.math mjx-container")].filter(
  element => element.scrollWidth > element.clientWidth + 1 && element.clientWidth
).map(element => element.textContent.trim().split("\\n").reduce(
  (longest, line) => line.length > longest.length ? line : longest, "").slice(0, 120));
"""

# The name of the project, and the button of versions beside it
COVERED = """
const [name, button] = [".logo__title", ".version-switcher__button"].map(
  selector => document.querySelector(`header ${selector}`));
return !!name && !!button
  && name.getBoundingClientRect().right > button.getBoundingClientRect().left;
"""


class Handler(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *args):
        """Leave the terminal to what is found."""


class Site:
    """A served folder and the browser that reads it; a context manager.

    Parameters
    ----------
    folder : Path
        What Sphinx built.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()

    def __enter__(self):
        handler = partial(Handler, directory=str(self.folder))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}/"
        Thread(target=self.server.serve_forever, daemon=True).start()
        try:
            self.browser = start_browser()
        except BaseException:
            self._stop_serving()
            raise
        return self

    def __exit__(self, *error):
        self.browser.quit()
        self._stop_serving()

    def _stop_serving(self):
        self.server.shutdown()
        self.server.server_close()

    def open(self, page):
        """Load a page, named by its path in the site, and wait until it stands still."""
        self.browser.get(self.root + page)
        self.browser.execute_async_script(SETTLE)

    def resize(self, size):
        """Make the window as wide and high as a device's, in CSS pixels."""
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1}
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", metrics | {"mobile": False}
        )

    def errors(self):
        """What the console has reported since it was asked last."""
        return [entry["message"] for entry in self.browser.get_log("browser")]


def why_not():
    """What keeps the check from running; None where nothing does."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    if not any(map(shutil.which, BROWSERS)):
        return f"there is no browser: none of {', '.join(BROWSERS)}"
    return None if shutil.which(DRIVER) else f"there is no {DRIVER}"


def start_browser():
    """A headless browser with a new profile, which logs what its console reports."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    options.set_capability("goog:loggingPrefs", {"browser": "WARNING"})
    options.add_argument("--headless=new")
    options.add_argument("--disable-dev-shm-usage")  # it is small in containers
    if getattr(os, "geteuid", lambda: 1)() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses root otherwise
    service = webdriver.ChromeService(shutil.which(DRIVER))
    browser = webdriver.Chrome(options, service)
    browser.set_script_timeout(SECONDS_TO_SETTLE)
    return browser


def read_page(site, page):
    """What is wrong on one page, and its ids and links; leaves the window a screen's."""
    site.resize(SCREEN)
    site.open(page)
    read = site.browser.execute_script(READ)
    problems = [f"console: {message}" for message in site.errors()]
    problems += [f"image does not load: {url}" for url in read["broken"]]
    problems += [f"asks another host: {url}" for url in read["elsewhere"]]
    problems += [f"formula is not set: {text}" for text in read["unset"]]
    mail = [url for url in read["links"] if url.startswith("mailto:")]
    problems += [f"is no mail address: {url}" for url in mail]
    clipped = site.browser.execute_script(CLIPPED)
    problems += [f"clipped at {SCREEN[0]} px: {line}" for line in clipped]
    on_screen = READING["ON_SCREEN"] | (READING["SIDEBAR"] if page in WITH_SIDEBAR else {})
    for size, questions in ((SCREEN, on_screen), (PHONE, READING["ON_PHONE"])):
        site.resize(size)
        wide = site.browser.execute_script(OVERFLOWING)
        problems += [f"wider than {size[0]} px: {element}" for element in wide]
        for fault, script in questions.items():
            found = site.browser.execute_script(script)
            problems += [f"{fault}: {text}" for text in found]
    return problems, read["ids"], read["links"]


def dead_links(site, ids, links):
    """Links within the site that lead nowhere, by page.

    Parameters
    ----------
    ids, links : dict of str to list of str
        The ids of every page, and its links as the browser resolves them.
    """
    problems = {}
    for page, urls in links.items():
        inner = {url for url in urls if url.startswith(site.root)}
        for url in sorted(inner):
            address, fragment = urldefrag(url)
            target = unquote(urlsplit(address).path).lstrip("/")
            if not target or target.endswith("/"):
                target += "index.html"
            if not (site.folder / target).is_file():
                problems.setdefault(page, []).append(f"dead link: {url}")
            elif fragment and unquote(fragment) not in ids.get(target, [unquote(fragment)]):
                problems.setdefault(page, []).append(f"link to no such place: {url}")
    return problems


def search(site, words, expected):
    """What is wrong with the results of a search, in a list of at most one."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    site.open("search.html?q=" + words.replace(" ", "+"))
    links = "return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
    wait = WebDriverWait(site.browser, SECONDS_TO_SETTLE)
    try:
        wait.until(
            lambda browser: any(expected in url for url in browser.execute_script(links))
        )
    except TimeoutException:
        return [f"search for {words!r} does not find {expected}"]
    return []


def without_server(site, page="index.html"):
    """What is wrong with a page that is opened from its folder, on screen and phone."""
    found = []
    for size in (SCREEN, PHONE):
        site.resize(size)
        site.browser.get((site.folder / page).as_uri())
        site.browser.execute_async_script(SETTLE)
        place = f"opened from its folder, {size[0]} wide"
        found += [
            f"{place}, scrolls to {wide}"
            for wide in site.browser.execute_script(OVERFLOWING)
        ]
        if site.browser.execute_script(COVERED):
            found.append(f"{place}, has the button of versions over the name")
    return found


def switch(folder, page):
    """What is wrong with the button that leads to other versions of a page.

    The page is published in two versions, the start alone in a third.
    """
    publish = runpy.run_path(str(Path(__file__).with_name("publish_site.py")))["publish"]
    with TemporaryDirectory() as place:
        built, site = Path(place, "built"), Path(place, "site")
        site.mkdir()
        shutil.copytree(folder / "_static", built / "_static")
        shutil.copy(folder / "index.html", built)
        publish(built, site, "0.1")
        (built / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / page, built / page)
        publish(built, site, "0.2", stable=True)
        publish(built, site, "dev")
        with Site(site) as served:
            problems = [
                press(served, f"dev/{page}", name, target.format(page=page))
                for name, target in SWITCHED_TO.items()
            ]
    return [problem for problem in problems if problem]


def press(site, page, version, target):
    """Choose a version on a page; what is wrong with where that leads, or None."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(site.browser, SECONDS_TO_SETTLE)
    site.resize(SCREEN)
    site.open(page)
    entry = By.CSS_SELECTOR, f".version-switcher__menu a[data-version='{version}']"
    try:
        wait.until(lambda browser: browser.find_elements(*entry))
        site.browser.find_element(By.CLASS_NAME, "version-switcher__button").click()
        wait.until(lambda browser: browser.find_element(*entry).is_displayed())
        site.browser.find_element(*entry).click()
        wait.until(lambda browser: browser.current_url == site.root + target)
    except TimeoutException:
        return f"{page} does not lead to {version}, but to {site.browser.current_url}"
    return None


def check(folder, searches=SEARCHES, switched=SWITCHED):
    """All problems of a built site, by page; no key for a page that has none."""
    problems, ids, links = {}, {}, {}
    with Site(folder) as site:
        for path in sorted(site.folder.rglob("*.html")):
            page = path.relative_to(site.folder).as_posix()
            if page.startswith(("_static/", "_downloads/")):
                continue
            problems[page], ids[page], links[page] = read_page(site, page)
        for page, dead in dead_links(site, ids, links).items():
            problems[page] += dead
        for words, expected in searches.items():
            problems.setdefault("search.html", []).extend(search(site, words, expected))
        problems.setdefault("index.html", []).extend(without_server(site))
    if switched:
        problems.setdefault(switched, []).extend(switch(Path(folder), switched))
    return {page: found for page, found in problems.items() if found}


def main(folder):
    """Check a site, print what is wrong, and return the exit status."""
    reason = why_not()
    if reason:
        print(f"skipped the check of the site: {reason}")
        return 0
    problems = check(folder)
    for page, found in problems.items():
        print(f"{page}\n  " + "\n  ".join(found))
    print(f"{sum(map(len, problems.values()))} problems, on {len(problems)} of the pages")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
