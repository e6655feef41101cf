#!/usr/bin/python3
"""Draws the engine's layers from its includes, and fails on one that goes up: layers_test.py ENGINE

A folder includes only from folders below its own; those of one layer not from each other. Within analysis, rooms lie on each other as well.
No headers include each other in a circle, and every folder has its door, a header of its own name.
"""
import pathlib
import re
import sys
import tempfile
import unittest

layers = [{"base"}, {"trace"}, {"read", "analysis"}, {"whatif"}, {"rules"}, {"gate"}, {"job", "record"}, {"report"}, {"advise", "mcp"}, {"cli"}]
rooms = ["analysis", "analysis/structure", "analysis/detect", "analysis/tables"]  # the lowest first; what has no room is in the first
height = {folder: i for i, layer in enumerate(layers) for folder in layer}
include = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def folder_of(path):
    """The folder of a file below the engine's; advise.hpp and advise.cpp are one of their own."""
    return path.parts[0] if len(path.parts) > 1 else path.stem


def includes_of(engine):
    """By file: what it includes of the engine."""
    files = {path.relative_to(engine) for path in engine.rglob("*.[ch]pp")}
    files = {path for path in files if path.parts[0] != "package"}  # which is no part of the engine
    found = {}
    for path in sorted(files):
        named = include.findall((engine / path).read_text())
        found[path] = [of for name in named for of in (pathlib.Path(name), path.parent / name) if of in files]
    return found


def ways_up(includes):
    """Includes of another layer that is not below."""
    for path, included in includes.items():
        for other in included:
            here, there = folder_of(path), folder_of(other)
            if here != there and not height[there] < height[here]:
                yield f"{path} includes {other}: {here} is not above {there}"


def room_of(path):
    """The room of a file of analysis; "" of others."""
    name = path.parent.as_posix()
    return name if name in rooms else rooms[0] if folder_of(path) == rooms[0] else ""


def ways_up_in_analysis(includes):
    """The same from a room of analysis to one above it. Facts ask for everything that there is about a trace but for tables."""
    for path, included in includes.items():
        here = rooms[1] if path.parent.as_posix() == "analysis/facts" else room_of(path)
        for other in included:
            if here and room_of(other) and rooms.index(room_of(other)) > rooms.index(here):
                yield f"{path} includes {other}: {here} is not above {room_of(other)}"


def circles(includes):
    """Headers that include each other, each circle once."""
    done, path, found = set(), [], []

    def visit(header):
        if header in path:
            found.append(" -> ".join(map(str, path[path.index(header):] + [header])))
        elif header not in done:
            path.append(header)
            for other in includes[header]:
                if other.suffix == ".hpp":
                    visit(other)
            done.add(path.pop())

    for header in includes:
        if header.suffix == ".hpp":
            visit(header)
    return found


def without_door(includes):
    folders = {folder_of(path) for path in includes if len(path.parts) > 1}
    return sorted(folder for folder in folders if pathlib.Path(folder, folder + ".hpp") not in includes)


def drawing(includes):
    """A line for each folder, the highest first: what it includes of which others, by how many includes."""
    lines = []
    for layer in reversed(layers):
        for folder in sorted(layer):
            below = [folder_of(other) for path, included in includes.items() if folder_of(path) == folder for other in included]
            counts = {other: below.count(other) for other in sorted(set(below) - {folder}, key=height.get, reverse=True)}
            lines.append(f"{folder:9}" + "  ".join(f"{other} {n}" for other, n in counts.items()))
    return "\n".join(lines)


class Layers(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.includes = includes_of(engine)

    def test_every_folder_has_its_layer(self):
        self.assertEqual({folder_of(path) for path in self.includes} - set(height), set())

    def test_no_include_goes_up_or_sideways(self):
        self.assertEqual(list(ways_up(self.includes)), [])

    def test_no_include_goes_up_within_analysis(self):
        self.assertEqual(list(ways_up_in_analysis(self.includes)), [])

    def test_no_headers_include_each_other_in_a_circle(self):
        self.assertEqual(circles(self.includes), [])

    def test_every_folder_has_its_door(self):
        self.assertEqual(without_door(self.includes), [])


class Checks(unittest.TestCase):
    """Each of them finds what it is for."""

    def of(self, files):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, included in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("".join(f'#include "{other}"\n' for other in included))
            return includes_of(root)

    def test_an_include_up_or_sideways_is_found_and_one_down_is_not(self):
        found = list(ways_up(self.of({"base/base.hpp": ["trace/trace.hpp"], "trace/trace.hpp": [], "read/nsys/a.cpp": ["analysis/steps.hpp", "trace/trace.hpp"],
                                      "analysis/steps.hpp": [], "rules/a.cpp": ["advise.hpp"], "advise.hpp": ["base/base.hpp"], "cli/main.cpp": ["advise.hpp"]})))
        self.assertEqual(found, ["base/base.hpp includes trace/trace.hpp: base is not above trace",
                                 "read/nsys/a.cpp includes analysis/steps.hpp: read is not above analysis",
                                 "rules/a.cpp includes advise.hpp: rules is not above advise"])

    def test_an_include_to_a_higher_room_of_analysis_is_found(self):
        found = list(ways_up_in_analysis(self.of({"analysis/steps.hpp": ["analysis/structure/layers.hpp"], "analysis/structure/layers.hpp": ["analysis/tables/sums.hpp"],
                                                  "analysis/tables/sums.hpp": ["analysis/steps.hpp"], "analysis/facts/host.cpp": ["analysis/structure/layers.hpp"],
                                                  "report/top.cpp": ["analysis/tables/sums.hpp"]})))
        self.assertEqual(found, ["analysis/steps.hpp includes analysis/structure/layers.hpp: analysis is not above analysis/structure",
                                 "analysis/structure/layers.hpp includes analysis/tables/sums.hpp: analysis/structure is not above analysis/tables"])

    def test_a_circle_is_found_once(self):
        found = circles(self.of({"base/a.hpp": ["base/b.hpp"], "base/b.hpp": ["base/c.hpp"], "base/c.hpp": ["a.hpp"], "base/d.cpp": ["base/a.hpp"]}))
        self.assertEqual(found, ["base/a.hpp -> base/b.hpp -> base/c.hpp -> base/a.hpp"])

    def test_a_folder_without_a_door_is_found(self):
        self.assertEqual(without_door(self.of({"base/base.hpp": [], "read/nsys/read.hpp": [], "advise.hpp": []})), ["read"])


if __name__ == "__main__":
    engine = pathlib.Path(sys.argv[1])
    print(drawing(includes_of(engine)))
    unittest.main(argv=sys.argv[:1])
