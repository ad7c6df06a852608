#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""The rooms of the house: a folder of sources is a room, its public headers (include/…) included. Checks that a room includes
only rooms below it, that no room has more than 25 sources, no source more than 600 lines, no README more than 150, and that
each README begins with its title.

  tests/rooms.py [ROOT]      exits with 1 and a line for each violation
"""

import re
import sys
from pathlib import Path

MOST_FILES, MOST_LINES, MOST_README_LINES = 25, 600, 150
SOURCES = {".h", ".cpp", ".c", ".cu", ".cuh", ".py", ".sh"}
PRODUCT = ["proto", "kernels", "db", "daemon", "client"]

# From the lowest room to the highest. A folder that is not named belongs to the room of the folder that it is in.
ROOMS = [
    "proto/vocabulary", "proto/model", "proto/table_file", "proto/nccl", "proto/apply", "proto/json", "proto/trace", "proto/wire",
    "kernels/machine", "kernels/api", "kernels/arithmetic", "kernels/communication", "kernels/shared_memory", "kernels/schedule",
    "kernels/composition", "kernels/execution", "kernels/device_code", "kernels/device", "kernels/nccl_library", "kernels/nccl_calls", "kernels/program_calls",
    "kernels/mpi_library", "kernels/verification", "kernels/cpu", "kernels/cuda", "kernels/mpi", "kernels/nccl", "kernels",
    "kernels/plugin",
    "db/sqlite", "db", "db/history",
    "daemon/model/ring", "daemon/model/speed_of_light", "daemon/model/library", "daemon/model/fitted", "daemon/model",
    "daemon/table", "daemon/decide", "daemon/flight",
    "daemon/sweep/control", "daemon/sweep/spec", "daemon/sweep/ranks", "daemon/sweep/plan", "daemon/sweep/clock",
    "daemon/sweep/measure", "daemon/sweep/passes",
    "daemon/journal", "daemon/agent/hosts", "daemon/agent/supervise", "daemon/agent/launch", "daemon/agent/commands", "daemon/agent",
    "daemon/serve", "daemon/server",
    "client/library", "client/python", "client/export", "client/nccl_tuner", "client/collectives", "client/collectives/interface", "client/bridge",
    "client/open_mpi", "client/preload", "client/callables",
    "client/cli/text", "client/cli/source", "client/cli/reports", "client/cli/models", "client/cli/commands", "client/cli/run", "client/cli",
]
# Public headers below include/colltune/NAME that are not of the folder that include/ is in.
INTERFACES = {"kernels/include/colltune/kernels": "kernels/api"}


def room_of(folder):
    """The room of a folder, given relative to the root; None where it has none."""
    parts = folder.as_posix().split("/")
    if "include" in parts:
        at = parts.index("include")
        base, rest = parts[:at], parts[at + 3:]
        inner = "/".join(base + rest)
        if not rest and folder.as_posix() in INTERFACES:
            return INTERFACES[folder.as_posix()]
        parts = inner.split("/")
    while parts:
        if "/".join(parts) in ROOMS:
            return "/".join(parts)
        parts.pop()
    return None


class House:
    def __init__(self, root):
        self.root = root
        self.faults = []
        self.sources = [path.relative_to(root) for top in [*PRODUCT, "tests", "deploy"] for path in sorted((root / top).rglob("*"))
                        if path.suffix in SOURCES and path.is_file() and "__pycache__" not in path.parts]
        self.known = set(self.sources)
        self.include_roots = sorted({Path(*path.parts[:path.parts.index("include") + 1])
                                     for path in self.sources if "include" in path.parts})

    def fault(self, text):
        self.faults.append(text)

    def resolve(self, source, name):
        """The file that an include names: in the folder of its source or of one above, or a public header."""
        for folder in [*source.parents, *self.include_roots]:
            if (found := folder / name) in self.known:
                return found
        return None

    def check_sizes(self):
        folders = {}
        for path in self.sources:
            folders.setdefault(path.parent, []).append(path)
            lines = (self.root / path).read_text(errors="replace").count("\n")
            if lines > MOST_LINES:
                self.fault(f"{path}: {lines} lines, at most {MOST_LINES}")
        for folder, paths in folders.items():
            if len(paths) > MOST_FILES:
                self.fault(f"{folder}: {len(paths)} sources, at most {MOST_FILES}")
        for path in sorted(self.root.rglob("README.md")):
            if "build" in path.relative_to(self.root).parts:
                continue
            text = path.read_text()
            lines = text.count("\n")
            if lines > MOST_README_LINES:
                self.fault(f"{path.relative_to(self.root)}: {lines} lines, at most {MOST_README_LINES}")
            if not text.startswith("# "):
                self.fault(f"{path.relative_to(self.root)}: does not begin with its title")

    def check_includes(self):
        for source in self.sources:
            if source.parts[0] not in PRODUCT:
                continue
            room = room_of(source.parent)
            if room is None:
                self.fault(f"{source}: its folder is no room; add it to ROOMS in tests/rooms.py, above what it includes")
                continue
            text = (self.root / source).read_text(errors="replace")
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
                target = self.resolve(source, name)
                if target is None or target.parts[0] not in PRODUCT:
                    continue  # made by the build
                other = room_of(target.parent)
                if other is not None and ROOMS.index(other) > ROOMS.index(room):
                    self.fault(f"{source}: includes {name} of {other}, which is above {room}")


def main():
    house = House(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]).resolve())
    house.check_sizes()
    house.check_includes()
    for fault in house.faults:
        print(fault)
    print(f"{len(house.sources)} sources in {len(ROOMS)} rooms, {len(house.faults)} violation(s)")
    sys.exit(1 if house.faults else 0)


if __name__ == "__main__":
    main()
