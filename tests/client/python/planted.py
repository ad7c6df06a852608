# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and daemons for the tests of the Python module."""

import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

QUESTION = {"collective": "all_reduce", "dtype": "f32", "bytes": 1024, "nodes": 1, "ranks_per_node": 2}


def plant(*arguments):
    return subprocess.run([os.environ["COLLTUNE_PLANTED_ANSWERS"], *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


class PlantedTest(unittest.TestCase):
    """Has a folder with cluster.ctt, of generation 7."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "cluster.ctt"
        plant("table", self.path, 7)


class Daemon:
    """A colltuned over a database with one generation; ends with the block. `planted` is the one that planted_answers.cpp
    publishes."""

    def __init__(self, folder, planted="publish"):
        self.planted = planted
        self.database = folder / "tuning.db"
        self.address = f"unix:{folder / 'socket'}"

    def __enter__(self):
        self.publish()
        self.process = subprocess.Popen([os.environ["COLLTUNED"], "--db", self.database, "--listen", self.address],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if "listening on" in line:
                return self
        raise RuntimeError("colltuned does not listen")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=60)

    def publish(self):
        return int(plant(self.planted, self.database))


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what the test waits for did not happen")
        time.sleep(0.01)
