#!/usr/bin/python3
"""Opens the page that reads reports, from the file system, and holds it to the native program: page_test.py PAGE PROGRAM FIXTURES SCREENSHOTS

Screenshots at four widths, light and dark, are left in SCREENSHOTS for people to look at. Exit status 1 where something does not hold, 77 where there is no page.
"""
import base64
import contextlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from browser import Browser, Page
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

html, program, fixtures, screenshots = (pathlib.Path(p).resolve() for p in sys.argv[1:5])
work = tempfile.TemporaryDirectory(prefix="gh-advise-page-")

# A drop of the files that an input of the test's own holds, or of files made here.
DROP = """
const [input, made, times] = arguments;
const transfer = new DataTransfer();
for (const file of input ? input.files : []) transfer.items.add(file);
for (const [name, content] of made) transfer.items.add(new File([Uint8Array.from(atob(content), c => c.charCodeAt(0))], name));
for (const event of ['dragenter', 'dragover', 'drop'])
  document.body.dispatchEvent(new DragEvent(event, {bubbles: true, cancelable: true, dataTransfer: transfer}));
"""

HIGH = """
return [...document.querySelectorAll('button, a, input, summary')].filter(e => e.checkVisibility())
  .map(e => [e.textContent.trim() || e.id, e.getBoundingClientRect().height]).filter(([name, height]) => height < 24);
"""

FITS = "return [document.documentElement.scrollWidth, innerWidth]"


