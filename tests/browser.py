"""A real browser without a window, for tests of pages that this package writes."""

import os
import shutil

BROWSERS = "chromium", "chromium-browser", "google-chrome"
DRIVER = "chromedriver"
SCRIPT_SECONDS = 60
# Returns elements that make the window scroll sideways. An element that scrolls within a
# box of its own does not.
FIND_OVERFLOWING = """
const page = document.documentElement;
if (page.scrollWidth <= page.clientWidth + 1) return [];
const edge = page.getBoundingClientRect().left + page.clientWidth + 1;
const visible = element => getComputedStyle(element).overflowX === "visible";
const inside = element => element === page || element === document.body
  || (visible(element) && inside(element.parentElement));
const wide = [...document.querySelectorAll("*")].filter(element =>
  element.getBoundingClientRect().right > edge && inside(element.parentElement));
return wide.length ? wide.slice(-1).map(e => e.outerHTML.slice(0, 160)) : ["an element"];
"""
# Returns images that have not loaded, and addresses that the page has asked for.
FIND_LOADED = """
const addresses = performance.getEntriesByType("resource").map(entry => entry.name);
return {
  broken: [...document.images].filter(i => !i.naturalWidth).map(i => i.currentSrc || i.src),
  addresses: addresses.filter(address => address.startsWith("http")),
};
"""


def why_no_browser():
    """The reason why no browser can be started, or None."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    if not any(map(shutil.which, BROWSERS)):
        return f"there is no browser: none of {', '.join(BROWSERS)}"
    return None if shutil.which(DRIVER) else f"there is no {DRIVER}"


def start_browser():
    """Start a browser with a new profile, which logs the warnings of its console."""
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
    browser.set_script_timeout(SCRIPT_SECONDS)
    return browser
