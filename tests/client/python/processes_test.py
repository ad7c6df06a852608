#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""The module in several processes."""

import ctypes
import multiprocessing
import os
import subprocess
import sys
import unittest
from pathlib import Path

import colltune
from planted import QUESTION, PlantedTest

LIBRARY = str(Path(os.environ["COLLTUNE_CLIENT_LIBRARY"]) / "libcolltune_table.so.0")


def ask(table):
    return table.digest, table.find(**QUESTION).time_ns


class ProcessesTest(PlantedTest):
    def test_a_forked_process_goes_on_with_its_parents_table(self):
        with colltune.open(path=self.path) as table:
            before = ask(table)
            child = os.fork()
            if child == 0:
                same = False
                try:
                    same = ask(table) == before and colltune.open(path=self.path).digest == before[0]
                    table.close()
                finally:
                    os._exit(0 if same else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(ask(table), before)

    def test_multiprocessing(self):
        with colltune.open(path=self.path) as table:
            for method in ("fork", "spawn"):
                with self.subTest(method), multiprocessing.get_context(method).Pool(3) as pool:
                    self.assertEqual(set(pool.map(ask, [table] * 12)), {ask(table)})

    def test_closed_and_opened_a_hundred_times(self):
        close = ctypes.CDLL(None).dlclose
        close.argtypes = [ctypes.c_void_p]
        for _ in range(100):
            library = ctypes.CDLL(LIBRARY)
            library.colltune_table_open.restype = ctypes.c_int
            table = ctypes.c_void_p()
            self.assertEqual(library.colltune_table_open(os.fsencode(self.path), None, ctypes.byref(table), None), 0)
            library.colltune_table_close(table)
            self.assertEqual(close(library._handle), 0)

    def test_exits_with_open_tables(self):
        run = subprocess.run([sys.executable, "-c", "import colltune, sys; kept = colltune.open(path=sys.argv[1])", self.path],
                             capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_shows_its_own_names_alone(self):
        names = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout.split()[2::3]
        self.assertTrue(names)
        self.assertEqual([name for name in names if not name.startswith("colltune_")], [])


if __name__ == "__main__":
    unittest.main()
