#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""streams_in_order.py FOLDER COMMAND…: runs the command with its standard streams on two pipes and does not take the results at
first. What comes behind them on the other stream must wait until they were taken: a launcher forwards both streams in pieces, and
would put it between their rows. Used by launching_test.sh."""

import array
import fcntl
import os
import select
import subprocess
import sys
import termios
import time

LONGEST = 60  # seconds
OBSERVED = 0.3  # seconds in which nothing may come


def unread(pipe):
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def take(pipe, seconds):
    """What comes within so many seconds, up to the first pause of them; b"" at the end of the stream too."""
    return os.read(pipe, 65536) if select.select([pipe], [], [], seconds)[0] else b""


def main():
    folder, *command = sys.argv[1:]
    paths = [os.path.join(folder, name) for name in ("results", "words")]
    for path in paths:
        os.mkfifo(path)
    results, words = (os.open(path, os.O_RDONLY | os.O_NONBLOCK) for path in paths)
    with subprocess.Popen(command, env={**os.environ, "RESULTS": paths[0], "WORDS": paths[1]}) as launch:
        end = time.monotonic() + LONGEST
        before = b""
        while unread(results) == 0:
            if time.monotonic() > end or launch.poll() is not None:
                launch.kill()
                sys.exit(f"no results came; on the other stream: {before.decode()[-2000:]}")
            before += take(words, 0.01)
        # What was on its way when the results came was written before them.
        before += take(words, 0)
        early = take(words, OBSERVED)
        table = b""
        while (more := take(results, OBSERVED)) or launch.poll() is None:
            table += more
            before += take(words, 0)
            if time.monotonic() > end:
                launch.kill()
                sys.exit("the launch does not end")
        before += take(words, OBSERVED)
        code = launch.wait()
    if early:
        sys.exit(f"came before the results were taken: {early.decode()[:500]}")
    if b"mpi.all_reduce" not in table:
        sys.exit(f"these are no results: {table.decode()[:500]}")
    if b"published generation" not in before:
        sys.exit(f"nothing came behind the results: {before.decode()[-500:]}")
    sys.exit(code)


if __name__ == "__main__":
    main()
