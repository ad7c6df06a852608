#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What a candidate or the machine does to a sweep, with the real programs: planted faults of every kind, kills at random
moments, stopped ranks, a killed launcher or supervisor, a full disk, a second sweep on the same database.

  tests/deploy/survival_test.py --build build/release                        every case, small counts (as ctest)
  tests/deploy/survival_test.py --build build/release --full [--json DIR]   counts and limits of the figures
  tests/deploy/survival_test.py --build build/release --count 50 kills      one case, so many times
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parent / "survival"))
from cases import CASES  # noqa: E402
from harness import Lab  # noqa: E402
from runner import main, makes_figures, programs_of  # noqa: E402


def make_lab(options):
    programs, faults = programs_of(options)
    launcher = os.environ.get("COLLTUNE_MPIRUN", "mpirun.openmpi --oversubscribe").split()
    return Lab(programs, faults, launcher, is_full=makes_figures(options))


if __name__ == "__main__":
    sys.exit(main(__doc__, "survival", CASES, make_lab))
