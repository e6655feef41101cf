#!/usr/bin/python3
"""Checks what a release says about itself: release_test.py PACKAGES"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import jinja2
import yaml

packages = pathlib.Path(sys.argv.pop(1))
source = pathlib.Path(__file__).resolve().parents[2]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


(sbom_path,) = packages.glob("*.spdx.json")
sbom = json.loads(sbom_path.read_text())
tarballs = {p.name.split("-linux-")[1].split(".")[0]: p for p in packages.glob("*-linux-*.tar.gz")}  # by machine


class Sums(unittest.TestCase):
    def test_every_file_has_a_checksum(self):
        named = {line.split("  ", 1)[1] for line in (packages / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(named, {p.name for p in packages.iterdir()} - {"SHA256SUMS"})


class BillOfMaterials(unittest.TestCase):
    """What SPDX 2.3 requires, and that it is true."""

    def test_it_is_a_document(self):
        self.assertEqual((sbom["spdxVersion"], sbom["dataLicense"], sbom["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(sbom["documentNamespace"], r"^[a-z]+:[^#]+$")
        self.assertRegex(sbom["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for creator in sbom["creationInfo"]["creators"]:
            self.assertRegex(creator, r"^(Organization|Tool): \S")

    def test_elements_are_named_once_and_are_described(self):
        elements = [sbom["SPDXID"]] + [e["SPDXID"] for e in sbom["packages"] + sbom["files"]]
        self.assertEqual(len(elements), len(set(elements)))
        reached = {sbom["SPDXID"]}
        for relation in sbom["relationships"]:
            self.assertEqual(set(relation), {"spdxElementId", "relationshipType", "relatedSpdxElement"})
            self.assertIn(relation["relationshipType"], {"DESCRIBES", "CONTAINS", "STATIC_LINK"})
            self.assertIn(relation["spdxElementId"], elements)
            reached.add(relation["relatedSpdxElement"])
        self.assertEqual(reached, set(elements))
        for element in elements:
            self.assertRegex(element, r"^SPDXRef-[A-Za-z0-9.-]+$")

    def test_packages_have_versions_and_licences(self):
        for package in sbom["packages"]:
            with self.subTest(package["name"]):
                for key in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText", "supplier"):
                    self.assertTrue(package[key])
                self.assertIs(package["filesAnalyzed"], False)
                self.assertRegex(package["licenseConcluded"], r"^[A-Za-z0-9.-]+( (WITH|OR|AND) [A-Za-z0-9.-]+)?$")

    def test_files_are_those_of_the_release(self):
        self.assertEqual({f["fileName"][2:] for f in sbom["files"]}, {p.name for p in packages.iterdir()} - {"SHA256SUMS", sbom_path.name})
        for file in sbom["files"]:
            sums = {c["algorithm"]: c["checksumValue"] for c in file["checksums"]}
            self.assertRegex(sums["SHA1"], r"^[0-9a-f]{40}$")
            self.assertEqual(sums["SHA256"], sha256(packages / file["fileName"]))

    def test_programs_are_those_inside(self):
        contained = [(r["spdxElementId"], r["relatedSpdxElement"]) for r in sbom["relationships"] if r["relationshipType"] == "CONTAINS"]
        for machine, tarball in tarballs.items():
            (program,) = (p for p in sbom["packages"] if p["name"] == f"gh-advise for {machine}")
            with tarfile.open(tarball) as archive:
                (name,) = (n for n in archive.getnames() if n.endswith("/bin/gh-advise"))
                inside = archive.extractfile(name).read()
            self.assertEqual(program["checksums"][0]["checksumValue"], hashlib.sha256(inside).hexdigest())
            holders = {f["fileName"] for f in sbom["files"] if (f["SPDXID"], program["SPDXID"]) in contained}
            kinds = {re.search(r"\.(tar\.gz|whl|tgz|oci\.tar)$", h)[1] for h in holders}
            self.assertEqual(kinds - {"oci.tar"}, {"tar.gz", "whl", "tgz"})
            (wheel,) = packages.glob(f"*_{machine}.whl")
            with zipfile.ZipFile(wheel) as archive:
                (name,) = (n for n in archive.namelist() if n.endswith(".data/scripts/gh-advise"))
                self.assertEqual(archive.read(name), inside)


class Recipe(unittest.TestCase):
    """conda is no package of Debian's: this reads and follows the recipe as conda-build would."""

    CONDA = {"x86_64": "linux64", "aarch64": "aarch64"}

    def recipe(self, machine):
        lines = (packages / "meta.yaml").read_text().splitlines()
        kept = []
        for line in lines:
            selector = re.search(r"\s# \[(not )?(\w+)\]$", line)
            if not selector or (selector[2] in ("linux", self.CONDA[machine])) != bool(selector[1]):
                kept.append(line)
        return yaml.safe_load(jinja2.Template("\n".join(kept), undefined=jinja2.StrictUndefined).render(environ={}))

    def test_its_sources_are_the_tarballs(self):
        for machine, tarball in tarballs.items():
            recipe = self.recipe(machine)
            (origin,) = recipe["source"]
            self.assertEqual((packages / origin["url"]).resolve(), tarball.resolve())
            self.assertEqual(origin["sha256"], sha256(tarball))
            self.assertNotIn("skip", recipe["build"])

    def test_it_builds_what_its_test_runs(self):
        machine = os.uname().machine
        recipe = self.recipe(machine)
        with tempfile.TemporaryDirectory() as folder:
            shutil.unpack_archive(tarballs[machine], folder)
            (work,) = pathlib.Path(folder).iterdir()  # conda-build enters the one folder of an archive
            prefix = pathlib.Path(folder, "prefix")
            subprocess.run(["bash", "-ec", recipe["build"]["script"]], cwd=work, env={**os.environ, "PREFIX": str(prefix)}, check=True)
            for licence in recipe["about"]["license_file"]:
                self.assertTrue((work / licence).is_file())
            for command in recipe["test"]["commands"]:
                path = {"PATH": f"{prefix}/bin:/usr/bin:/bin"}
                subprocess.run(["bash", "-ec", command], cwd=folder, env=path, check=True, stdout=subprocess.DEVNULL)


class Containerfile(unittest.TestCase):
    def test_it_holds_the_program_alone_and_not_as_root(self):
        text = (source / "engine/package/container/Containerfile").read_text().replace("\\\n", " ")
        steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
        self.assertEqual(steps[0], ["FROM", "scratch"])
        known = {"FROM", "ARG", "LABEL", "COPY", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}  # nothing is run or fetched
        self.assertLessEqual({name for name, _ in steps}, known)
        arguments = {name: value for name, value in steps}
        self.assertRegex(arguments["USER"], r"^[1-9]\d*:[1-9]\d*$")
        for name in ("ENTRYPOINT", "CMD"):
            self.assertIsInstance(json.loads(arguments[name]), list)


if __name__ == "__main__":
    unittest.main()
