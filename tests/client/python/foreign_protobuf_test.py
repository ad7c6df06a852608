#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""The module beside a program's own protobuf, and its own messages of the service."""

import importlib.util
import subprocess
import sys
import unittest

from planted import Daemon, PlantedTest

FOREIGN = """
from google.protobuf import descriptor_pb2, descriptor_pool, timestamp_pb2
timestamp_pb2.Timestamp().SerializeToString()
file = descriptor_pb2.FileDescriptorProto(name="colltune/v1/vocabulary.proto", package="colltune.v1", syntax="proto3")
file.message_type.add(name="Generation")
descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
assert descriptor_pool.Default().FindMessageTypeByName("colltune.v1.Generation").name == "Generation"
"""
FILE = "import colltune, sys; print(colltune.open(path=sys.argv[1]).find('all_reduce', 'f32', 1024).time_ns)"
SERVER = "import colltune, sys; print(colltune.open(server=sys.argv[2], timeout=60).find('all_reduce', 'f32', 1024).time_ns)"


@unittest.skipUnless(importlib.util.find_spec("google") and importlib.util.find_spec("google.protobuf"),
                     "python3-protobuf is not installed")
class ForeignProtobufTest(PlantedTest):
    def test_is_loaded_before_or_after(self):
        with Daemon(self.folder) as daemon:
            for code in ([FOREIGN, FILE, SERVER], [FILE, SERVER, FOREIGN, FILE, SERVER]):
                run = subprocess.run([sys.executable, "-c", "\n".join(code), self.path, daemon.address], capture_output=True,
                                     text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual(len(run.stdout.split()), len(code) - 1)


if __name__ == "__main__":
    unittest.main()
