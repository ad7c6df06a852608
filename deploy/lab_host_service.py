# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Process 1 of a host of deploy/lab, and of the switch: makes the namespaces that it is started in a host, then runs commands
that come over a socket. Started by lab_hosts.py as `lab_host_service.py NAME FOLDER`."""

import array
import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
SWITCH = "switch"


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def set_up_host(name, folder, options):
    """In the new namespaces: what makes them a host."""
    subprocess.run(["hostname", name], check=True)
    mount("--make-rprivate", "/")
    if cores := options["cores"].get(name):
        os.sched_setaffinity(0, cores)  # all that runs on this host inherits it
    # What lies below /tmp and is needed goes over to the new one.
    kept = [path for path in [str(SOURCE), folder, *options["shared"]] if path.startswith("/tmp/")]
    for number, path in enumerate(kept):
        hold = Path(folder, f"hold-{name}-{number}")
        hold.mkdir()
        mount("--bind", path, str(hold))
    mount("-t", "tmpfs", "-o", f"size={options['tmp_size']},mode=1777", "tmpfs", "/tmp")
    for number, path in enumerate(kept):
        Path(path).mkdir(parents=True)
        mount("--bind", f"{folder}/hold-{name}-{number}", path)
    mount("-t", "tmpfs", "-o", "size=50%,mode=1777", "tmpfs", "/dev/shm")
    # The layer above must not lie on an overlay, as all files of a container do.
    Path(folder, name).mkdir()
    mount("-t", "tmpfs", "tmpfs", f"{folder}/{name}")
    for part in ("etc", "etc-work"):
        Path(folder, name, part).mkdir()
    mount("-t", "overlay", "overlay", "-o",
          f"lowerdir=/etc,upperdir={folder}/{name}/etc,workdir={folder}/{name}/etc-work", "/etc")
    shutil.copy(f"{folder}/hosts", "/etc/hosts")
    Path("/etc/hostname").write_text(name + "\n")
    mount("--bind", str(SOURCE), str(SOURCE))
    mount("-o", "remount,bind,ro", str(SOURCE))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


class Service:
    """Runs commands that come over a socket, each with the caller's streams, and reaps what is orphaned."""

    def __init__(self, path):
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o600)
        self.listener.listen(64)
        self.callers = {}  # process -> the connection that asked for it
        wake, self.waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(ignored, signal.SIG_IGN)
        self.selector.register(wake, selectors.EVENT_READ, lambda wake: self.reap(wake))
        self.selector.register(self.listener, selectors.EVENT_READ, lambda _: self.accept())

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)

    def accept(self):
        connection, _ = self.listener.accept()
        connection.settimeout(5)
        streams = array.array("i")
        try:
            text, ancillary, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(3 * streams.itemsize))
            for _, _, data in ancillary:
                streams.frombytes(data[: len(data) - len(data) % streams.itemsize])
            while not text.endswith(b"\n") and (more := connection.recv(1 << 20)):
                text += more
            process = self.start(json.loads(text), streams)
        except (OSError, ValueError) as error:
            self.answer(connection, {"error": str(error)})
            return
        finally:
            for stream in streams:
                os.close(stream)
        self.callers[process] = connection
        self.selector.register(connection, selectors.EVENT_READ, lambda caller: self.hear(process, caller))

    @staticmethod
    def start(asked, streams):
        process = os.fork()
        if process != 0:
            return process
        try:
            signal.set_wakeup_fd(-1)
            for handled in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                signal.signal(handled, signal.SIG_DFL)
            os.setsid()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.closerange(3, 4096)
            os.chdir(asked["folder"])
            os.execvpe(asked["command"][0], asked["command"], asked["environment"])
        except OSError as error:
            os.write(2, f"lab: {asked['command'][0]}: {error}\n".encode())
        os._exit(127)

    def hear(self, process, caller):
        """A signal to pass on; the end of the caller ends his command."""
        if self.callers.get(process) is not caller:
            return  # the command ended, and was reaped, since the caller was heard to speak or to leave
        try:
            text = caller.recv(4096)
        except OSError:
            text = b""
        number = int(text.split()[-1]) if text else signal.SIGTERM
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, number)
        if not text:
            self.selector.unregister(caller)
            self.callers.pop(process, None)
            caller.close()

    def reap(self, wake):
        with contextlib.suppress(BlockingIOError):
            os.read(wake, 4096)
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process == 0:
                    return
                if caller := self.callers.pop(process, None):
                    self.selector.unregister(caller)
                    self.answer(caller, {"code": os.waitstatus_to_exitcode(status)})

    @staticmethod
    def answer(connection, answer):
        with contextlib.suppress(OSError):
            connection.sendall(json.dumps(answer).encode() + b"\n")
        connection.close()


def serve_as_first_process(name, folder):
    options = json.loads(Path(folder, "options.json").read_text())
    if name != SWITCH:
        set_up_host(name, folder, options)
    service = Service(f"{folder}/{name}.socket")
    print("ready", flush=True)
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    os.dup2(devnull, 1)
    service.serve()


if __name__ == "__main__":
    serve_as_first_process(*sys.argv[1:])
