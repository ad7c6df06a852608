#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""How commands come to deploy/lab's hosts and their codes come back, in the orders that a busy machine brings about. Needs no
hosts: here both ends are this machine's."""

import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True  # the source tree stays as it is
DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"
sys.path.insert(0, str(DEPLOY))
import lab_host_service  # noqa: E402
import lab_hosts  # noqa: E402


class CallerThatSleeps(socket.socket):
    """Goes on when what it sent was answered, and the other end is closed."""

    def sendmsg(self, *arguments):
        sent = super().sendmsg(*arguments)
        hung_up = select.poll()
        hung_up.register(self, select.POLLHUP)
        if not hung_up.poll(60_000):
            raise TimeoutError("no answer in 60 s")
        return sent


class LabCommands(unittest.TestCase):
    def setUp(self):
        closed = contextlib.ExitStack()
        self.addCleanup(closed.close)
        self.closed = closed
        self.folder = closed.enter_context(tempfile.TemporaryDirectory())

    def start(self, *command):
        started = lab_hosts.Command(self.folder, "switch", command, cwd="/")
        self.closed.callback(started.close)
        return started

    def test_a_command_that_is_over_before_its_caller_goes_on_has_its_code(self):
        Path(self.folder, "options.json").write_text("{}")
        service = self.closed.enter_context(subprocess.Popen(
            [sys.executable, "-I", str(DEPLOY / "lab_host_service.py"), "switch", self.folder], stdout=subprocess.PIPE))
        self.closed.callback(service.kill)
        self.assertEqual(service.stdout.readline(), b"ready\n")
        with mock.patch("lab_hosts.socket.socket", CallerThatSleeps):
            self.assertEqual(self.start("sh", "-c", "exit 7").wait(60), 7)
            self.assertEqual(self.start("sh", "-c", "kill -9 $$").wait(60), 128 + 9)

    def test_who_leaves_when_its_command_was_just_reaped_does_not_end_the_service(self):
        service = lab_host_service.Service(f"{self.folder}/switch.socket")
        leaving = self.start("true")
        service.accept()
        [(process, caller)] = service.callers.items()
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        [wake] = [key.fileobj for key in service.selector.get_map().values() if isinstance(key.fileobj, int)]
        service.reap(wake)
        self.assertEqual(leaving.wait(60), 0)
        leaving.close()
        service.hear(process, caller)  # both had come at once
        self.assertEqual(service.callers, {})


if __name__ == "__main__":
    sys.exit(unittest.main())
