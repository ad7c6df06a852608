#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""deploy/gpu_code with a compiler that stands in for nvcc, deploy/times_report on logs of known builds, and what deploy/test
and deploy/gpu_options make of their surroundings."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"

NVCC = """#!/usr/bin/env python3
import os, pathlib, sys
with open(os.environ["ASKED"], "a") as asked:
    print(*sys.argv[1:], file=asked)
if "FAILS" in os.environ:
    sys.exit("two_shot.cu(7): error: planted")
print(f"ptxas info    : Compiling entry function '{os.environ['KERNEL']}' for 'sm_90'")
print(f"    0 bytes stack frame, {os.environ['SPILLED']} bytes spill stores, 8 bytes spill loads")
print(f"ptxas info    : Used {os.environ['REGISTERS']} registers, used 0 barriers")
"""
KERNEL = "_ZN8colltune6device9run_ranksINS_4cuda7TwoShotENS0_10AnyReducerEEEvPKNS0_10DeviceCallEi"


def make_program(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="colltune-scripts-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.environment = dict(os.environ)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_script(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)


class GpuCode(Tree):
    def setUp(self):
        super().setUp()
        for folder in ("deploy", "build", "bin"):
            (self.root / folder).mkdir()
        shutil.copy(DEPLOY / "gpu_code", self.root / "deploy")
        self.write("kernels/cuda/two_shot.cu", '#include "device_code/team.h"\n#include <cstddef>\n')
        self.write("kernels/device_code/team.h", '  # include "colltune/copy.h"\n')
        self.write("kernels/include/colltune/copy.h", "int copy;\n")
        self.write("kernels/device/other.h", "int other;\n")
        make_program(self.root / "bin/nvcc", NVCC)
        self.write("build/compile_commands.json", json.dumps([
            {"directory": str(self.root), "file": str(self.root / "kernels/cuda/two_shot.cu"),
             "command": f"{self.root}/bin/nvcc -DX --generate-code=arch=compute_90,code=[compute_90] -Ofc=max -MD -MT a -MF b "
                        f"-x cu -c {self.root}/kernels/cuda/two_shot.cu -o a.o"},
            {"directory": str(self.root), "file": str(self.root / "main.cpp"), "command": "c++ -c main.cpp"}]))
        self.environment |= {"ASKED": str(self.root / "asked"), "KERNEL": KERNEL, "SPILLED": "0", "REGISTERS": "96"}

    def gpu_code(self, what="check", **environment):
        self.environment |= environment
        return self.run_script(self.root / "deploy/gpu_code", what, self.root / "build")

    def asked(self):
        path = self.root / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def test_assembles_once_and_again_when_anything_included_changed(self):
        first = self.gpu_code()
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(json.loads((self.root / "kernels/cuda/assembled.json").read_text())["kernels"],
                         {"two_shot.cu": {"TwoShot, AnyReducer": {"spilled_bytes": 0, "registers": 96}}})
        words = self.asked()[0].split()
        self.assertIn("--generate-code=arch=compute_90,code=sm_90", words)
        self.assertIn("--resource-usage", words)
        self.assertIn("-DX", words)
        for word in words:
            self.assertNotRegex(word, r"^(-Ofc|-MD|-c$)|code=\[|a\.o")
        self.write("kernels/device/other.h", "int nobody_includes_it;\n")
        self.assertIn("nothing has changed", self.gpu_code().stdout)
        self.assertEqual(len(self.asked()), 1)
        self.write("kernels/include/colltune/copy.h", "int changed;\n")
        self.assertEqual(self.gpu_code().returncode, 0)
        self.assertEqual(len(self.asked()), 2)

    def test_a_kernel_that_spills_or_needs_too_many_registers_fails_until_it_is_recorded(self):
        for environment, named in (({"SPILLED": "4"}, "spilled_bytes 4, allowed are 0"),
                                   ({"REGISTERS": "129", "SPILLED": "0"}, "registers 129, allowed are 128")):
            found = self.gpu_code(**environment)
            self.assertEqual(found.returncode, 1)
            self.assertIn(f"two_shot.cu: TwoShot, AnyReducer: {named}", found.stderr)
            self.assertFalse((self.root / "kernels/cuda/assembled.json").exists())
        self.assertEqual(self.gpu_code("record").returncode, 0)
        self.write("kernels/cuda/two_shot.cu", "int changed;\n")
        self.assertEqual(self.gpu_code().returncode, 0)
        self.write("kernels/cuda/two_shot.cu", "int changed_again;\n")
        self.assertEqual(self.gpu_code(REGISTERS="130").returncode, 1)

    def test_what_does_not_compile_or_says_nothing_fails(self):
        failed = self.gpu_code(FAILS="1")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("error: planted", failed.stderr)
        del self.environment["FAILS"]
        make_program(self.root / "bin/nvcc", "#!/bin/sh\necho fine\n")
        self.assertIn("does not say what each kernel needs", self.gpu_code().stderr)

    def test_without_a_compiler_nothing_is_assembled(self):
        self.write("build/compile_commands.json", "[]")
        found = self.gpu_code()
        self.assertEqual(found.returncode, 0)
        self.assertIn("no CUDA compiler", found.stdout)
        self.assertFalse((self.root / "kernels/cuda/assembled.json").exists())

    def test_wrong_usage_and_a_folder_that_is_no_build_are_refused(self):
        self.assertEqual(self.run_script(self.root / "deploy/gpu_code").returncode, 2)
        self.assertEqual(self.gpu_code("assemble").returncode, 2)
        (self.root / "build/compile_commands.json").unlink()
        found = self.gpu_code()
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("no build folder", found.stderr)


class TimesReport(Tree):
    def report(self, rows):
        return self.run_script(DEPLOY / "times_report", self.write("times", rows))

    def test_lists_presets_compilations_and_tests(self):
        self.write("release/.ninja_log", "# ninja log v5\n"
                   "0\t1500\t1\tdb/CMakeFiles/colltune_db.dir/old.cpp.o\ta\n"
                   "0\t9000\t1\tdb/CMakeFiles/colltune_db.dir/slow.cpp.o\tb\n"
                   "0\t2500\t2\tdb/CMakeFiles/colltune_db.dir/old.cpp.o\ta\n"
                   "0\t99000\t2\tbin/colltune\tc\n")
        self.write("release/tests.xml", '<?xml version="1.0"?><testsuite><testcase name="slow_test" time="61.5"/>'
                   '<testcase name="quick_test" time="0.5"/></testsuite>')
        found = self.report(f"release {self.root}/release 3 400 250\nasan {self.root}/none 1 2 3\n")
        self.assertEqual(found.returncode, 0, found.stderr)
        lines = found.stdout.splitlines()
        self.assertEqual(lines[1].split(), ["release", "3", "400", "250", "653"])
        self.assertEqual(lines[2].split(), ["asan", "1", "2", "3", "6"])
        self.assertIn("compilations: 2, 12 s together; the slowest", lines)
        self.assertEqual(lines[5].split(), ["9.0", "s", "release", "db/slow.cpp"])
        self.assertEqual(lines[6].split(), ["2.5", "s", "release", "db/old.cpp"])
        self.assertIn("tests: 2, 62 s together; the slowest", lines)
        self.assertEqual(lines[9].split(), ["61.5", "s", "release", "slow_test"])

    def test_lists_no_more_than_the_slowest(self):
        self.write("asan/.ninja_log", "".join(f"0\t{n}000\t1\tx/CMakeFiles/y.dir/{n}.cpp.o\ta\n" for n in range(50)))
        lines = self.report(f"asan {self.root}/asan 0 0 0\n").stdout.splitlines()
        self.assertEqual(sum("x/" in line for line in lines), 20)
        self.assertIn("x/49.cpp", lines[4])

    def test_a_line_that_is_none_is_refused(self):
        found = self.report("release folder 1 2\n")
        self.assertEqual(found.returncode, 2)
        self.assertIn("release folder 1 2", found.stderr)


class GpuOptions(Tree):
    def options(self, nvidia_smi):
        (self.root / "bin").mkdir()
        make_program(self.root / "bin/nvidia-smi", nvidia_smi)
        self.environment["PATH"] = f"{self.root}/bin:{self.environment['PATH']}"
        done = self.run_script("bash", "-euo", "pipefail", "-c",
                               f'source "{DEPLOY}/gpu_options"; printf "%s\\n" "${{gpu_options_to_run[*]}}" '
                               '"${gpu_options_to_test[*]}"')
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_code_for_the_gpus_that_are_here(self):
        run, test = self.options("#!/bin/sh\nprintf '9.0\\n8.0\\n9.0\\n'\n")
        self.assertEqual(run, "-DCOLLTUNE_CUDA=AUTO -DCOLLTUNE_CUDA_COMPILE_ONLY=OFF -DCMAKE_CUDA_ARCHITECTURES=80;90")
        self.assertEqual(test, run)

    def test_none_to_run_and_only_compiled_to_test_where_no_gpu_answers(self):
        run, test = self.options("#!/bin/sh\necho No devices were found\nexit 6\n")
        self.assertEqual(run, "-DCOLLTUNE_CUDA=OFF")
        self.assertEqual(test, "-DCOLLTUNE_CUDA=AUTO -DCOLLTUNE_CUDA_COMPILE_ONLY=ON")


class TestCommand(Tree):
    def test_wrong_arguments_are_refused_before_anything_is_done(self):
        for arguments, named in ((["releas"], "releas"), (["--full", "asan"], "--full needs the preset release")):
            done = self.run_script(DEPLOY / "test", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(named, done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    sys.exit(unittest.main())
