#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""device_objects_check.py with a cuobjdump that prints literal texts: device_objects_check_test.py CHECK"""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

CHECK = sys.argv.pop()
FLOAT = "_ZN8colltune6device9run_ranksINS_4cuda13AllReduceRingILb0EEENS0_12TypedReducerIfNS_3SumEEEEEvNS0_10DeviceCallE"
HALF = FLOAT.replace("ReducerIfNS", "ReducerINS_7Float16ENS")
BRAIN = FLOAT.replace("ReducerIfNS", "ReducerINS_8BFloat16ENS")
ANY = "_ZN8colltune6device9run_ranksINS_4cuda16AllReduceOneShotENS0_10AnyReducerEEEvNS0_10DeviceCallE"
MOVES = ["LDG.E.128.STRONG.SYS", "STG.E.128"]
GOOD = {FLOAT: (128, 0, 0, MOVES), HALF: (64, 0, 0, MOVES + ["F2FP.F16.F32.PACK_AB"]),
        BRAIN: (64, 0, 0, MOVES + ["F2FP.BF16.F32.PACK_AB"]),
        ANY: (90, 16, 0, MOVES + ["F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C", "F2FP.SATFINITE.E5M2.F32.PACK_AB_MERGE_C", "LDL"]),
        "_Z5emptyv": (200, 0, 0, ["EXIT"])}


def usage_of(kernels, architecture):
    text = f"\nFatbin elf code:\n================\narch = {architecture}\ncode version = [1,8]\nhost = linux\n\nResource usage:\n"
    text += " Common:\n  GLOBAL:0\n"
    for name, (registers, stack, local, _) in kernels.items():
        text += (f" Function {name}:\n  REG:{registers} STACK:{stack} SHARED:0 LOCAL:{local} CONSTANT[0]:560 TEXTURE:0 "
                 "SURFACE:0 SAMPLER:0\n")
    return text


def code_of(kernels, architecture):
    text = f"\n\tcode for {architecture}\n"
    for name, (_, _, _, instructions) in kernels.items():
        text += f"\t\tFunction : {name}\n\t.headerflags\t@\"EF_CUDA_TEXMODE_UNIFIED\"\n"
        for place, one in enumerate(instructions):
            predicate = "@!P0 " if place % 2 else "     "
            text += (f"        /*{16 * place:04x}*/              {predicate} {one} R1, [R2.64] ;   /* 0x00000a00ff017b82 */\n"
                     "                                                            /* 0x000fe20000000800 */\n")
    return text


