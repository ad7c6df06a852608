#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Bad input to the real programs, one line per case: the exit code that is documented, an error that names what was found
and what is allowed, no file changed that must not change, and an end within seconds.

Wants COLLTUNE_BIN (programs), COLLTUNE_SOURCE (the tree), COLLTUNE_PLUGINS (the broken plug-ins' folder), as ctest sets
them. What only a second host, a full disk or a running sweep can show is in survival_test.py, owner_test and place_test.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAMS = Path(os.environ["COLLTUNE_BIN"]).resolve()
SOURCE = Path(os.environ["COLLTUNE_SOURCE"]).resolve()
PLUGINS = Path(os.environ["COLLTUNE_PLUGINS"]).resolve()
AGENT, DAEMON, TOOL = (str(PROGRAMS / name) for name in ("colltune-agent", "colltuned", "colltune"))
LONGEST = 20  # seconds; what hangs has failed
NOBODY = 65534

GOOD = {"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "budget_seconds": 5}


class Case:
    """A command, its exit code, what stderr must match, and files that must stay as they are."""

    def __init__(self, name, code, patterns, command, kept=(), environment=None, user=None):
        self.name, self.code, self.patterns, self.command = name, code, patterns, command
        self.kept, self.environment, self.user = [Path(path) for path in kept], environment or {}, user

    def run(self, folder):
        before = [digest(path) for path in self.kept]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **self.environment)
        begin = time.monotonic()
        try:
            done = subprocess.run(self.command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, errors="replace", timeout=LONGEST, user=self.user, check=False)
        except subprocess.TimeoutExpired:
            return f"hangs: {' '.join(self.command)}"
        wrong = []
        if done.returncode != self.code:
            wrong.append(f"exit code {done.returncode}, wanted {self.code}")
        wrong += [f"nothing matches '{pattern}'" for pattern in self.patterns if not re.search(pattern, done.stderr)]
        wrong += [f"{path} has changed" for path, was in zip(self.kept, before) if digest(path) != was]
        if not wrong:
            return None
        return f"{'; '.join(wrong)} ({time.monotonic() - begin:.1f} s): {' '.join(self.command)}\n    {done.stderr[:600]}"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def configurations(folder):
    """Every configuration is tried with --dry-run: what cannot be planned must not need a database."""

    def case(name, text, *patterns, code=2):
        path = folder / f"{name}.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Case(f"configuration: {name}", code, [path.name, *patterns],
                    [AGENT, "sweep", "--dry-run", "--config", str(path)])

    def with_keys(name, *patterns, code=2, **keys):
        return case(name, json.dumps(GOOD | keys), *patterns, code=code)

    yield case("empty", "", "not JSON")
    yield case("syntax", '{"version": 1,\n "sizes": }', "line 2")
    yield case("bytes", bytes(range(256)) * 40, "not JSON")
    yield case("deep", "[" * 200_000, "nested deeper than 32")
    yield case("deep_key", '{"version": 1, "collectives": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper than 32")
    yield case("twice", '{"version": 1, "version": 1}', "'version' is given twice")
    yield case("not_an_object", "[]", "object|required")
    yield case("number", '{"version": 1, "collectives": ["all_reduce"], "sizes": "8", "precision": 1e400}', "overflow")
    yield with_keys("unknown_key", "'?colour'?", "budget_seconds", colour=1)
    yield with_keys("version", "version", version=9)
    yield with_keys("type_of_list", "/collectives", "at least one", collectives="all_reduce")
    yield with_keys("type_of_number", "/budget_seconds", '"ten"', "from 0", budget_seconds="ten")
    yield with_keys("no_collective", "/collectives", "at least one", collectives=[])
    yield with_keys("no_type", "/types", "at least one", types=[])
    yield with_keys("no_size", "/sizes", "64KiB", sizes=[])
    yield with_keys("unknown_collective", "all_reduces", "all_gather", collectives=["all_reduces"])
    yield with_keys("unknown_type", "f33", "bf16", types=["f33"])
    yield with_keys("unknown_unit", "1KB", "KiB", sizes="1KB")
    yield with_keys("huge_size", "99999999TiB", "powers of 1024", sizes="99999999TiB")
    yield with_keys("slow_range", "the factor must be a whole number", sizes="1..1TiB x1.000001")
    yield with_keys("negative_size", "-8", sizes=-8)
    yield with_keys("no_node", "/worlds/0/nodes", "found 0", worlds=[{"nodes": 0, "ranks_per_node": 2}])
    yield with_keys("negative_ranks", "/worlds/0/ranks_per_node", worlds=[{"nodes": 1, "ranks_per_node": -1}])
    call = {"collective": "reduce", "type": "f64", "op": "sum", "size": "1KiB"}
    yield with_keys("half_a_world", "/calls/0", "without 'ranks_per_node'", calls=[call | {"nodes": 1}])
    yield with_keys("weight_of_nothing", "/calls/0/weight", "above 0", calls=[call | {"weight": 0}])
    yield with_keys("call_of_several_sizes", "/calls/0/size", "64KiB", calls=[call | {"size": "1KiB,2KiB"}])
    yield case("sizes_of_no_product", json.dumps({"version": 1, "calls": [call], "sizes": "8"}), "/sizes", "'collectives'")
    # What only the plan can find names the key alone.
    yield Case("configuration: no such implementation", 2, [r"nothing\*", "mpi.all_reduce", "/implementations/include"],
               [AGENT, "sweep", "--dry-run", "--config",
                write(folder / "nothing.json", GOOD | {"implementations": {"include": ["nothing*"]}})])
    yield Case("configuration: larger world", 2, ["99 rank", "has 1 rank", "/worlds"],
               [AGENT, "sweep", "--dry-run", "--config",
                write(folder / "world.json", GOOD | {"worlds": [{"nodes": 1, "ranks_per_node": 99}]})])
    yield Case("configuration: call of a larger world", 2, ["/calls/0", "reduce f64 sum 1KiB", "has 1 rank", "at least 99 ranks"],
               [AGENT, "sweep", "--dry-run", "--config",
                write(folder / "call.json", {"version": 1, "calls": [call | {"nodes": 1, "ranks_per_node": 99}]})])
    for name, text, pattern in [("empty", "", "no trace"), ("of another version", '{"version": 9}', "trace"),
                                ("a configuration", json.dumps(GOOD), "'program' is missing")]:
        path = folder / f"trace_{name.split()[-1]}.ctr"
        path.write_text(text)
        yield Case(f"trace: {name}", 2, [path.name, pattern], [AGENT, "sweep", "--dry-run", "--from", str(path)])
    yield Case("configuration: a folder", 2, [re.escape(str(folder)), "cannot be read"],
               [AGENT, "sweep", "--dry-run", "--config", str(folder)])
    yield Case("configuration: absent", 2, ["absent.json"], [AGENT, "sweep", "--dry-run", "--config", "absent.json"])


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def make_good_database(folder):
    """A real one, with a generation and a snapshot."""
    path = folder / "good.db"
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    subprocess.run([AGENT, "sweep", "--config", write(folder / "good.json", GOOD), "--db", str(path), "--quiet",
                    "--allow-oversubscribe"], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
    return path


def damaged_databases(folder, good):
    """(name, file, exit code, pattern). No file has a snapshot beside it that could stand in for it."""
    whole = good.read_bytes()

    def put(name, content):
        path = folder / f"{name}.db"
        path.write_bytes(content)
        return path

    yield "not SQLite", put("text", b"these are not the bytes you are looking for\n" * 100), 2, "not a colltune database"
    foreign = folder / "foreign.db"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE precious (gem)")
    connection.commit()
    connection.close()
    yield "of another program", foreign, 2, "not a colltune database.*application id.*left as it is"
    newer = put("newer", whole)
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 1000")
    connection.execute("UPDATE meta SET schema_version = 1000")
    connection.commit()
    connection.close()
    yield "of a newer version", newer, 2, "version 1000.*newer"
    yield "damaged header", put("header", b"not sqlite at al" + whole[16:]), 5, "damaged.*header.*snapshot"
    yield "truncated", put("short", whole[:len(whole) // 2]), 5, "malformed|damaged"
    yield "damaged first page", put("page", whole[:100] + b"\xff" * 40 + whole[140:]), 5, "malformed|damaged"
    flipped = bytearray(whole)
    for place in range(4096, len(flipped), 997):
        flipped[place] ^= 0x10
    yield "flipped bits", put("flipped", bytes(flipped)), 5, "malformed|damaged|checksum"
    edited = put("edited", whole)
    connection = sqlite3.connect(edited)
    changed = connection.execute("UPDATE ranked_variant SET median_ns = 1").rowcount
    assert changed > 0, "the good database has no decision that could be edited"
    connection.commit()
    connection.close()
    yield "edited by hand", edited, 5, "checksum|damaged"


def databases(folder, good):
    configuration = str(folder / "good.json")
    for name, path, code, pattern in damaged_databases(folder, good):
        patterns = [re.escape(path.name), pattern]
        for program, command in {
            "agent": [AGENT, "sweep", "--config", configuration, "--quiet", "--allow-oversubscribe", "--db", str(path)],
            "colltuned": [DAEMON, "--listen", f"unix:{folder}/{path.stem}.sock", "--db", str(path)],
            "lookup": [TOOL, "lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--db", str(path)],
            "export": [TOOL, "export", "json", "--db", str(path)],
            "show": [TOOL, "show", "decisions", "--db", str(path)],
            "import": [TOOL, "import", configuration, "--db", str(path)],
        }.items():
            if program == "import":  # its input is wrong as well and found first
                yield Case(f"database {name}: import", 2, [r"good\.json"], command, [path])
            elif program == "agent" and name == "edited by hand":
                continue  # a sweep does not read what it replaces; its own rows are sound
            else:
                yield Case(f"database {name}: {program}", code, patterns, command, [path])
    for name, path, code in [("in no folder", "nofolder/x.db", 2), ("a folder", str(folder), 2)]:
        yield Case(f"database {name}: agent", code, [re.escape(Path(path).name)],
                   [AGENT, "sweep", "--config", configuration, "--quiet", "--allow-oversubscribe", "--db", path])
    for program, command in {"show": [TOOL, "show", "sweeps"], "colltuned": [DAEMON, "--listen", f"unix:{folder}/absent"]}.items():
        yield Case(f"database absent: {program}", 2, [r"absent\.db"], [*command, "--db", "absent.db"])
    if os.getuid() == 0:
        locked = folder / "locked"
        locked.mkdir()
        shutil.copy(good, locked / "good.db")
        (locked / "good.db").chmod(0o444)
        locked.chmod(0o555)
        yield Case("database read-only: agent", 2, [r"locked/good\.db", "ermission"],
                   [AGENT, "sweep", "--config", configuration, "--quiet", "--allow-oversubscribe", "--db",
                    str(locked / "good.db")], [locked / "good.db"], user=NOBODY)
        yield Case("database read-only: reading it is allowed", 0, [], [TOOL, "show", "sweeps", "--db", str(locked / "good.db")],
                   [locked / "good.db"], user=NOBODY)


def old_databases(folder):
    """Older versions: a reader says who migrates them and changes nothing; their owner does, and loses nothing."""
    for dump in sorted((SOURCE / "tests" / "db").glob("version_*.sql")):
        path = folder / f"{dump.stem}.db"
        connection = sqlite3.connect(path)
        connection.executescript(dump.read_text())
        sweeps = connection.execute("SELECT count(*) FROM sweep").fetchone()[0]
        connection.close()
        show = Case(dump.name, 2, [re.escape(path.name), "migrates it"], [TOOL, "show", "sweeps", "--db", str(path)], [path])
        own = Case(dump.name, 0, [], [AGENT, "sweep", "--config", str(folder / "good.json"), "--quiet",
                                      "--allow-oversubscribe", "--db", str(path)])
        yield from filter(None, (show.run(folder), own.run(folder)))
        done = subprocess.run([TOOL, "show", "sweeps", "--json", "--db", str(path)], capture_output=True, text=True,
                              timeout=LONGEST, check=False)
        if done.returncode != 0 or len(json.loads(done.stdout)) != sweeps + 1:
            yield f"{dump.name} after its migration: {done.returncode}, {done.stdout[:300]} {done.stderr}"


def sockets(folder, good):
    def listen(name, address, *patterns):
        return Case(f"socket {name}", 2, patterns, [DAEMON, "--db", str(good), "--listen", address], [good])

    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    sockets.taken = taken  # stays open while the cases run
    write(folder / "plain", "precious")
    yield listen("taken", f"127.0.0.1:{port}", str(port), "in use")
    yield listen("path too long", f"unix:{folder}/{'x' * 120}", "limit for sockets is 107")
    yield listen("is a folder", f"unix:{folder}", "is no socket")
    plain = listen("is a file", f"unix:{folder}/plain", "plain", "is no socket")
    plain.kept.append(folder / "plain")
    yield plain
    yield listen("in no folder", f"unix:{folder}/nofolder/s", "nofolder does not exist")
    yield listen("of another host", "192.0.2.1:50061", "192.0.2.1", "allow-insecure-network")
    yield listen("of every host", "0.0.0.0:50061", "allow-insecure-network")
    yield listen("no port", "127.0.0.1", "unix:/path/to.sock")
    yield listen("port too high", "127.0.0.1:99999", "99999", "65535")
    other = Case("socket of another host, allowed", 2, ["192.0.2.1"],
                 [DAEMON, "--db", str(good), "--listen", "192.0.2.1:50061", "--allow-insecure-network"], [good])
    yield other
    ask = [TOOL, "lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--server"]
    yield Case("server: nobody", 4, ["no colltuned answers", "nobody"], [*ask, f"unix:{folder}/nobody"])
    yield Case("server: a file", 4, ["no colltuned answers", "plain"], [*ask, f"unix:{folder}/plain"])
    yield Case("server: no address", 2, ["nonsense", "host:port"], [*ask, "nonsense"])
    if os.getuid() == 0:
        private = folder / "private"
        private.mkdir(mode=0o700)
        yield Case("socket in a private folder", 2, ["private"],
                   [DAEMON, "--db", str(good), "--listen", f"unix:{private}/s"], user=NOBODY)


def plugins(folder):
    def case(name, file, *patterns, code=2, flaw=None):
        return Case(f"plug-in {name}", code, [re.escape(Path(file).name), *patterns],
                    [AGENT, "sweep", "--dry-run", "--config", str(folder / "good.json"), "--plugin", str(file), "--call-limit", "1"],
                    environment={"COLLTUNE_TEST_FLAW": flaw} if flaw else {})

    yield case("absent", "absent.so", "no such file")
    yield case("not ELF", folder / "good.json", "not begin as an ELF file")
    yield case("a folder", folder, "no regular file")
    yield case("without the symbol", PLUGINS / "no_entry_plugin.so", "does not export colltune_plugin_entry")
    yield case("cannot be linked", PLUGINS / "unresolved_plugin.so", "cannot be loaded", "undefined symbol")
    yield case("of another version", PLUGINS / "flawed_plugin.so", "version", flaw="newer version")
    yield case("struct_size", PLUGINS / "flawed_plugin.so", "struct_size of 64", "at least 72", flaw="small struct")
    yield case("null", PLUGINS / "flawed_plugin.so", "'family' is NULL", flaw="null family")
    for flaw in ("hangs in its constructor", "hangs in describe"):
        yield case(flaw, PLUGINS / "flawed_plugin.so", "did not end within 1 s", "--call-limit", flaw=flaw)
    yield case("crashes", PLUGINS / "flawed_plugin.so", "crashes by signal 6", flaw="crashes in describe")
    yield case("exits", PLUGINS / "flawed_plugin.so", "ends the process that loads it, with exit code 0", flaw="exits in describe")


def commands(folder, good):
    lookup = [TOOL, "lookup", "all_reduce", "--db", str(good)]
    yield Case("unit of --bytes", 2, ["--bytes", "1KB", "64KiB"], [*lookup, "--bytes", "1KB", "--dtype", "f32"])
    yield Case("--dtype", 2, ["f33", "bf16"], [*lookup, "--bytes", "1K", "--dtype", "f33"])
    yield Case("collective", 2, ["all_reduced", "all_gather"],
               [TOOL, "lookup", "all_reduced", "--bytes", "1K", "--dtype", "f32", "--db", str(good)])
    yield Case("option", 2, ["colour"], [AGENT, "sweep", "--config", str(folder / "good.json"), "--db", "x.db", "--colour"])
    for rounds in ("11", "1001", "0", "-1", "12.5", "many", "99999999999"):
        yield Case(f"--most-rounds {rounds}", 2, ["--most-rounds", re.escape(rounds), "12 to 1000|12 - 1000"],
                   [AGENT, "sweep", "--config", str(folder / "good.json"), "--db", str(good), "--most-rounds", rounds], [good])
    yield Case("no rank", 2, ["--ranks-per-node", "at least 1"],
               [*lookup, "--bytes", "1K", "--dtype", "f32", "--ranks-per-node", "0"])
    yield Case("export to a folder", 2, ["it is a folder"], [TOOL, "export", "json", "--db", str(good), "-o", str(folder)], [good])
    yield Case("export of nothing known", 2, ["json"], [TOOL, "export", "nonsense", "--db", str(good)], [good])
    yield Case("import of something else", 2, [r"good\.json:1"], [TOOL, "import", str(folder / "good.json"), "--db",
                                                                   str(good)], [good])
    yield Case("no --db", 2, ["--db"], [DAEMON])
    yield Case("nowhere to put results", 2, ["--db", "--json"], [AGENT, "sweep", "--config", str(folder / "good.json")])
    yield Case("nothing to supervise", 2, ["command"], [AGENT, "supervise", "--db", str(good)])
    yield Case("a launcher that is not there", 2, ["/no/such/launcher"],
               [AGENT, "supervise", "--db", str(good), "--", "/no/such/launcher"], [good])


def main():
    folder = Path(tempfile.mkdtemp(prefix="colltune-bad-input-"))
    folder.chmod(0o755)
    begin = time.monotonic()
    try:
        good = make_good_database(folder)
        cases = [*configurations(folder), *databases(folder, good), *sockets(folder, good), *plugins(folder),
                 *commands(folder, good)]
        failures = list(old_databases(folder))
        # Most of a case is waiting: for MPI to start, for a socket to be refused.
        with ThreadPoolExecutor(4) as pool:
            for case, failure in zip(cases, pool.map(lambda case: case.run(folder), cases)):
                if failure:
                    failures.append(f"{case.name}: {failure}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    print(f"{len(cases)} cases in {time.monotonic() - begin:.0f} s, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
