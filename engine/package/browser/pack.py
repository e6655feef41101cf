#!/usr/bin/env python3
"""Makes browser.html, one file that needs no other: pack.py VERSION PROGRAM.js PROGRAM.wasm OUT"""
import base64
import gzip
import hashlib
import pathlib
import sys

MOST_BYTES = 8_000_000
version, program, wasm, out = sys.argv[1:]
here = pathlib.Path(__file__).parent


def text(path):
    content = pathlib.Path(path).read_text()
    if "</script" in content:
        raise SystemExit(f"{path}: would end the element that it is put into")
    return content


def hashes(name):
    """Of a page's part and of the report's, which the page shows in a frame, as a Content-Security-Policy lists them."""
    of = [hashlib.sha256(text(path).encode()).digest() for path in (here / name, here / "../../report" / name)]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in of)


parts = {
    "SCRIPTS": hashes("page.js"),
    "STYLES": hashes("page.css"),
    "VERSION": version,
    "STYLE": text(here / "page.css"),
    "ENGINE": base64.b64encode(gzip.compress(pathlib.Path(wasm).read_bytes(), 9, mtime=0)).decode(),
    "WORKER": text(program) + text(here / "worker.js"),
    "SCRIPT": text(here / "page.js"),
}
page = (here / "page.html").read_text()
for name, part in parts.items():
    page = page.replace(f"@{name}@", part)
if len(page) > MOST_BYTES:
    raise SystemExit(f"{out}: {len(page)} bytes are more than {MOST_BYTES}")
pathlib.Path(out).write_text(page)
