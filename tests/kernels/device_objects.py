# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels in compiled objects: what cuobjdump prints of them, or, where that is not installed, what the objects hold
themselves. The latter knows fewer instructions by name."""
import collections
import ctypes
import re
import struct

FUNCTION_OF_USAGE = re.compile(r"^\s*Function\s+(\S+?):\s*$")
FUNCTION_OF_CODE = re.compile(r"^\s*Function\s*:\s*(\S+)\s*$")
ARCHITECTURE = re.compile(r"^\s*(?:arch = |code for )(sm_\w+)")
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


class Kernel:
    """Of one architecture. None, and no instructions: not told."""

    def __init__(self):
        self.registers = self.stack = self.local = None
        self.instructions = collections.Counter()


def read_usage(text, kernels):
    """`text`: of --dump-resource-usage. Into `kernels`, by architecture and name."""
    architecture = name = None
    for line in text.splitlines():
        if match := ARCHITECTURE.match(line):
            architecture = match[1]
        elif match := FUNCTION_OF_USAGE.match(line):
            name = match[1]
        elif name and "REG:" in line:
            usage = dict(re.findall(r"(REG|STACK|LOCAL):(\d+)", line))
            kernel = kernels[architecture, name]
            kernel.registers, kernel.stack, kernel.local = (int(usage[key]) for key in ("REG", "STACK", "LOCAL"))
            name = None


def read_code(lines, kernels):
    """`lines`: of --dump-sass."""
    architecture = kernel = None
    for line in lines:
        if match := INSTRUCTION.match(line):
            if kernel is not None:
                kernel.instructions[match[1]] += 1
        elif match := ARCHITECTURE.match(line):
            architecture = match[1]
        elif match := FUNCTION_OF_CODE.match(line):
            kernel = kernels[architecture, match[1]]


# A fatbin: this, the bytes of its head, and of the rest; then an entry for each architecture.
FATBIN = struct.Struct("<IHHQ")
FATBIN_MAGIC = 0xBA55ED50
# kind, version, bytes of this head, of the content, of the content before it was padded, 0, minor, major, architecture.
ENTRY = struct.Struct("<HHIQIIHHI")
# Behind it, at 40: flags, 0, bytes of the content before it was compressed.
ENTRY_END = struct.Struct("<QQQ")
MACHINE_CODE = 2
COMPRESSED_BY_ZSTD = 0x8000
COMPRESSED = 0x2000 | COMPRESSED_BY_ZSTD
# Attributes of a kernel in .nv.info: of 8 bytes, a symbol and a number.
WITH_VALUE, REGISTERS, FRAME = 4, 0x2F, 0x11
BYTES_OF_INSTRUCTION = 16
# By the lowest 12 bits, the same from sm_70 on: what the check asks about.
KNOWN_CODES = {0x983: "LDL", 0x387: "STL", 0x987: "STL", 0x23E: "F2FP", 0x230: "HADD2",
               0x380: "LD", 0x980: "LD", 0x381: "LDG", 0x981: "LDG", 0x385: "ST", 0x985: "ST", 0x386: "STG", 0x986: "STG"}
# Of loads and stores, in bits 73 to 75.
SIZES = {5: ".64", 6: ".128"}


def name_of_instruction(code):
    known = KNOWN_CODES.get(code[0] | (code[1] & 0xF) << 8, "other")
    return known + SIZES.get(code[9] >> 1 & 7, ".32") if known[:2] in ("LD", "ST") else known


class Unreadable(Exception):
    pass


def decompress(content, size):
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError as error:
        raise Unreadable(str(error)) from error
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    result = ctypes.create_string_buffer(size)
    if zstd.ZSTD_decompress(result, ctypes.c_size_t(size), content, ctypes.c_size_t(len(content))) != size:
        raise Unreadable("its machine code does not decompress")
    return result.raw


def list_machine_code(data):
    """(architecture, ELF file) of all that `data`, a file, holds."""
    at = -1
    while (at := data.find(struct.pack("<I", FATBIN_MAGIC), at + 1)) >= 0:
        _, _, head, size = FATBIN.unpack_from(data, at)
        entry, end = at + head, at + head + size
        if end > len(data):
            continue  # these bytes mean something else here
        while entry < end:
            kind, _, head, padded, length, _, _, _, architecture = ENTRY.unpack_from(data, entry)
            flags, _, size = ENTRY_END.unpack_from(data, entry + 40)
            content = data[entry + head:entry + head + (length or padded)]
            if kind == MACHINE_CODE:
                if flags & COMPRESSED == COMPRESSED_BY_ZSTD:
                    content = decompress(content, size)
                if content[:4] != b"\x7fELF":
                    raise Unreadable("its machine code is compressed in a way that is not known here")
                yield f"sm_{architecture}", content
            entry += head + padded


def text_at(data, at):
    return data[at:data.index(b"\0", at)].decode()


def read_elf(elf, architecture, kernels):
    table, = struct.unpack_from("<Q", elf, 40)
    count, of_names = struct.unpack_from("<HH", elf, 60)
    # name, type, flags, address, offset, size, link, …
    sections = [struct.unpack_from("<IIQQQQII", elf, table + 64 * number) for number in range(count)]
    named = {text_at(elf, sections[of_names][4] + section[0]): section for section in sections}
    symbols = named[".symtab"]

    def name_of(number):
        return text_at(elf, sections[symbols[6]][4] + struct.unpack_from("<I", elf, symbols[4] + 24 * number)[0])

    values = collections.defaultdict(dict)
    at, end = named[".nv.info"][4], sum(named[".nv.info"][4:6])
    while at < end:
        form, attribute, size = struct.unpack_from("<BBH", elf, at)
        at += 4
        if form == WITH_VALUE:
            if attribute in (REGISTERS, FRAME):
                symbol, value = struct.unpack_from("<II", elf, at)
                values[attribute][name_of(symbol)] = value
            at += size
    for name, section in named.items():
        if not name.startswith(".text."):
            continue
        kernel = kernels[architecture, name.removeprefix(".text.")]
        kernel.registers = values[REGISTERS].get(name.removeprefix(".text."))
        kernel.stack, kernel.local = values[FRAME].get(name.removeprefix(".text."), 0), 0
        for at in range(section[4], section[4] + section[5], BYTES_OF_INSTRUCTION):
            kernel.instructions[name_of_instruction(elf[at:at + BYTES_OF_INSTRUCTION])] += 1


def read_object(path, architecture, kernels):
    """What the file itself holds, of one architecture or all (empty). Throws Unreadable."""
    with open(path, "rb") as file:
        data = file.read()
    for found, elf in list_machine_code(data):
        if architecture in ("", found):
            read_elf(elf, found, kernels)
