#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of the compiled CUDA kernels that no test on host threads sees, and that cost speed on a GPU: registers,
spills, local memory, conversions in integer code, narrow loads and stores, code that has grown.

device_objects_check.py [--cuobjdump FILE] [--arch sm_90] OBJECT...

Each object is an object file, a library or a program with kernels. Without cuobjdump the objects are read directly; a
conversion is then as good as another one, since formats are not told.

Lines: `TARGET MISSED: ` a property that does not hold, `NOT MEASURED: ` one that no kernel could show. Exit: 0 all hold;
5 one does not; 4 one was not measured; 77 there is no cuobjdump, and an object cannot be read; 2 a bad argument, or
cuobjdump failed."""
import argparse
import collections
import os
import re
import subprocess
import sys

from device_objects import Kernel, Unreadable, read_code, read_object, read_usage

# What is demanded: a small table, by what the mangled name of a kernel holds.
# A block of 512 threads starts only where the 65536 registers of a processor suffice for it.
MOST_REGISTERS = 128
# The kernels that calls start, with up to 512 threads: `run_ranks<Body, Reducer>`. Empty ones and gates are none of these.
KERNEL = re.compile(r"run_ranks")
# Those of one pair of type and operator. The others, for the rest of them, may have a stack frame.
TYPED = re.compile(r"TypedReducer")
# Bodies that move packets of 16 bytes. Not those of the low-latency wires, whose words are of 8 bytes or more, nor what
# the network adds up.
PACKETS = re.compile(r"\d(AllReduce(OneShot|TwoShot|Pipeline|Ring)(I|E)|AllGather(Pull|Push)|AllToAll|BroadcastChain|"
                     r"ReduceScatterPull|ReduceTwoShot)")
# Bodies that add up, in the form for all types.
REDUCES_ANY = re.compile(r"\d(AllReduce(OneShot|TwoShot|Pipeline|Ring)(Words)?(I|E)|ReduceScatterPull|ReduceTwoShot|"
                         r"MeetingThenReduction)(?!\w*Multicast)\w*AnyReducer")
SLOWER = "integer code takes several times the instructions of a conversion"
ONE_PACKET = "a thread moves a packet by one instruction"
# (what, the first architecture, kernels, an instruction that each of them holds, the same where its format is not told,
# why).
MUST_HOLD = (
    ("conversion to f16", 80, re.compile(r"TypedReducerIN?\w*7Float16"), re.compile(r"F2FP?\..*F16|HADD2|HFMA2"),
     re.compile(r"F2FP|HADD2"), SLOWER),
    ("conversion to bf16", 80, re.compile(r"TypedReducerIN?\w*8BFloat16"), re.compile(r"(F2FP?|HADD2|HFMA2)\..*BF16"),
     re.compile(r"F2FP|HADD2"), SLOWER),
    ("conversion to e4m3", 89, REDUCES_ANY, re.compile(r"F2FP\..*E4M3"), re.compile(r"F2FP"), SLOWER),
    ("conversion to e5m2", 89, REDUCES_ANY, re.compile(r"F2FP\..*E5M2"), re.compile(r"F2FP"), SLOWER),
    ("load of 16 bytes", 80, PACKETS, re.compile(r"LDG?\..*128"), re.compile(r"LDG?\..*128"), ONE_PACKET),
    ("store of 16 bytes", 80, PACKETS, re.compile(r"STG?\..*128"), re.compile(r"STG?\..*128"), ONE_PACKET),
)
# (kernels, the most instructions, why); the first that matches counts. They are of 16 bytes, and a processor's
# instruction cache holds 128 KiB.
MOST_INSTRUCTIONS = (
    (re.compile(r"AnyReducer"), 14000, "all other types and operators, of which a call runs one"),
    (re.compile(r"AllReduceRing|AllReducePipeline|AllReduceTwoShotWords"), 10000,
     "two rounds, each with loops for several packets and for one, of which a call runs a half"),
    (re.compile(r""), 6000, "the code of a call stays in the cache"),
)
# (kernels that load and store no local memory: that is where registers are spilled to).
WITHOUT_LOCAL_MEMORY = TYPED
LOCAL = re.compile(r"(LDL|STL)\b")


def version_of(architecture):
    return int(re.match(r"sm_(\d+)", architecture)[1])


def find_faults(kernels, has_formats):
    """What does not hold, and what no kernel could show. `has_formats`: instructions have their formats in their names."""
    faults, unmeasured = [], []
    for (architecture, name), kernel in sorted(kernels.items()):
        place = f"{architecture} {name}"

        def fault(text, place=place):
            faults.append(f"{place}: {text}")

        if kernel.registers is None:
            unmeasured.append(f"{place}: its registers are not told")
        elif kernel.registers > MOST_REGISTERS:
            fault(f"{kernel.registers} registers; a block of 512 threads has at most {MOST_REGISTERS} for each")
        count = sum(kernel.instructions.values())
        if count == 0:
            unmeasured.append(f"{place}: its code is not told")
            continue
        most, why = next((most, why) for pattern, most, why in MOST_INSTRUCTIONS if pattern.search(name))
        if count > most:
            fault(f"{count} instructions; at most {most} ({why})")
        if TYPED.search(name) and (kernel.stack or kernel.local):
            fault(f"a stack frame of {kernel.stack} bytes and {kernel.local} bytes of local memory; none is allowed")
        local = sum(number for one, number in kernel.instructions.items() if LOCAL.match(one))
        if local and WITHOUT_LOCAL_MEMORY.search(name):
            fault(f"{local} loads and stores of local memory; none is allowed")
        for what, first, pattern, instruction, without_format, why in MUST_HOLD:
            instruction = instruction if has_formats else without_format
            if (version_of(architecture) >= first and pattern.search(name)
                    and not any(instruction.match(one) for one in kernel.instructions)):
                fault(f"no {what} ({why})")
    for what, first, pattern, _, _, _ in MUST_HOLD:
        if (any(version_of(architecture) >= first for architecture, _ in kernels)
                and not any(pattern.search(name) for _, name in kernels)):
            unmeasured.append(f"{what}: there is no such kernel")
    return faults, unmeasured


def dump(cuobjdump, *arguments):
    result = subprocess.run([cuobjdump, *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0 and "does not contain device code" not in result.stderr + result.stdout:
        sys.exit(f"device_objects_check: {cuobjdump} {' '.join(arguments)}: {result.stderr.strip() or result.returncode}")
    return result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuobjdump", default="cuobjdump")
    parser.add_argument("--arch", default="", help="of this architecture only: sm_90")
    parser.add_argument("object", nargs="+")
    options = parser.parse_args()
    for one in options.object:
        if not os.path.isfile(one):
            parser.error(f"there is no file {one}")
    kernels = collections.defaultdict(Kernel)
    has_formats = True
    try:
        subprocess.run([options.cuobjdump, "--version"], capture_output=True, check=True)
        of_architecture = ["--gpu-architecture", options.arch] if options.arch else []
        for one in options.object:
            read_usage(dump(options.cuobjdump, *of_architecture, "--dump-resource-usage", one), kernels)
            read_code(dump(options.cuobjdump, *of_architecture, "--dump-sass", one).splitlines(), kernels)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"there is no cuobjdump ({error}): the objects are read directly")
        has_formats = False
        try:
            for one in options.object:
                read_object(one, options.arch, kernels)
        except Unreadable as reason:
            print(f"skipped: {one} cannot be read without cuobjdump: {reason}")
            return 77
    kernels = {place: kernel for place, kernel in kernels.items() if KERNEL.search(place[1])}
    faults, unmeasured = find_faults(kernels, has_formats)
    for (architecture, name), kernel in sorted(kernels.items(), key=lambda item: -(item[1].registers or 0)):
        print(f"{architecture} {kernel.registers} registers, {kernel.stack} B of stack, "
              f"{sum(kernel.instructions.values())} instructions: {name}")
    for text in faults:
        print("TARGET MISSED: " + text)
    for text in unmeasured:
        print("NOT MEASURED: " + text)
    print(f"{len(kernels)} kernels, {len(faults)} faults")
    return 5 if faults else 4 if unmeasured or not kernels else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(2)
        raise
