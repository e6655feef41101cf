#!/usr/bin/python3
"""The bill of materials of a release, as SPDX 2.3 JSON on standard output: sbom.py VERSION OUT MACHINE=STAGE...

It names the release's files with their checksums, and what is linked into the static programs, with versions and licences. Its bytes depend on
nothing but these and SOURCE_DATE_EPOCH.
"""
import datetime
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the parts that are linked; the packages have others for their tools and tests.
LICENCES = {
    "emscripten": "MIT OR NCSA",
    "libc6-dev": "LGPL-2.1-or-later",
    "libcli11-dev": "BSD-3-Clause",
    "libfmt-dev": "MIT",
    "liblua5.4-dev": "MIT",
    "libre2-dev": "BSD-3-Clause",
    "libsimdjson-dev": "Apache-2.0",
    "libsqlite3-dev": "blessing",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libtomlplusplus-dev": "MIT",
    "nlohmann-json3-dev": "MIT",
    "zlib1g-dev": "Zlib",
}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # as Debian calls machines
# How the names of files say that a static program is inside; .deb files hold another one, and say themselves what it needs.
INSIDE = {"x86_64": r"(linux-|_)x86_64\.|linux-x64-", "aarch64": r"(linux-|_)aarch64\.|linux-arm64-"}

version, out, stages = sys.argv[1], pathlib.Path(sys.argv[2]), dict(a.split("=", 1) for a in sys.argv[3:])
packages, files, relationships = [], [], []


def digest(path, algorithm):
    return {"algorithm": algorithm.upper(), "checksumValue": hashlib.new(algorithm, path.read_bytes()).hexdigest()}


def spdx_id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words))


def relate(a, kind, b):
    relationships.append({"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b})


def package(identifier, name, of_version, licence, supplier, **more):
    packages.append({
        "SPDXID": identifier, "name": name, "versionInfo": of_version, "supplier": supplier, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more,
    })


def debian_version(name, machine):
    """Of a package in the root that the program was linked in."""
    architecture = ARCHITECTURES[machine]
    if machine == os.uname().machine:
        query = ["dpkg-query", "--show", "--showformat=${Version}\n", name]
        return subprocess.run(query, check=True, capture_output=True, text=True).stdout.split()[0]
    # The root of another machine has files and no database: its changelogs know, that of a rebuild first.
    folder = ROOT / f"build/root-{architecture}/usr/share/doc" / name
    changelog = next(p for p in (folder / f"changelog.Debian.{architecture}.gz", folder / "changelog.Debian.gz") if p.exists())
    with gzip.open(changelog, "rt") as file:
        return re.search(r"\((\S+)\)", file.readline())[1]


def library(program_id, machine, name, debian):
    library_id = spdx_id(machine, name)
    purl = f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(debian, safe=':')}"
    package(library_id, name, debian, LICENCES[name], "Organization: Debian", primaryPackagePurpose="LIBRARY",
            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}])
    relate(program_id, "STATIC_LINK", library_id)


for machine, stage in sorted(stages.items()):
    program = pathlib.Path(stage, "bin/gh-advise")
    program_id = spdx_id("program", machine)
    package(program_id, f"gh-advise for {machine}", version, "Apache-2.0", "Organization: The authors of gh-advise",
            primaryPackagePurpose="APPLICATION", packageFileName="bin/gh-advise", checksums=[digest(program, "sha256")])
    # The build lists the packages with their copyright files: engine/package/package.cmake.
    linked = re.findall(r"^==== (\S+) ====$", pathlib.Path(stage, "share/doc/gh-advise/libraries-copyright").read_text(), re.MULTILINE)
    for name in sorted(linked):
        library(program_id, machine, name, debian_version(name, machine))

if (out / "browser.html").exists():
    # Compiled from the sources of the same libraries; what C and C++ need besides is emscripten's.
    package("SPDXRef-program-browser", "gh-advise for browsers", version, "Apache-2.0", "Organization: The authors of gh-advise",
            primaryPackagePurpose="APPLICATION", packageFileName="browser.html", checksums=[digest(out / "browser.html", "sha256")])
    for name in sorted(LICENCES.keys() - {"libc6-dev", "libstdc++6"}):
        library("SPDXRef-program-browser", "browser", name, debian_version(name, os.uname().machine))

for path in sorted(p for p in out.iterdir() if p.is_file()):
    file_id = spdx_id("file", path.name)
    files.append({"SPDXID": file_id, "fileName": f"./{path.name}", "checksums": [digest(path, "sha1"), digest(path, "sha256")]})
    relate("SPDXRef-DOCUMENT", "DESCRIBES", file_id)
    for machine in sorted(stages):
        if re.search(INSIDE[machine], path.name):
            relate(file_id, "CONTAINS", spdx_id("program", machine))
    if path.name == "browser.html":
        relate(file_id, "CONTAINS", "SPDXRef-program-browser")

contents = json.dumps([packages, files, relationships], sort_keys=True)
created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
json.dump({
    "spdxVersion": "SPDX-2.3",
    "dataLicense": "CC0-1.0",
    "SPDXID": "SPDXRef-DOCUMENT",
    "name": f"gh-advise-{version}",
    "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, contents).urn,  # the same for the same contents
    "creationInfo": {"created": f"{created:%Y-%m-%dT%H:%M:%SZ}", "creators": ["Organization: The authors of gh-advise", "Tool: gh-advise-sbom"]},
    "packages": packages,
    "files": files,
    "relationships": relationships,
}, sys.stdout, indent=1)
