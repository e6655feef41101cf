#!/usr/bin/python3
"""Takes the picture of a report's page that the README shows: picture.py PROGRAM REPORT PICTURE.png

    tests/browser/picture.py build/release/gh-advise build/release/fixtures/starved.sqlite docs/page.png
"""
import os
import pathlib
import subprocess
import sys
import tempfile

WIDTH, HEIGHT = 1120, 1000  # the verdict, the plan and the account; what GitHub shows without shrinking much
MOST_BYTES = 250_000  # a README should load at once

program, report, picture = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
with tempfile.TemporaryDirectory(prefix="gh-advise-picture-") as work:
    page = pathlib.Path(work, "page.html")
    # In the report's folder, so that the page gives its name and no path of this machine.
    subprocess.run([program, report.name, "--output", f"html={page}", "--config", "none"], cwd=report.parent, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([os.environ.get("CHROMIUM", "/usr/bin/chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    "--force-prefers-reduced-motion", "--blink-settings=preferredColorScheme=1", f"--user-data-dir={work}/profile",
                    f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}", page.as_uri()], check=True, stderr=subprocess.DEVNULL)
if picture.stat().st_size > MOST_BYTES:
    sys.exit(f"{picture}: {picture.stat().st_size} bytes; more than {MOST_BYTES}")
