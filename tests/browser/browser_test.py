#!/usr/bin/python3
"""Opens pages of the recorded reports in Chromium and holds them to what the JSON says: browser_test.py PROGRAM FIXTURES SCREENSHOTS

Screenshots at three widths, light and dark, are left in SCREENSHOTS for people to look at. Exit status 1 where something does not hold.
"""
import contextlib
import functools
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, Page
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

program, fixtures, screenshots = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
reports = sorted(p.name for p in fixtures.iterdir() if p.name.endswith((".sqlite", ".pt.trace.json")))
work = tempfile.TemporaryDirectory(prefix="gh-advise-browser-")


def run(*arguments):
    return subprocess.run([program, *arguments], cwd=fixtures, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8").stdout


@functools.cache
def advise(report):
    """The page of a report, and its JSON."""
    html = pathlib.Path(work.name, pathlib.Path(report).name + ".html")
    return html, json.loads(run("check", str(report), "--format", "json", "--output", f"html={html}"))["reports"][0]


@functools.cache
def advise_layers():
    """The page of a program whose forward is divided into eight layers, each of two parts."""
    report = pathlib.Path(work.name, "layers.sqlite")
    shutil.copy(fixtures / "starved.sqlite", report)
    with contextlib.closing(sqlite3.connect(report)) as database, database:
        forwards = database.execute("select start, end, eventType, globalTid, domainId from NVTX_EVENTS where text = 'forward'").fetchall()
        for start, end, *others in forwards:
            for i in range(8):
                begin, length = start + (end - start) * i // 8 + 1, (end - start) // 8 - 2
                parts = [(f"blocks.{i}", 0, length), (f"blocks.{i}.attn", 0, length // 2), (f"blocks.{i}.mlp", length // 2, length)]
                database.executemany("insert into NVTX_EVENTS (start, end, text, eventType, globalTid, domainId) values (?, ?, ?, ?, ?, ?)",
                                     [(begin + first, begin + last, name, *others) for name, first, last in parts])
    return advise(report)[0]


def in_one_line(text):
    return " ".join(text.split())


class Pages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(screenshots, ignore_errors=True)
        screenshots.mkdir(parents=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    @contextlib.contextmanager
    def opened(self, html, **options):
        """A page that has to be quiet until it is left."""
        page = Page(self.browser, html, **options)
        yield page
        self.assertEqual(page.said(), [])

    def assert_near(self, a, b, tolerance, what):
        self.assertLessEqual(abs(a - b), tolerance, f"{what}: {a} against {b}")

    def test_what_a_page_says_errs_asks_and_fetches_is_noticed(self):
        loud = pathlib.Path(work.name, "loud.html")
        loud.write_text("""<!doctype html><img src=missing.png><script>console.log('said'); no_such_function()</script>
            <script>alert('asked')</script>""")
        said = "\n".join(Page(self.browser, loud).said())
        for part in ('"said"', "dialog: asked", "no_such_function is not defined", "/missing.png"):
            self.assertIn(part, said)

    def test_every_page_is_small_quiet_and_whole_and_evidence_stands_where_the_json_says(self):
        self.assertGreater(len(reports), 10)
        for report in reports:
            html, json = advise(report)
            with self.subTest(report), self.opened(html) as page:
                self.assertLess(html.stat().st_size, 2_000_000)
                self.assertEqual(len(page.find_all("article.finding")), len(json["findings"]))
                for i, finding in enumerate(json["findings"], 1):
                    text = in_one_line(page.text(f"#finding-{i}"))
                    for part in [finding["message"], *finding["advice"][:8]]:
                        self.assertIn(in_one_line(part.replace("`", "")), text)
                    if finding["evidence"]:
                        self.check_evidence(page, page.timeline(f"timeline-{i}"), finding["evidence"][0])
                if page.find_all("#timeline-overview"):
                    self.check_overview(page, json)
                self.assertTrue(page.js("return document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways")

    def check_evidence(self, page, figure, evidence):
        drawn = page.drawn(figure, ".evidence")
        mark, pixel, start, end = drawn["rects"][0], drawn["pixel"], drawn["from"], drawn["to"]
        # The page counts as browsers do, in doubles.
        self.assertEqual((mark["says_start"], mark["says_end"]), (float(evidence["start_ns"]), float(evidence["end_ns"])))
        self.assert_near(mark["start"], max(evidence["start_ns"], start), 2.5 * pixel, "start of the mark")
        self.assert_near(mark["end"], min(evidence["end_ns"], end), 2.5 * pixel, "end of the mark")
        pieces = page.drawn(figure, ".piece")["rects"]
        self.assertTrue(pieces, "nothing is drawn beside the evidence")
        for piece in pieces:
            self.assert_near(piece["start"], max(piece["says_start"], start), 1.5 * pixel, "start of a piece")
            if piece["says_end"] - piece["says_start"] > 2 * pixel:
                self.assert_near(piece["end"], min(piece["says_end"], end), 1.5 * pixel, "end of a piece")

    def check_overview(self, page, json):
        drawn = page.drawn(page.timeline("timeline-overview"), ".mark")
        start, end = drawn["from"], drawn["to"]
        evidence = [e for finding in json["findings"][:30] for e in finding["evidence"]]
        wanted = sorted(float(e["start_ns"]) for e in evidence if e["end_ns"] >= start and e["start_ns"] <= end)
        self.assertEqual(sorted(mark["says_start"] for mark in drawn["rects"]), wanted)
        for mark in drawn["rects"]:
            self.assert_near(mark["start"], max(mark["says_start"], start), 1.5 * drawn["pixel"], "a mark of the overview")

    def test_the_account_adds_up_to_the_step_and_matches_the_json(self):
        html, json = advise("starved.sqlite")
        with self.opened(html) as page:
            widths = page.js("return [...document.querySelector('#account .stack').children].map(c => [c.title, parseFloat(c.style.width)])")
            self.assert_near(sum(width for _, width in widths), 100, 0.1, "the sum of the parts")
            largest = max(json["account"], key=lambda line: line["fraction"])
            self.assertEqual(largest["cause"], "idle.input")
            drawn = next(width for title, width in widths if title.endswith("idle: input"))
            self.assert_near(drawn, 100 * largest["fraction"], 0.01, "the largest part")

    def test_buttons_and_keys_move_the_axis_and_the_mark_stays_where_it_belongs(self):
        html, json = advise("starved.sqlite")
        with self.opened(html) as page:
            figure = page.timeline("timeline-1")
            start, end = page.axis(figure)
            length = end - start

            def shown():
                start, end = page.axis(figure)
                return end - start

            page.button(figure, "Zoom in").click()
            self.assert_near(shown(), length / 2, length / 1e6, "half of it")
            page.button(figure, "Later").click()
            self.assert_near(page.axis(figure)[0], start + length / 4 + length / 8, length / 1e6, "a quarter of the view later")
            drawn = page.drawn(figure, ".evidence")
            wanted = min(json["findings"][0]["evidence"][0]["end_ns"], drawn["to"])
            self.assert_near(drawn["rects"][0]["end"], wanted, 2.5 * drawn["pixel"], "end of the mark after zooming")
            page.focus(page.find("#timeline-1 svg"))
            page.press("0")
            self.assertEqual(page.axis(figure), (start, end))
            page.press("-")
            self.assertGreater(shown(), length)
            page.press("+", Keys.ARROW_LEFT)
            self.assertLess(page.axis(figure)[0], start)
            page.press("+" * 40)
            closest = page.axis(figure)
            page.press("+")
            self.assertEqual(page.axis(figure), closest, "it goes beyond the limit")

    def test_dragging_pans_and_the_wheel_zooms_with_ctrl_only(self):
        html, _ = advise("starved.sqlite")
        with self.opened(html) as page:
            figure = page.timeline("timeline-1")
            svg = page.find("#timeline-1 svg")
            start, end = page.axis(figure)
            length = end - start
            # By a quarter of the axis to the left shows what is a quarter later.
            left, top, width, height = page.box(svg)
            x, y, by = left + width / 2, top + height - 30, (width - float(svg.get_attribute("data-gutter"))) / 4
            page.mouse("mouseMoved", x, y)
            page.mouse("mousePressed", x, y, button="left", clickCount=1)
            for i in range(1, 6):
                page.mouse("mouseMoved", x - by * i / 5, y, button="left", buttons=1)
            page.mouse("mouseReleased", x - by, y, button="left", clickCount=1)
            page.settle()
            moved = page.axis(figure)[0] - start
            self.assertTrue(0 < moved <= length / 4 + length / 1e3, f"dragged by {moved} of {length}")
            page.focus(svg)
            page.press("0")
            page.mouse("mouseWheel", x, y, deltaX=0, deltaY=10)
            page.settle()
            self.assertEqual(page.axis(figure), (start, end))
            left, top, width, height = page.box(svg)
            page.mouse("mouseWheel", left + width / 2, top + height / 2, deltaX=0, deltaY=-10, modifiers=2)
            page.settle()
            start, end = page.axis(figure)
            self.assertLess(end - start, length)

    def test_hovering_and_n_tell_name_and_times_and_other_evidence_can_be_shown(self):
        html, json = advise("starved.sqlite")
        with self.opened(html) as page:
            figure = page.timeline("timeline-1")
            left, top, width, height = page.box(figure.find_elements(By.CSS_SELECTOR, "rect.range")[1])
            page.mouse("mouseMoved", left + width / 2, top + height / 2)
            self.assertRegex(page.text("#tip"), r"range")
            self.assertRegex(page.text("#tip"), r"at \d+\.\d+ s for \d")
            page.focus(page.find("#timeline-1 svg"))
            page.press("n")
            self.assertRegex(page.text("#timeline-1 .said"), r"step \d+.* for ")
            other = page.find_all("#finding-1 button[data-show]")[1]
            other.click()
            self.assertEqual(other.get_attribute("aria-pressed"), "true")
            self.assertEqual(page.drawn(figure, ".evidence")["rects"][0]["says_start"], json["findings"][0]["evidence"][1]["start_ns"])

    def test_tables_sort_by_each_column_both_ways(self):
        html, _ = advise("starved.sqlite")
        with self.opened(html) as page:
            table = page.find("#kernels table")
            heads = table.find_elements(By.CSS_SELECTOR, "thead th")
            count = [head.text for head in heads].index("Kernels")

            def column():
                return page.js("return [...arguments[0].tBodies[0].rows].map(r => Number(r.cells[arguments[1]].dataset.value))", table, count)

            button = heads[count].find_element(By.TAG_NAME, "button")
            button.click()
            self.assertEqual(heads[count].get_attribute("aria-sort"), "descending")
            self.assertEqual(column(), sorted(column(), reverse=True))
            button.send_keys(Keys.ENTER)
            self.assertEqual(heads[count].get_attribute("aria-sort"), "ascending")
            self.assertEqual(column(), sorted(column()))
            heads[0].find_element(By.TAG_NAME, "button").click()
            names, sorted_names = page.js("""
                const names = [...arguments[0].tBodies[0].rows].map(r => r.cells[0].textContent);
                return [names, names.slice().sort((a, b) => a.localeCompare(b, undefined, {numeric: true}))]""", table)
            self.assertEqual(names, sorted_names)

    def test_rows_that_are_folded_are_a_click_away(self):
        html, _ = advise("starved.sqlite")
        with self.opened(html) as page:
            summary = next(s for s in page.find_all("#finding-2 summary") if "concerned" in s.text)
            summary.click()
            table = next(t for t in page.find_all("#finding-2 table") if "concerned" in t.find_element(By.TAG_NAME, "caption").text)
            rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")

            def shown():
                return sum(row.is_displayed() for row in rows)

            self.assertLess(shown(), len(rows))
            page.button(page.find("#finding-2"), f"all {len(rows)} rows").click()
            self.assertEqual(shown(), len(rows))

    def test_links_of_the_plan_and_marks_of_the_overview_lead_to_findings(self):
        html, json = advise("starved.sqlite")
        evidence = json["findings"][0]["evidence"]
        with self.opened(html) as page:
            page.find("#plan a[href='#finding-2']").click()
            self.assertEqual(page.hash(), "#finding-2")
            overview = page.timeline("timeline-overview")
            overview.find_elements(By.CSS_SELECTOR, "a[href='#finding-1'] rect")[1].click()
            self.assertEqual(page.hash(), "#finding-1")
            # The second mark is the second piece of evidence, which is then shown.
            self.assertEqual(page.drawn(page.find("#timeline-1"), ".evidence")["rects"][0]["says_start"], evidence[1]["start_ns"])
            self.assertEqual(page.js("return document.activeElement.id"), "finding-1")
            page.settle()
            self.assertTrue(page.js("const top = document.activeElement.getBoundingClientRect().top; return top > -5 && top < innerHeight"))
            # By keyboard: the marks come first among what the overview has drawn.
            page.focus(page.find("#timeline-overview svg"))
            page.press("n" * (1 + len(evidence)), Keys.ENTER)
            self.assertEqual(page.hash(), "#finding-2")

    def test_everything_can_be_reached_by_keyboard_and_has_a_name(self):
        html, _ = advise("starved.sqlite")
        with self.opened(html) as page:
            page.press(Keys.TAB)
            self.assertEqual(page.js("return document.activeElement.textContent"), "Skip to the findings")
            page.timeline("timeline-1")
            lost = page.js("return [...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href')).filter(h => !document.querySelector(h))")
            self.assertEqual(lost, [])
            nameless = page.js("""
                return [...document.querySelectorAll('button, a[href], svg[role], [role=img]')]
                  .filter(n => !(n.getAttribute('aria-label') || n.textContent.trim())).map(n => n.outerHTML.slice(0, 120))""")
            self.assertEqual(nameless, [])
            levels = page.js("return [...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))")
            self.assertEqual(levels.count(1), 1)
            for above, level in zip([1, *levels], levels):
                self.assertLessEqual(level, above + 1, "a level of headings is left out")

    def test_a_page_is_printed_with_every_timeline(self):
        html, json = advise("starved.sqlite")
        with self.opened(html) as page:
            self.assertTrue(page.pdf().startswith(b"%PDF"))
            with_evidence = sum(bool(finding["evidence"]) for finding in json["findings"])
            self.assertEqual(len(page.find_all("figure.timeline svg")), 1 + with_evidence)

    def test_without_scripts_all_that_is_said_is_there(self):
        html, json = advise("starved.sqlite")
        with self.opened(html, scripts=False) as page:
            text = page.text("body")
            for finding in json["findings"]:
                self.assertIn(finding["title"], text)
            self.assertIn("Timelines need a browser that runs scripts", text)
            self.assertEqual(page.find_all("figure.timeline svg"), [])

    def test_code_is_copied_with_and_without_a_clipboard(self):
        html, json = advise("starved.sqlite")
        with self.opened(html) as page:
            code = next(c for c in page.find_all("#finding-1 .fix code.to-copy") if "num_workers" in c.text)
            self.assertIn(code.text, json["findings"][0]["advice"][0])
            self.assertIn("mono", page.js("return getComputedStyle(arguments[0]).fontFamily", code))
            for clipboard in (True, False):
                # What the browser is asked to copy, either way.
                page.js("""
                    window.taken = null;
                    const write = arguments[0] ? {writeText: async text => { window.taken = text; }} : undefined;
                    Object.defineProperty(navigator, 'clipboard', {value: write, configurable: true});
                    document.execCommand = command => { window.taken = command === 'copy' ? getSelection().toString() || document.activeElement.value : null; return true; };
                    """, clipboard)
                button = page.button(page.find("#finding-1"), f"Copy {code.text}")
                page.focus(button)
                page.press(Keys.ENTER)
                page.settle()
                self.assertEqual(page.js("return window.taken"), code.text)
                self.assertEqual(page.js("return document.activeElement.getAttribute('aria-label')"), f"Copy {code.text}")
                self.assertEqual(button.get_attribute("data-said"), "copied")
                self.assertEqual(page.text(".only-heard[role=status]"), "copied")

    def test_links_to_documentation_open_beside_the_page_and_tell_it_nothing(self):
        html, _ = advise("starved.sqlite")
        with self.opened(html) as page:
            links = page.js("return [...document.querySelectorAll('a[href]:not([href^=\"#\"])')].map(a => [a.href, a.target, a.rel, a.textContent])")
            self.assertIn("DataLoader", [text for *_, text in links])
            for address, target, rel, _ in links:
                self.assertTrue(address.startswith("https://"), address)
                self.assertEqual((target, rel), ("_blank", "noopener noreferrer"))

    def test_the_search_finds_kernels_ranges_findings_and_rules(self):
        html, json = advise("starved.sqlite")

        def shown(selector):
            return [node for node in page.find_all(selector) if node.is_displayed()]

        with self.opened(html) as page:
            open_before = page.js("return [...document.querySelectorAll('details')].map(d => d.open)")
            page.press("/")
            self.assertEqual(page.js("return document.activeElement.id"), "find")
            page.press("forward")
            page.settle()
            rows = shown("table[data-find=range] tbody tr")
            self.assertTrue(rows)
            for row in rows:
                self.assertIn("forward", row.text)
            self.assertRegex(page.text("#found"), r"\d+ range")
            self.assertFalse(page.find("#account").is_displayed())
            page.press(Keys.ESCAPE)
            page.settle()
            self.assertEqual(page.js("return [...document.querySelectorAll('details')].map(d => d.open)"), open_before)
            self.assertTrue(page.find("#account").is_displayed())

            page.press("gemm")
            self.assertTrue(shown("table[data-find=kernel] tbody tr"))
            page.press(Keys.ESCAPE, json["findings"][1]["title"])
            self.assertEqual([a.get_attribute("id") for a in shown("article.finding")], ["finding-2"])
            page.press(Keys.ESCAPE, json["clean"][0])
            self.assertEqual(len(shown("li[data-find=rule]")), 1)
            page.press(Keys.ESCAPE, "no such name")
            self.assertEqual(page.text("#found"), "nothing on this page is called so")
            self.assertEqual(shown("main > section"), [])

    def test_clean_rules_and_tables_are_folded_behind_their_number(self):
        html, json = advise("starved.sqlite")
        with self.opened(html) as page:
            summaries = [s.text for s in page.find_all("main details:not([open]) > summary")]
            self.assertIn(f"Checked and clean: {len(json['clean'])} rules found nothing", summaries)
            not_checked = next(s for s in summaries if s.startswith("Not checked: "))
            self.assertIn(str(len(json["not_checked"])), not_checked)
            self.assertTrue(any(s.startswith("Kernels by name (") for s in summaries), summaries)
            self.assertEqual(len(page.find_all("li[data-find=rule] > code:only-child")), len(json["clean"]))

    def test_layers_are_drawn_looked_into_and_sorted(self):
        with self.opened(advise_layers()) as page:
            tree = page.js("return JSON.parse(document.getElementById('layers-icicle').dataset.tree)")
            names = [node[1] or "(in no layer)" for node in tree["nodes"]]
            blocks = names.index("blocks.* (8)")
            svg = page.find("#layers-icicle svg")
            page.box(svg)

            def width(block, part="rect"):
                return page.js("return arguments[0].getBoundingClientRect().width", page.find(f"#layers-icicle [data-block='{block}'] {part}"))

            # As wide as its time, with forward's share of it below its name.
            _, _, time, forward, backward, *_ = tree["nodes"][blocks]
            self.assert_near(width(blocks), width(-1) * time / tree["total"], 1, "the equal layers")
            self.assert_near(width(blocks, ".forward"), width(blocks) * forward / time, 1, "forward")
            self.assertEqual(len(page.find_all(f"#layers-icicle [data-block='{blocks}'] .backward")), int(backward > 0))
            self.assertIn("forward", page.text("#layers-icicle .legend"))
            page.find(f"#layers-icicle [data-block='{blocks}'] rect").click()
            self.assertEqual(int(svg.get_attribute("data-zoomed")), blocks)
            self.assert_near(width(blocks), width(-1), 1, "the block that is looked into")
            self.assertRegex(page.text("#layers-icicle .said"), r"blocks\.\* \(8\), [\d.]+ .?s \(\d.*forward [\d.]+ .?s, backward .*mean ")
            inner = {names[i] for i, node in enumerate(tree["nodes"]) if node[0] == blocks and page.find_all(f"#layers-icicle [data-block='{i}']")}
            self.assertLessEqual({"attn", "mlp"}, inner)
            page.focus(svg)
            page.press(Keys.ESCAPE)
            self.assertEqual(int(svg.get_attribute("data-zoomed")), -1)
            page.press(Keys.ARROW_DOWN, Keys.ENTER)
            self.assertEqual(tree["nodes"][int(svg.get_attribute("data-zoomed"))][0], -1)
            page.press(Keys.HOME)
            self.assertEqual(int(svg.get_attribute("data-zoomed")), -1)
            # The host's time is another width.
            host = page.button(page.find("#layers-icicle"), "Width by the host\u2019s time")
            host.click()
            self.assertEqual(host.get_attribute("aria-pressed"), "true")
            self.assertRegex(page.text("#layers-icicle .said"), r"the host.s time: [\d.]+ .?s")
            page.button(page.find("#layers-icicle"), "Width by time").click()

            table = page.find("#layers table")
            rows = "return [...arguments[0].tBodies[0].rows].map(r => r.cells[0].querySelector('span').firstChild.textContent)"
            self.assertEqual(page.js(rows, table), names)
            heads = table.find_elements(By.CSS_SELECTOR, "thead th")
            launches = [head.text.split(" \u2195")[0] for head in heads].index("Launches")
            heads[launches].find_element(By.TAG_NAME, "button").click()
            values = page.js("return [...arguments[0].tBodies[0].rows].map(r => Number(r.cells[arguments[1]].dataset.value ?? -1))", table, launches)
            self.assertEqual(values, sorted(values, reverse=True))
            for _ in range(2):
                heads[0].find_element(By.TAG_NAME, "button").click()
            self.assertEqual(page.js(rows, table), names, "sorted by its first column it is the tree again")

            page.press("/", "blocks")
            page.settle()
            self.assertRegex(page.text("#found"), r"\d+ layer")
            self.assertTrue(page.find_all("#layers-icicle .block.hit"))

    def test_a_report_without_ranges_says_how_to_record_them(self):
        bare = pathlib.Path(work.name, "bare.sqlite")
        shutil.copy(fixtures / "starved.sqlite", bare)
        with contextlib.closing(sqlite3.connect(bare)) as report, report:
            report.execute("delete from NVTX_EVENTS")
        html, _ = advise(bare)
        with self.opened(html) as page:
            self.assertIn("No ranges were recorded", page.text("#layers"))
            self.assertIn("nsys profile --trace=cuda,nvtx", page.text("#layers"))
            # What repeats in the kernels is a layer all the same.
            self.assertRegex(page.text("#layers-icicle"), r"layer \*")

    def test_the_path_is_drawn_and_leads_to_the_findings_about_it(self):
        html, json = advise("starved.sqlite")
        with self.opened(html) as page:
            self.assertTrue(page.find("#path .stack").is_displayed())
            table = page.find("#path table")
            self.assertTrue(table.is_displayed())
            first = json["path"]["items"][0]
            row = table.find_elements(By.CSS_SELECTOR, "tbody tr")[0]
            self.assert_near(float(row.find_elements(By.TAG_NAME, "td")[2].get_attribute("data-value")), first["fraction"], 1e-3, "the largest share")
            starvation = 1 + next(i for i, f in enumerate(json["findings"]) if f["rule"] == "data-loader-starvation")
            loader = next(r for r in table.find_elements(By.CSS_SELECTOR, "tbody tr") if "dataloader" in r.text)
            loader.find_element(By.CSS_SELECTOR, f"a[href='#finding-{starvation}']").click()
            self.assertEqual(page.hash(), f"#finding-{starvation}")

    def test_each_device_has_a_row_that_can_be_sorted(self):
        html, json = advise("ddp-straggler.sqlite")
        with self.opened(html) as page:
            table = page.find("#devices table")
            heads = [head.text.split(" \u2195")[0] for head in table.find_elements(By.CSS_SELECTOR, "th")]
            rows = [[cell.get_attribute("data-value") for cell in row.find_elements(By.TAG_NAME, "td")] for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")]
            self.assertEqual(len(rows), len(json["devices"]))
            for row, device in zip(rows, json["devices"]):
                causes = {line["cause"]: line for line in device["account"]}
                idle = sum(line["ns_per_step"] for cause, line in causes.items() if cause.startswith("idle."))
                self.assert_near(float(row[heads.index("Mean step")]), sum(line["ns_per_step"] for line in causes.values()), 1e3, "the mean step")
                self.assert_near(float(row[heads.index("Idle")]), idle, 1e3, "idle")
                self.assert_near(float(row[heads.index("Exposed communication")]), causes["communication_exposed"]["ns_per_step"], 1e3, "exposed communication")
            waits = [float(row[heads.index("Waits for other ranks")]) for row in rows]
            self.assertGreater(max(waits), 10 * max(min(waits), 1e5), "one rank waits for the other")
            table.find_elements(By.CSS_SELECTOR, "th button")[heads.index("Waits for other ranks")].click()
            self.assertEqual([float(c.get_attribute("data-value")) for c in table.find_elements(By.CSS_SELECTOR, f"tbody td:nth-child({1 + heads.index('Waits for other ranks')})")], sorted(waits, reverse=True))

    def test_names_in_a_report_are_text_whatever_they_say(self):
        hostile = pathlib.Path(work.name, "hostile.sqlite")
        shutil.copy(fixtures / "starved.sqlite", hostile)
        attack = """<script>alert(1)</script><img src=x onerror=alert(2)>"'</script><!--"""
        with contextlib.closing(sqlite3.connect(hostile)) as report, report:
            report.execute("update StringIds set value = ? || value where value like '%kernel%' or value like 'python%'", [attack])
            report.execute("update NVTX_EVENTS set text = ? where text = 'forward'", [attack])
            report.execute("update NVTX_EVENTS set textId = null, text = 'dataloader ' || ? where text = 'dataloader'", [attack])
            report.execute("update TARGET_INFO_GPU set name = ? || name", [attack])
        html, said = advise(hostile)
        self.assertIn("<script>alert(1)", json.dumps(said), "the attack is not in what the page shows")
        self.assertEqual(html.read_text().count("<script"), 2, "the page has its two scripts and no other")
        with self.opened(html) as page:
            for figure in page.find_all("figure.timeline"):
                page.timeline(figure.get_attribute("id"))
            self.assertEqual(page.find_all("img"), [])
            self.assertIn("<script>alert(1)</script>", page.text("body"))
            labels = page.js("return [...document.querySelectorAll('.timeline title, .timeline text')].map(n => n.textContent)")
            self.assertTrue(any("<script>" in label for label in labels), "no timeline shows the range")
            blocks = page.js("return [...document.querySelectorAll('#layers-icicle text')].map(n => n.textContent)")
            self.assertTrue(any("<scr" in block for block in blocks), "the tree does not show the range")

    def test_nothing_but_the_page_s_own_script_and_style_sheet_is_taken(self):
        html, _ = advise("starved.sqlite")
        injected = pathlib.Path(work.name, "injected.html")
        injected.write_text(html.read_text().replace("<main>", """<main><script>document.title = 'run'</script><style>main { display: none }</style>
            <p id=attack onclick="document.title = 'clicked'">x</p><a id=link href="javascript:document.title = 'followed'">x</a>""", 1))
        page = Page(self.browser, injected)
        for attack in ("attack", "link"):
            page.js("document.getElementById(arguments[0]).click()", attack)
        page.timeline("timeline-1")  # what is the page's own works all the same
        self.assertNotIn(page.js("return document.title"), ("run", "clicked", "followed"))
        self.assertEqual(page.js("return getComputedStyle(document.querySelector('main')).display"), "block")
        said = "\n".join(page.said())
        self.assertGreaterEqual(said.count("Content Security Policy"), 3, said)

    def test_before_and_after_stand_side_by_side(self):
        html = pathlib.Path(work.name, "diff.html")
        said = json.loads(run("diff", "starved.sqlite", "good.sqlite", "--format", "json", "--output", f"html={html}"))
        with self.opened(html) as page:
            self.assertIn(said["headline"][:40], page.text("h1"))
            before, after = page.js("return [...document.querySelectorAll('.side > div')].map(d => { const b = d.getBoundingClientRect(); return [b.left, b.top]; })")
            self.assertTrue(after[0] > before[0] and after[1] == before[1], "not side by side")
            text = page.text("#findings")
            for finding in said["findings"]:
                self.assertIn(f"{finding['rule']}: {finding['title']}", text)
            lines = page.js("return document.querySelector('#step table').tBodies[0].rows.length")
            self.assertEqual(lines, sum(line["before"] > 0 or line["after"] > 0 for line in said["account"]))
            page.screenshot(screenshots / "diff-light-1280.png")

    def test_hovering_over_the_window_tells_its_shares(self):
        html, _ = advise("starved.sqlite")
        with self.opened(html) as page:
            left, top, width, height = page.box(page.timeline("timeline-overview").find_element(By.CSS_SELECTOR, "path.idle-input"))
            page.mouse("mouseMoved", left + width / 2, top + height - 3)
            self.assertRegex(page.text("#tip"), r"device 0: .*\nat .* for .*\n[\s\S]*idle: input: \d+")

    def test_no_page_scrolls_sideways_at_any_width_and_each_leaves_screenshots(self):
        pages = {report: advise(report)[0] for report in ("starved.sqlite", "ddp-straggler.sqlite", "um.sqlite")} | {"layers.sqlite": advise_layers()}
        for report, html in pages.items():
            for color_scheme, width in (("light", 1280), ("light", 768), ("light", 320), ("dark", 1280), ("dark", 360)):
                with self.subTest(report, width=width), self.opened(html, color_scheme=color_scheme, width=width) as page:
                    page.js("dispatchEvent(new Event('beforeprint'))")  # draws what has not been in sight, and opens what is folded
                    self.assertTrue(page.js("return document.documentElement.scrollWidth <= innerWidth"))
                    page.screenshot(screenshots / f"{report.removesuffix('.sqlite')}-{color_scheme}-{width}.png")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
