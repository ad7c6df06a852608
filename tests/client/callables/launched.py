#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Launches a script of this folder with as many ranks as asked, and judges how it ended.

  launched.py held N SCRIPT MPIRUN...     each rank says that all held
  launched.py ran N SCRIPT MPIRUN...      the example says what it runs
  launched.py ended N SCRIPT MPIRUN...    the launch fails, no wait ends, and the reason is named"""

import subprocess
import sys
import tempfile

wanted, ranks, script, *launcher = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    arguments = ["65536", "3"] if wanted == "ran" else [folder + "/tuning.db"]
    command = [*launcher, "-n", ranks, sys.executable, script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
said = done.stdout + done.stderr
if wanted == "held":
    holds = done.returncode == 0 and said.count("all held") == int(ranks)
elif wanted == "ran":
    holds = done.returncode == 0 and "runs: " in said and "python.all_reduce_" in said
else:
    named = "python.all_reduce_hangs" in said or "planted exception" in said
    holds = done.returncode != 0 and named and "the sweep ended" not in said and "the wait ended" not in said
if not holds:
    sys.exit(f"{script} on {ranks} ranks ended with {done.returncode}\n{said}")
