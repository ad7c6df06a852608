#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps over several hosts, which deploy/lab makes on this machine: how launches are set up there, and what happens when
hosts, cables and disks fail. Ends with 77 where this machine or user cannot have such hosts.

  tests/deploy/hosts_test.py --build build/release                          every case, small counts (as ctest)
  tests/deploy/hosts_test.py --build build/release --full [--json DIR]      counts and limits of the figures
  tests/deploy/hosts_test.py --build build/release --count 6 cables         one case, so many times
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parent / "survival"))
from hosts_cases import CASES, Bench, lab_hosts  # noqa: E402
from runner import main, makes_figures, programs_of  # noqa: E402


def make_lab(options):
    programs, faults = programs_of(options)
    other, clock = os.environ.get("COLLTUNE_OTHER_AGENT"), os.environ.get("COLLTUNE_SHIFTED_CLOCK")
    if options.build:
        other, clock = (str(next(options.build.rglob(name)).resolve())
                        for name in ("agent_of_another_build", "libshifted_clock.so"))
    return Bench(programs, faults, other, clock, is_full=makes_figures(options))


if __name__ == "__main__":
    try:
        lab_hosts.refuse_without_means()
    except lab_hosts.Refused as refusal:
        print(f"hosts_test.py: skipped: {refusal}", file=sys.stderr)
        sys.exit(77)
    sys.exit(main(__doc__, "hosts", CASES, make_lab))
