#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""This tree keeps the rules of rooms.py, and rooms.py finds what breaks them."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parent))
from rooms import MOST_FILES, MOST_LINES, MOST_README_LINES, House  # noqa: E402


class PlantedTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("kernels/machine/include/colltune/machine/descriptor.h", "")
        self.write("kernels/include/colltune/kernels/operation.h", '#include "colltune/machine/descriptor.h"\n')
        self.write("kernels/schedule/waves.h", '#include "colltune/kernels/operation.h"\n#include <vector>\n')
        self.write("kernels/cpu/ring.cpp", '#include "schedule/waves.h"\n')

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def faults(self):
        house = House(self.root)
        house.check_sizes()
        house.check_includes()
        return house.faults

    def test_includes_that_point_down_are_fine(self):
        self.assertEqual(self.faults(), [])

    def test_finds_an_include_that_points_up(self):
        self.write("kernels/schedule/waves.h", '#include "cpu/joined_ranks.h"\n')
        self.write("kernels/cpu/joined_ranks.h", "")
        self.assertEqual(self.faults(), ["kernels/schedule/waves.h: includes cpu/joined_ranks.h of kernels/cpu, which is above "
                                         "kernels/schedule"])

    def test_finds_a_public_header_that_points_up(self):
        self.write("kernels/include/colltune/kernels/operation.h", '#  include "colltune/kernels/composition/grouped.h"\n')
        self.write("kernels/include/colltune/kernels/composition/grouped.h", "")
        self.assertRegex(self.faults()[0], "grouped.h of kernels/composition, which is above kernels/api")

    def test_finds_a_folder_that_is_no_room(self):
        self.write("daemon/attic/old.cpp", "")
        self.assertRegex(self.faults()[0], "daemon/attic/old.cpp: its folder is no room")

    def test_finds_a_readme_without_its_title(self):
        self.write("kernels/README.md", "| a row |\n# kernels\n")
        self.assertEqual(self.faults(), ["kernels/README.md: does not begin with its title"])

    def test_finds_what_is_too_large(self):
        self.write("kernels/cpu/long.cpp", "\n" * (MOST_LINES + 1))
        self.write("kernels/README.md", "# kernels" + "\n" * (MOST_README_LINES + 1))
        for number in range(MOST_FILES + 1):
            self.write(f"tests/client/many_{number}.cpp", "")
        self.assertEqual(sorted(self.faults()), [
            f"kernels/README.md: {MOST_README_LINES + 1} lines, at most {MOST_README_LINES}",
            f"kernels/cpu/long.cpp: {MOST_LINES + 1} lines, at most {MOST_LINES}",
            f"tests/client: {MOST_FILES + 1} sources, at most {MOST_FILES}"])


class ThisTree(unittest.TestCase):
    def test_keeps_the_rules(self):
        house = House(Path(__file__).resolve().parents[1])
        house.check_sizes()
        house.check_includes()
        self.assertGreater(len(house.sources), 500)
        self.assertEqual(house.faults, [])


if __name__ == "__main__":
    unittest.main()
