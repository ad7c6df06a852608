#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Do mpi4py's own tests end with colltune as without it?

  tests/bench/programs/mpi4py_suite.py FOLDER [--ranks 1,2,4] [--json FILE]
  tests/bench/programs/mpi4py_suite.py FOLDER --mpich BUILT --build build/mpich

FOLDER: mpi4py's sources, of the release that the interpreter has (`apt-get source mpi4py`, or its archive from PyPI). The whole
suite, run without us, with the component for Open MPI, and under the preloaded library, with a planted table in which kernels of
ours win everywhere, from a communicator's third call on. BUILT: the folder of mpi4py's modules built for MPICH
(`MPICC=mpicc.mpich python3 setup.py build` makes build/lib.*), where there is no component. Exit code: 0 where a launch with
colltune ends as the one without."""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from launches import SOURCE  # noqa: E402

LONGEST = 1200.0  # seconds


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", help="mpirun --oversubscribe, or with --mpich mpiexec.mpich")
    parser.add_argument("--mpich", type=pathlib.Path, metavar="BUILT")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--without", default="", metavar="PATTERN", help="tests left out, as the suite's --exclude takes them")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if not (options.folder / "test/runtests.py").exists():
        parser.error(f"{options.folder} has no test/runtests.py; name the folder of mpi4py's sources")
    if options.mpich and not (options.mpich / "mpi4py").is_dir():
        parser.error(f"{options.mpich} has no mpi4py; name the folder that its build made, build/lib.*")
    if not options.mpirun:
        options.mpirun = "mpiexec.mpich" if options.mpich else "mpirun --oversubscribe"
    return options


def ways(options, table):
    """name -> (words for mpirun, words before the program)."""
    library = options.build.resolve() / "lib"
    settings = ["COLLTUNE_REPORT=1", "COLLTUNE_PATIENCE=0", f"COLLTUNE_TABLE={table}"]
    found = {
        "without": ([], []),
        "component": (["--mca", "mca_base_component_path", f"{library}/openmpi:SYSTEM_DEFAULT:USER_DEFAULT"], ["env", *settings]),
        "preloaded": ([], ["env", f"LD_PRELOAD={library}/preload/libcolltune_mpi.so", *settings]),
    }
    if options.mpich:
        del found["component"]
    return found


def launch(options, ranks, words, before):
    """What came of the suite: each rank prints how many tests it ran."""
    suite = [options.python, "-B", "test/runtests.py", "--no-builddir"]
    suite += ["--exclude", options.without] if options.without else []
    command = [*shlex.split(options.mpirun), "-n", str(ranks), *words, *before, *suite]
    environment = dict(os.environ)
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if options.mpich:
        environment["PYTHONPATH"] = str(options.mpich.resolve())
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=LONGEST,
                              cwd=options.folder, env=environment, stdin=subprocess.DEVNULL)
        code, text = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as error:
        code, text = None, b"".join(part for part in (error.stdout, error.stderr) if part).decode(errors="replace")
    report = re.search(r"colltune: .*?(\d+) calls on (\d+) communicator", text, re.DOTALL)
    return {"seconds": round(time.monotonic() - begin, 1), "code": code,
            "tests": sorted(int(count) for count in re.findall(r"Ran (\d+) tests? in", text)),
            "ends": sorted(re.findall(r"^(?:OK|FAILED).*$", text, re.MULTILINE)),
            "failed": sorted(set(re.findall(r"^(?:FAIL|ERROR): (.*)$", text, re.MULTILINE))),
            "our_calls": int(report.group(1)) if report else 0, "our_communicators": int(report.group(2)) if report else 0,
            "last_lines": [] if code == 0 else text.splitlines()[-15:]}


def main():
    options = parse()
    all_found = []
    is_as_without = True
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder, "planted.ctt")
        subprocess.run([options.build / "tests/client/programs/planted_table", table, "1", "1x2", "1x3", "1x4"], check=True)
        for ranks in map(int, options.ranks.split(",")):
            found = {name: launch(options, ranks, *words) for name, words in ways(options, table).items()}
            without = found["without"]
            for name, one in found.items():
                is_same = all(one[key] == without[key] for key in ("code", "tests", "ends", "failed"))
                is_as_without = is_as_without and is_same
                print(f"{ranks} ranks, {name}: code {one['code']}, {one['tests']} tests, {', '.join(one['ends'])}, "
                      f"{one['our_calls']} calls of ours on {one['our_communicators']} communicators, {one['seconds']} s"
                      f"{'' if is_same else ': not as without'}", flush=True)
                for line in one["failed"] + one["last_lines"]:
                    print(f"  {line}", flush=True)
                all_found.append({"ranks": ranks, "way": name, "as_without": is_same, **one})
    if options.json:
        options.json.write_text(json.dumps({"command": shlex.join(sys.argv[1:]), "launches": all_found}, indent=1) + "\n")
    return 0 if is_as_without else 1


if __name__ == "__main__":
    sys.exit(main())