class Objects(unittest.TestCase):
    def check(self, kernels, architectures=("sm_90",), status=0, usage=None):
        """Runs it on an object with `kernels`; its lines."""
        with tempfile.TemporaryDirectory() as folder:
            tool, item = os.path.join(folder, "cuobjdump"), os.path.join(folder, "object")
            texts = {"usage": "".join(usage_of(kernels if usage is None else usage, one) for one in architectures),
                     "sass": "".join(code_of(kernels, one) for one in architectures)}
            for name, text in texts.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            with open(tool, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\ncase "$*" in *--version*) ;; *usage*) cat {folder}/usage ;; *sass*) cat {folder}/sass ;; esac\n'
                           f"exit {status}\n")
            os.chmod(tool, 0o755)
            open(item, "w", encoding="utf-8").close()
            result = subprocess.run([CHECK, "--cuobjdump", tool, item], capture_output=True, text=True, check=False)
            self.said = result.stdout + result.stderr
            return result.returncode

    def changed(self, name, registers=None, stack=None, local=None, instructions=None):
        old = GOOD[name]
        new = tuple(have if value is None else value for have, value in zip(old, (registers, stack, local, instructions)))
        return {**GOOD, name: new}

    def finds(self, kernels, text, **more):
        self.assertEqual(self.check(kernels, **more), 5, self.said)
        self.assertIn("TARGET MISSED: ", self.said)
        self.assertIn(text, self.said)
        self.assertEqual(self.said.count("TARGET MISSED: "), 1, self.said)

    def test_good_objects(self):
        self.assertEqual(self.check(GOOD), 0, self.said)
        self.assertIn("4 kernels, 0 faults", self.said)
        self.assertEqual(self.check(GOOD, architectures=("sm_80", "sm_90", "sm_100")), 0, self.said)
        self.assertIn("12 kernels", self.said)

    def test_registers(self):
        self.finds(self.changed(FLOAT, registers=129), f"sm_90 {FLOAT}: 129 registers; a block of 512 threads has at most 128")
        self.finds(self.changed(ANY, registers=255), "255 registers")

    def test_spills(self):
        self.finds(self.changed(HALF, stack=8), "a stack frame of 8 bytes")
        self.finds(self.changed(FLOAT, local=8), "8 bytes of local memory")
        self.finds(self.changed(FLOAT, instructions=MOVES + ["STL.64", "LDL.64"]), "2 loads and stores of local memory")

    def test_conversions(self):
        self.finds(self.changed(HALF, instructions=MOVES + ["SHF.R.U32.HI"]), "no conversion to f16")
        self.finds(self.changed(BRAIN, instructions=MOVES + ["F2FP.F16.F32.PACK_AB"]), "no conversion to bf16")
        without = [one for one in GOOD[ANY][3] if "E5M2" not in one]
        self.finds(self.changed(ANY, instructions=without), "no conversion to e5m2")
        self.assertEqual(self.check(self.changed(ANY, instructions=without), architectures=("sm_80",)), 0, "it has none")

    def test_moves(self):
        self.finds(self.changed(FLOAT, instructions=["LDG.E.64", "STG.E.128"]), "no load of 16 bytes")
        self.finds(self.changed(FLOAT, instructions=["LD.E.128", "ST.E.64"]), "no store of 16 bytes")

    def test_code_size(self):
        self.finds(self.changed(FLOAT, instructions=MOVES + ["FADD"] * 10000), "10002 instructions; at most 10000")
        small = {**GOOD, FLOAT.replace("AllReduceRing", "AllReduceGlow"): (9, 0, 0, ["FADD"] * 6001)}
        self.finds(small, "6001 instructions; at most 6000")
        self.finds(self.changed(ANY, instructions=GOOD[ANY][3] + ["FADD"] * 14000), "instructions; at most 14000")

    def test_what_is_not_told(self):
        self.assertEqual(self.check(GOOD, usage={name: GOOD[name] for name in (FLOAT, HALF, BRAIN)}), 4, self.said)
        self.assertIn(f"NOT MEASURED: sm_90 {ANY}: its registers are not told", self.said)
        self.assertEqual(self.check(self.changed(FLOAT, instructions=[])), 4, self.said)
        self.assertEqual(self.check({FLOAT: GOOD[FLOAT]}), 4, self.said)
        self.assertIn("NOT MEASURED: conversion to bf16: there is no such kernel", self.said)
        self.assertEqual(self.check({}), 4, self.said)

    def test_objects_that_are_read_directly(self):
        with tempfile.TemporaryDirectory() as folder:
            item = os.path.join(folder, "object")

            def check(content, *arguments):
                with open(item, "wb") as file:
                    file.write(b"something before" + content + b"and behind")
                result = subprocess.run([CHECK, "--cuobjdump", "/no/cuobjdump", *arguments, item], capture_output=True,
                                        text=True, check=False)
                self.said = result.stdout + result.stderr
                return result.returncode

            wide = (0x981, 0x386, 6)
            good = elf_of({FLOAT: (128, 0, wide), HALF: (9, 0, wide + (0x230,)), BRAIN: (9, 0, wide + (0x23E,)),
                           ANY: (90, 32, wide + (0x983, 0x987, 0x23E))})
            self.assertEqual(check(fatbin_of([(90, good)])), 0, self.said)
            self.assertIn("4 kernels, 0 faults", self.said)
            bad = elf_of({FLOAT: (130, 24, (0x983, 0x387, 0x987, 0x981, 0x986, 5)), HALF: (9, 0, wide), BRAIN: (9, 0, wide),
                          ANY: (9, 0, wide)})
            both = fatbin_of([(80, good), (90, bad)])
            self.assertEqual(check(both), 5, self.said)
            for text in ("130 registers", "a stack frame of 24 bytes", "3 loads and stores of local memory"):
                self.assertIn(f"TARGET MISSED: sm_90 {FLOAT}: {text}", self.said)
            for name, text in ((FLOAT, "load of 16"), (FLOAT, "store of 16"), (HALF, "conversion to f16"),
                               (BRAIN, "conversion to bf16"), (ANY, "conversion to e4m3")):
                self.assertIn(f"TARGET MISSED: sm_90 {name}: no {text}", self.said)
            self.assertNotIn("TARGET MISSED: sm_80", self.said)
            self.assertEqual(check(both, "--arch", "sm_80"), 0, self.said)
            self.assertEqual(check(fatbin_of([(90, b"not of ELF")])), 77, self.said)
            self.assertIn("compressed in a way that is not known", self.said)
            self.assertEqual(check(b""), 4, self.said)

    def test_bad_input(self):
        self.assertEqual(self.check(GOOD, status=1), 4, self.said)  # an object without kernels, read directly
        result = subprocess.run([CHECK, "/no/object"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no file /no/object", result.stderr)


def elf_of(kernels):
    """As ptxas writes it, the little that is read: sections of names, symbols, attributes, and code, of `kernels` by name:
    registers, stack, codes of instructions; the last number, below 16, is the size that loads and stores move."""
    names, sections, strings, symbols, info = b"\0", [(b"", 0, b"", 0)], b"\0", b"\0" * 24, b""
    for number, (name, (registers, stack, codes)) in enumerate(kernels.items(), 1):
        size = next(one for one in codes if one < 16)
        codes = [one for one in codes if one >= 16]
        symbols += struct.pack("<IIQQ", len(strings), 0, 0, 0)
        strings += name.encode() + b"\0"
        info += struct.pack("<BBH", 3, 0x1B, 7)  # an attribute without a value behind it
        info += struct.pack("<BBHII", 4, 0x2F, 8, number, registers) + struct.pack("<BBHII", 4, 0x11, 8, number, stack)
        sections.append((b".text." + name.encode(), 0, b"".join(struct.pack("<H7xB6x", 0x7000 | one, size << 1 | 1) for one in codes), 0))
    first = len(sections)
    sections += [(b".strtab", 0, strings, 0), (b".symtab", 0, symbols, first), (b".nv.info", 0, info, 0), (b".shstrtab", 0, b"", 0)]
    table, content = [], b""
    for name, _, data, link in sections:
        if name == b".shstrtab":
            data = names + name + b"\0"
        table.append((len(names), 0, 0, 0, 64 + len(content), len(data), link, 0))
        names += name + b"\0"
        content += data
    head = struct.pack("<4s36xQ12xHH", b"\x7fELF", 64 + len(content), len(sections), len(sections) - 1)
    return head + content + b"".join(struct.pack("<IIQQQQIIQQ", *one, 0, 0) for one in table)


def fatbin_of(entries):
    content = b""
    for architecture, elf in entries:
        content += struct.pack("<HHIQIIHHI", 2, 1, 64, len(elf), 0, 0, 0, 0, architecture) + b"\0" * 32 + elf
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(content)) + content


if __name__ == "__main__":
    unittest.main()