def run(*arguments, folder=fixtures):
    return subprocess.run([program, *arguments], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout


def shell(command, folder):
    """What a user gets who pastes the page's command: the arguments, and what the program says."""
    script = 'gh-advise() { printf "%s\\0" "$@"; "$program" "$@" 2>&1 >/dev/null; }; ' + command
    ran = subprocess.run(["/bin/bash", "-c", script], cwd=folder, env={"program": str(program), "PATH": "/nowhere"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    *arguments, said = ran.stdout.decode().split("\0")
    return arguments, said


def requests(log):
    """Who was asked for something by a page, its frames or its workers, as Chromium's log of the network says; what Chromium asks for itself has no origin."""
    log = json.loads(log.read_text())
    start = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    asked = [event["params"] for event in log["events"] if event["type"] == start and event.get("params", {}).get("url")]
    return [request["url"] for request in asked if request.get("initiator") != "not an origin"]


class PageTest(unittest.TestCase):
    maxDiff = None
    arguments = ["disable-features=IsolateSandboxedIframes"]  # in a process of its own a report would say what it says to nobody here

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(screenshots, ignore_errors=True)
        screenshots.mkdir(parents=True)
        cls.browser = Browser(*cls.arguments)
        cls.addClassCleanup(cls.browser.close)
        cls.downloads = pathlib.Path(work.name, "downloads")
        cls.downloads.mkdir()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=work.name))

    @contextlib.contextmanager
    def opened(self, browser=None, **options):
        """The page, which has to be quiet until it is left."""
        page = Page(browser or self.browser, html, **options)
        page.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        try:
            yield page
        finally:
            page.driver.switch_to.default_content()
        self.assertEqual(page.said(), [])

    # What a reader does.

    def wait(self, what, why, seconds=60):
        end = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), end, why)
            time.sleep(0.02)

    def settled(self, page):
        self.wait(lambda: page.js("return !document.getElementById('files').disabled && document.getElementById('said').textContent !== ''"), "it never ends")

    def choose(self, page, *files):
        page.find("#files").send_keys("\n".join(str(f) for f in files))
        self.settled(page)

    def drop(self, page, *files, made=()):
        given = None
        if files:
            given = page.js("const given = document.createElement('input'); given.type = 'file'; given.multiple = true; document.body.append(given); return given")
            given.send_keys("\n".join(str(f) for f in files))
        page.js(DROP, given, [[name, base64.b64encode(content).decode()] for name, content in made])
        if given:
            page.js("arguments[0].remove()", given)

    @contextlib.contextmanager
    def report(self, page):
        """Within the report that is shown."""
        self.assertTrue(page.find("#report").is_displayed(), page.text("body"))
        self.assertFalse(page.find("#start").is_displayed())
        page.driver.switch_to.frame(page.find("#report"))
        self.wait(lambda: page.find_all("h1"), "the report stays empty")
        yield
        page.driver.switch_to.default_content()

    def heading(self, page):
        with self.report(page):
            return page.text("h1")

    def refused(self, page):
        """Why, and the command to run instead."""
        self.assertTrue(page.find("#failed").is_displayed(), page.text("body"))
        self.assertFalse(page.find("#report").is_displayed())
        self.assertIn("not read", page.text("#said"))
        return (page.js("return document.getElementById(arguments[0]).textContent", part) for part in ("why", "command"))

    def saved(self, page, button, name):
        path = self.downloads / name
        path.unlink(missing_ok=True)
        page.find(button).click()
        self.wait(path.exists, f"{name} is not saved; there is {[p.name for p in self.downloads.iterdir()]}", 20)
        last = -1
        while (size := path.stat().st_size) != last:
            last = size
            time.sleep(0.05)
        return path.read_bytes()

    # What holds.

    def test_a_chosen_report_is_shown_and_its_files_are_those_of_the_program(self):
        with self.opened() as page:
            self.choose(page, fixtures / "starved.sqlite")
            self.assertIn("data loader", self.heading(page))
            self.assertRegex(page.text("#status"), r"^starved\.sqlite: read in \d+\.\d s$")
            self.assertEqual(self.saved(page, "#save-json", "starved.advice.json"), run("starved.sqlite", "--config", "none", "--format", "json"))
            self.assertEqual(self.saved(page, "#save-page", "starved.html"), run("starved.sqlite", "--config", "none", "--format", "html"))

    def test_nobody_is_asked_for_anything_and_no_network_is_needed(self):
        log, loud = self.folder / "network.json", self.folder / "loud.html"
        with contextlib.closing(Browser(*self.arguments, f"log-net-log={log}")) as browser:
            with self.opened(browser) as page:
                self.choose(page, fixtures / "starved.pt.trace.json")
                self.assertIn("data loader", self.heading(page))
            with self.opened(browser) as page:
                page.devtools("Network.enable")
                page.devtools("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
                self.choose(page, fixtures / "starved.sqlite")
                self.assertIn("data loader", self.heading(page))
                page.devtools("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
            self.attack(browser)
            # It would have been noticed.
            loud.write_text("""<!doctype html><img src=http://page.invalid><iframe sandbox srcdoc="<img src=http://frame.invalid>"></iframe>
                <script>new Worker(URL.createObjectURL(new Blob(["fetch('http://worker.invalid').catch(() => postMessage(1))"]))).onmessage = () => document.title = 'asked'</script>""")
            page = Page(browser, loud)
            self.wait(lambda: page.js("return document.title") == "asked", "the worker does not run")
        self.assertEqual(sorted(requests(log)), [f"http://{who}.invalid/" for who in ("frame", "page", "worker")])

    def attack(self, browser):
        """A script that runs where none should cannot send anything: the browser itself refuses."""
        attempt = "const done = arguments[0]; fetch('http://sent.invalid/').then(() => done('sent'), () => done('refused'))"
        code = "fetch('http://sent.invalid/').then(() => postMessage('sent'), () => postMessage('refused'))"
        page = Page(browser, html)
        self.choose(page, fixtures / "good.sqlite")
        self.assertEqual(page.driver.execute_async_script(attempt), "refused")
        self.assertEqual(page.driver.execute_async_script(
            "const [code, done] = arguments; new Worker(URL.createObjectURL(new Blob([code]))).onmessage = event => done(event.data)", code), "refused")
        with self.report(page):
            self.assertEqual(page.driver.execute_async_script(attempt), "refused")
            self.assertEqual(page.js("return origin"), "null")
        page.js("const picture = new Image(); picture.src = 'http://sent.invalid/'; document.body.append(picture)")
        page.js("const form = document.createElement('form'); form.action = 'http://sent.invalid/'; document.body.append(form); form.submit()")
        page.settle()
        self.assertGreaterEqual("\n".join(page.said()).count("Content Security Policy"), 4)

    def test_nothing_but_our_own_scripts_and_style_sheets_is_taken(self):
        injected = self.folder / "injected.html"
        injected.write_text(html.read_text().replace("<main id=start>", """<main id=start><script>document.title = 'run'</script><style>main { display: none }</style>
            <p id=attack onclick="document.title = 'clicked'">x</p>""", 1))
        page = Page(self.browser, injected)
        page.js("document.getElementById('attack').click()")
        self.choose(page, fixtures / "good.sqlite")  # what is the page's own works all the same
        with self.report(page):
            self.assertTrue(page.find_all("#timeline-overview"))
        self.assertNotIn(page.js("return document.title"), ("run", "clicked"))
        self.assertEqual(page.js("return document.querySelector('main').checkVisibility()"), False)  # hidden by the page, as a report is shown
        said = "\n".join(page.said())
        self.assertGreaterEqual(said.count("Content Security Policy"), 3, said)

    def test_the_page_that_is_served_works_and_no_other_page_may_frame_it(self):
        with subprocess.Popen([program, "serve", "--no-open", "--page", html], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                address = server.stdout.readline().strip()
                page = Page(self.browser, address)
                self.choose(page, fixtures / "good.sqlite")
                with self.report(page):
                    self.assertTrue(page.find_all("#timeline-overview"))
                self.assertEqual(page.said(), [])
                framing = self.folder / "framing.html"
                framing.write_text(f"<!doctype html><iframe src='{address}'></iframe>")
                page = Page(self.browser, framing)
                page.settle()
                page.driver.switch_to.frame(page.find("iframe"))
                self.assertEqual(page.find_all("#drop"), [])
                page.driver.switch_to.default_content()
                self.assertIn("frame-ancestors", "\n".join(page.said()))
            finally:
                server.kill()

    def test_what_a_report_says_and_errs_is_noticed(self):
        page = Page(self.browser, html)
        self.choose(page, fixtures / "good.sqlite")
        with self.report(page):
            page.js("console.log('said'); setTimeout(() => no_such_function(), 0); alert('asked')")
            page.settle()
        said = "\n".join(page.said())
        for part in ('"said"', "no_such_function is not defined", "Ignored call to 'alert()'"):
            self.assertIn(part, said)

    def test_a_report_can_be_dropped(self):
        with self.opened() as page:
            self.drop(page, fixtures / "starved.sqlite")
            self.settled(page)
            self.assertIn("data loader", self.heading(page))
        with self.opened() as page:  # as the system drops it
            for event in ("dragEnter", "dragOver"):
                self.drag(page, event, fixtures / "good.sqlite")
            self.assertEqual(page.js("return document.body.className"), "dragging")
            self.drag(page, "drop", fixtures / "good.sqlite")
            self.settled(page)
            self.assertEqual(page.js("return document.body.className"), "")
            self.assertTrue(self.heading(page))
            self.assertIn("good.sqlite", page.text("#said"))

    def drag(self, page, event, *files):
        page.devtools("Input.dispatchDragEvent", type=event, x=400, y=300, data={"items": [], "files": [str(f) for f in files], "dragOperationsMask": 1})

    def test_a_folder_or_text_that_is_dropped_does_no_harm(self):
        folder = self.folder / "ranks"
        folder.mkdir()
        with self.opened() as page:
            for event in ("dragEnter", "dragOver", "drop"):
                self.drag(page, event, folder)
            self.settled(page)
            why, _ = self.refused(page)
            self.assertEqual(why, "ranks: the browser cannot read it. Of a folder, choose the files.")
        with self.opened() as page:
            self.drop(page)
            self.assertEqual(page.text("#said"), "")

    def test_ranks_of_one_job_make_one_report(self):
        ranks = [f"two-experts.rank{rank}.pt.trace.json" for rank in (0, 1)]
        with self.opened() as page:
            self.choose(page, *(fixtures / rank for rank in ranks))
            self.assertIn("all-to-all", self.heading(page))
            self.assertIn(f"{ranks[0]} and 1 more: read", page.text("#said"))
            self.assertEqual(self.saved(page, "#save-json", "two-experts.rank0.pt.trace.advice.json"), run(*ranks, "--config", "none", "--format", "json"))

    def test_a_job_of_which_a_rank_cannot_be_read_is_refused(self):
        cut = self.folder / "two-experts.rank1.pt.trace.json"
        cut.write_bytes((fixtures / cut.name).read_bytes()[:100_000])
        with self.opened() as page:
            self.choose(page, fixtures / "two-experts.rank0.pt.trace.json", cut)
            why, command = self.refused(page)
            self.assertTrue(why.startswith(f"{cut.name}: is cut off"), why)
            self.assertEqual(command, f"gh-advise two-experts.rank0.pt.trace.json {cut.name}")

    def test_reports_of_several_jobs_are_refused_in_the_program_s_words(self):
        with self.opened() as page:
            self.choose(page, fixtures / "starved.sqlite", fixtures / "good.sqlite")
            why, command = self.refused(page)
            self.assertIn("takes one report, and there are 2; check them one at a time", why)
            self.assertEqual(command, "gh-advise starved.sqlite good.sqlite")

    def test_files_of_the_same_name_are_refused(self):
        with self.opened() as page:
            self.drop(page, made=[("report.sqlite", b"a"), ("report.sqlite", b"b")])
            self.settled(page)
            why, _ = self.refused(page)
            self.assertIn("same name", why)

    def test_what_cannot_be_read_is_refused_as_the_program_refuses_it_and_the_command_works(self):
        cut = (fixtures / "starved.sqlite").read_bytes()[:100_000]
        bad = {"note.txt": b"no report\n", "empty.sqlite": b"", "report.nsys-rep": b"no report", "cut.sqlite": cut, "cut.json": b'{"traceEvents": [', "no dots": b"",
               "two words.sqlite": cut, "it's \"quoted\" `here` $HOME \\.sqlite": b"", "-v.sqlite": b"", "--help": b"", "[a].sqlite": b"", "demo": b"no report",
               "<img src=x onerror=alert(1)>.sqlite": b"", "<b>bold.txt": b"no report", "a\nb.sqlite": b"", "überall.sqlite": b"", "*.sqlite": b"", "~": b"", "a&b;c|d.json": b"{"}
        with self.opened() as page:
            for name, content in bad.items():
                with self.subTest(name):
                    (self.folder / name).write_bytes(content)
                    page.js("document.getElementById('said').textContent = ''")
                    self.drop(page, made=[(name, content)])
                    self.settled(page)
                    why, command = self.refused(page)
                    arguments, said = shell(command, self.folder)
                    self.assertIn(arguments, ([name], ["./" + name]))
                    self.assertEqual(why.replace("./", ""), said.strip().removeprefix("gh-advise: ").replace("./", ""))
                    self.assertTrue(why.strip())
            self.assertEqual(page.find_all("img, b"), [])
            names = [name for name, content in bad.items() if content == b""]
            self.drop(page, made=[(name, b"") for name in names])
            self.wait(lambda: "more: not read" in page.text("#said"), "it never ends")
            _, command = self.refused(page)
            self.assertEqual([a.removeprefix("./") for a in shell(command, self.folder)[0]], names)

    def test_what_a_page_cannot_hold_is_refused_before_it_is_read(self):
        large = self.folder / "large.sqlite"
        with open(large, "wb") as file:
            file.truncate(1_600_000_000)
        with self.opened() as page:
            page.js("window.started = 0; const all = Worker; window.Worker = class extends all { constructor(...words) { super(...words); ++started; } }")
            begin = time.monotonic()
            self.choose(page, large)
            self.assertLess(time.monotonic() - begin, 5)
            why, command = self.refused(page)
            self.assertEqual(why, "1.6 GB are more than a page can hold, which is 1.5 GB.")
            self.assertEqual(command, "gh-advise large.sqlite")
            self.assertEqual(page.js("return started"), 0)
            self.choose(page, fixtures / "good.sqlite")
            self.wait(lambda: page.find("#report").is_displayed(), "nothing is read after it")
            self.assertEqual(page.js("return started"), 1)

    def test_the_example_needs_no_file(self):
        with self.opened() as page:
            page.find("#example").click()
            self.settled(page)
            self.assertIn("data loader", self.heading(page))
            self.assertIn("the example: read in", page.text("#said"))
            self.assertEqual(json.loads(self.saved(page, "#save-json", "example.advice.json"))["reports"][0]["report"]["path"], "example.sqlite")

    def test_another_report_goes_back_to_the_beginning(self):
        with self.opened() as page:
            self.choose(page, self.empty())
            self.refused(page)
            for report in ("starved.sqlite", "good.sqlite", "starved.sqlite"):  # the same may be read again
                self.choose(page, fixtures / report)
                self.wait(lambda: page.text("#said").startswith(report), "another is shown")
                self.assertEqual("data loader" in self.heading(page), report == "starved.sqlite")
                page.find("#again").click()
                self.assertTrue(page.find("#start").is_displayed())
                self.assertFalse(page.find("#report").is_displayed() or page.find("#save-json").is_displayed() or page.find("#failed").is_displayed())
                self.assertEqual(page.js("return document.activeElement.id"), "files")
            # A failure beside a report that is shown is seen.
            self.choose(page, fixtures / "good.sqlite")
            self.drop(page, made=[("empty.sqlite", b"")])
            self.wait(lambda: "not read" in page.text("#said"), "it never ends")
            self.refused(page)

    def empty(self):
        path = self.folder / "empty.sqlite"
        path.write_bytes(b"")
        return path

    def test_what_is_dropped_while_the_page_is_busy_is_left_alone(self):
        with self.opened() as page:
            self.drop(page, fixtures / "starved.sqlite")
            for _ in range(3):
                self.drop(page, made=[("empty.sqlite", b"")])
            page.js("document.getElementById('example').click()")
            self.assertTrue(page.js("return document.getElementById('files').disabled"), "it was over too soon to test this")
            self.settled(page)
            self.assertIn("data loader", self.heading(page))
            self.assertIn("starved.sqlite: read in", page.text("#said"))

    def test_what_belongs_to_a_report_is_read_with_it(self):
        report, measured, config = (self.folder / name for name in ("run.sqlite", "run.measured.json", "gh-advise.toml"))
        shutil.copy(fixtures / "starved.sqlite", report)
        measured.write_text(json.dumps({"schema_version": 1, "unit": "step", "measured_step_ns": 150_000_000}))
        with self.opened() as page:
            self.choose(page, measured, report)
            with self.report(page):
                self.assertIn("150", page.text("body"))
            self.assertIn("run.sqlite: read in", page.text("#said"))
            with_it = self.saved(page, "#save-json", "run.advice.json")
            self.assertEqual(with_it, run("run.sqlite", "--config", "none", "--format", "json", folder=self.folder))
            measured.rename(self.folder / "gone")
            self.assertNotEqual(with_it, run("run.sqlite", "--config", "none", "--format", "json", folder=self.folder))
            (self.folder / "gone").rename(measured)
            page.find("#again").click()
            config.write_text(f'ignore = ["{json.loads(with_it)["reports"][0]["findings"][0]["rule"]}"]\n')
            self.choose(page, config, measured, report)
            self.assertEqual(self.saved(page, "#save-json", "run.advice.json"), run("run.sqlite", "--format", "json", folder=self.folder))
            page.find("#again").click()
            self.choose(page, measured)
            why, command = self.refused(page)
            self.assertEqual(shell(command, self.folder)[1].strip(), f"gh-advise: {why}")

    def test_names_in_a_report_and_of_it_are_text_whatever_they_say(self):
        attack = """<script>alert(1)</script><img src=x onerror=alert(2)>"'</script><!--"""
        hostile = self.folder / "<img src=x onerror=alert(3)>&amp;.sqlite"
        shutil.copy(fixtures / "starved.sqlite", hostile)
        with contextlib.closing(sqlite3.connect(hostile)) as report, report:
            report.execute("update StringIds set value = ? || value where value like '%kernel%' or value like 'python%'", [attack])
            report.execute("update NVTX_EVENTS set text = ? where text = 'forward'", [attack])
            report.execute("update TARGET_INFO_GPU set name = ? || name", [attack])
        with self.opened() as page:
            self.choose(page, hostile)
            self.assertTrue(page.text("#said").startswith(hostile.name))
            self.assertEqual(page.find_all("img"), [])
            with self.report(page):
                for figure in page.find_all("figure.timeline"):
                    page.timeline(figure.get_attribute("id"))
                self.assertIn("<script>alert(1)</script>", page.text("body"))
                self.assertEqual(page.find_all("img"), [])
                self.assertEqual(len(page.find_all("script")), 2)

    def test_the_report_in_the_page_works(self):
        with self.opened() as page:
            self.choose(page, fixtures / "starved.sqlite")
            with self.report(page):
                link = next(a for a in page.find_all("a[href='#finding-2']") if a.is_displayed())
                link.click()
                in_sight = "const box = document.getElementById('finding-2').getBoundingClientRect(); return box.top < innerHeight && box.bottom > 0"
                self.wait(lambda: page.js(in_sight), "the link leads nowhere", 10)
                figure = page.timeline("timeline-1")
                start, end = page.axis(figure)
                figure.find_element(By.CSS_SELECTOR, "button[aria-label='Zoom in']").click()
                now, then = page.axis(figure)
                self.assertAlmostEqual((then - now) / (end - start), 0.5, 3)
                figure = page.find("#layers-icicle")
                page.box(figure)
                figure.find_element(By.CSS_SELECTOR, "[data-block='0'] rect").click()
                self.assertEqual(figure.find_element(By.TAG_NAME, "svg").get_attribute("data-zoomed"), "0")
                self.assertEqual({a.get_attribute("target") for a in page.find_all("a[href^=http]")}, {"_blank"})

    def test_it_is_read_and_used_without_a_mouse_or_sight(self):
        with self.opened() as page:
            self.assertEqual(page.find("#files").accessible_name, "Drop a report here, or choose it")
            self.assertEqual(page.find("#said").aria_role, "status")
            self.assertEqual(self.tabbed(page, 3), ["files", "example", "SUMMARY"])
            page.press(Keys.ENTER)
            self.assertTrue(page.js("return document.querySelector('details').open"))
            # A failure is said, and does not lose the place.
            page.focus(page.find("#files"))
            self.choose(page, self.empty())
            self.assertEqual(page.text("#said"), "empty.sqlite: not read")
            self.assertEqual(page.js("return document.activeElement.id"), "files")
            # What is said does not change several times a second.
            page.js("window.said = []; new MutationObserver(() => said.push(document.getElementById('said').textContent)).observe(document.getElementById('said'), {childList: true, characterData: true, subtree: true})")
            self.choose(page, fixtures / "starved.sqlite")
            self.wait(lambda: page.find("#report").is_displayed(), "no report")
            said = page.js("return said")
            self.assertEqual(said[0], "Reading starved.sqlite (2 MB)")
            self.assertEqual(len(said), 2, said)
            self.assertEqual(page.js("return document.activeElement.id"), "report")
            self.assertEqual(page.find("#report").accessible_name, "The report")
            page.focus(page.find("#save-page"))
            self.assertEqual(self.tabbed(page, 2), ["save-json", "again"])
            page.press(Keys.TAB)  # which goes to another process
            self.wait(lambda: page.js("return document.activeElement.id") == "report", "the report is not reached", 10)

    def tabbed(self, page, times):
        seen = []
        for _ in range(times):
            page.press(Keys.TAB)
            seen.append(page.js("return document.activeElement.id || document.activeElement.tagName"))
        return seen

    def test_it_fits_phones_in_light_and_dark_and_leaves_screenshots(self):
        long = self.folder / f"{'a-very-long-name-' * 8}.sqlite"
        shutil.copy(fixtures / "starved.sqlite", long)
        for color_scheme in ("light", "dark"):
            for width in (1280, 768, 390, 320):
                name = f"{color_scheme}-{width}.png"
                with self.subTest(name), self.opened(width=width, color_scheme=color_scheme) as page:
                    self.fits(page, f"start-{name}")
                    page.find("summary").click()
                    self.choose(page, self.empty())
                    self.fits(page, f"refused-{name}")
                    self.choose(page, long if width == 320 else fixtures / "starved.sqlite")
                    self.wait(lambda: page.find("#report").is_displayed(), "no report")
                    with self.report(page):
                        for figure in page.find_all("figure.timeline" if width < 768 else "#timeline-overview"):
                            page.timeline(figure.get_attribute("id"))
                        across, inside = page.js(FITS)
                        self.assertLessEqual(across, inside, "the report scrolls sideways")
                        page.js("scrollTo({top: 0, behavior: 'instant'})")
                        page.settle()
                    self.fits(page, f"report-{name}")
                    self.assertGreater(page.js("return document.getElementById('report').clientHeight"), 600)
                    self.assertLessEqual(page.js("return document.documentElement.scrollHeight - innerHeight"), 0, "two scroll bars")

    def fits(self, page, picture):
        page.settle()
        across, inside = page.js(FITS)
        self.assertLessEqual(across, inside, f"{picture} scrolls sideways")
        self.assertEqual(page.js(HIGH), [])
        page.screenshot(screenshots / picture)


if __name__ == "__main__":
    if not html.exists():
        print(f"skipped: there is no {html}; build it with ./dev browser")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
