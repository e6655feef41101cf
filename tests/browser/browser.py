"""Chromium without a window, driven through Debian's python3-selenium and chromium-driver, and pages that are watched while they are open."""
import base64
import json
import os
import pathlib
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common import utils
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

# Scrolls a timeline into sight and waits until the page has drawn it, which it does then only.
DRAW = """
const [figure, done] = arguments;
figure.scrollIntoView({block: 'center'});
const look = () => figure.querySelector('svg') ? requestAnimationFrame(() => done()) : requestAnimationFrame(look);
look();
"""

# Where on its own axis a timeline has drawn something, and what that says to stand for.
DRAWN = """
const [figure, wanted] = arguments;
const svg = figure.querySelector('svg'), box = svg.getBoundingClientRect();
const [from, to, gutter] = ['from', 'to', 'gutter'].map(k => Number(svg.dataset[k]));
const width = box.width - gutter, time = x => from + (x - box.left - gutter) / width * (to - from);
const rects = [...svg.querySelectorAll(wanted)].map(r => {
  const b = r.getBoundingClientRect();
  return {start: time(b.left), end: time(b.right), says_start: Number(r.dataset.start), says_end: Number(r.dataset.end)};
});
return {from, to, pixel: (to - from) / width, rects};
"""


class Driver(Service):
    """chromedriver, reached by address: a bare root has no file that says where localhost is."""

    @property
    def service_url(self):
        return f"http://127.0.0.1:{self.port}"

    def is_connectable(self):
        return utils.is_connectable(self.port, "127.0.0.1")


class Browser:
    def __init__(self, *more):
        self.profile = tempfile.TemporaryDirectory(prefix="gh-advise-chromium-", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        options.unhandled_prompt_behavior = "dismiss"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking", "no-first-run",
                         "hide-scrollbars", "remote-debugging-pipe", f"user-data-dir={self.profile.name}", *more):
            options.add_argument("--" + argument)
        self.driver = webdriver.Chrome(service=Driver(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")), options=options)
        self.driver.set_script_timeout(20)

    def close(self):
        self.driver.quit()
        self.profile.cleanup()


class Page:
    """The browser's one page. Its console has to stay empty, and it may ask nobody for anything but itself: `said` lists what it did nonetheless."""

    def __init__(self, browser, path, width=1280, color_scheme="light", scripts=True):
        self.driver = browser.driver
        self.url = str(path) if str(path).startswith("http:") else pathlib.Path(path).as_uri()
        self.driver.get("about:blank")
        self.said()  # what the page before it left
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": color_scheme},
                                                              {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.devtools("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.driver.get(self.url)

    def devtools(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def said(self):
        """Console, uncaught errors, dialogs and requests since this was last asked."""
        said = [f"console: {entry['message']}" for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Page.javascriptDialogOpening":
                said.append(f"dialog: {message['params']['message']}")
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if url != self.url and not url.startswith(("data:", "blob:")):
                    said.append(f"request: {url}")
        return said

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        """What a reader sees of an element."""
        return self.js("return document.querySelector(arguments[0]).innerText", selector)

    def hash(self):
        return self.js("return location.hash")

    def button(self, parent, name):
        """The button that is called so for those who do not see it."""
        return next(b for b in parent.find_elements(By.TAG_NAME, "button") if b.accessible_name == name)

    def press(self, *keys):
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def focus(self, element):
        self.js("arguments[0].focus()", element)

    def mouse(self, event, x, y, **more):
        self.devtools("Input.dispatchMouseEvent", type=event, x=x, y=y, **more)

    def settle(self):
        """Until what was asked for is drawn."""
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def box(self, element):
        """Of what is in sight: left, top, width and height."""
        self.js("arguments[0].scrollIntoView({block: 'nearest'})", element)
        return self.js("const b = arguments[0].getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", element)

    def timeline(self, name):
        figure = self.find("#" + name)
        self.driver.execute_async_script(DRAW, figure)
        return figure

    def drawn(self, figure, selector):
        return self.js(DRAWN, figure, selector)

    def axis(self, figure):
        """First and last time that it shows."""
        drawn = self.drawn(figure, "none")
        return drawn["from"], drawn["to"]

    def pdf(self):
        return base64.b64decode(self.devtools("Page.printToPDF")["data"])

    def screenshot(self, path):
        """Of the whole page, also of what is below the window."""
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        picture = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip={**size, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))
