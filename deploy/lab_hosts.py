# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts on one machine: what deploy/lab starts, and what tests use.

A host has network, UTS, IPC, PID, mount (and, if asked for, time) namespaces of its own, with its own /tmp, /dev/shm, /etc and
host name. All see this source tree, read-only, and one shared folder. Process 1 of each runs the commands that it is asked for
over a socket in the lab's folder; that stands for sshd. Another process holds the switch that connects the hosts. All of them
end with the process that made the lab, however it ends, and namespaces end with their last process: nothing is left but a
folder below /run, which the next lab removes.

    with Lab(hosts=2) as lab:
        lab.run(["mpirun", "-n", "4", "hostname"])
        lab.cut("lab1")
"""

import array
import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lab_host_service import SOURCE, SWITCH  # noqa: E402

HEAD = "head"
FOLDERS = "/run/colltune-lab-"
STARTS_WITHIN = 20.0  # seconds
REACHED_WITHIN = 10.0  # a host whose cable is cut or that is off: as long as ssh -o ConnectTimeout=10 tries
MOST_HOSTS = 8
SLURM_STARTS_WITHIN = 40.0
PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "mount": "mount"}

SLURM_PROGRAMS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client", "munged": "munge"}


class Refused(Exception):
    """This machine or this user cannot have such a lab. Says what is missing."""


class LabError(Exception):
    """What was asked for did not happen. Says what did."""


def die_with_parent():
    """In a process that was just forked: it ends when its parent does."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


class Command:
    """A command that runs on a host."""

    def __init__(self, folder, host, command, *, environment=None, cwd=None, streams=(0, 1, 2)):
        self.host = host
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(REACHED_WITHIN)
        asked = {"command": [str(word) for word in command], "folder": str(cwd or "/"),
                 "environment": dict(os.environ if environment is None else environment)}
        try:
            self.connection.connect(f"{folder}/{host}.socket")
            text = json.dumps(asked).encode() + b"\n"
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
            sent = self.connection.sendmsg([text], rights)
            if rest := text[sent:]:  # without any, the command may be over: even sending nothing would fail then
                self.connection.sendall(rest)
        except OSError as error:
            raise LabError(f"{host} does not answer: {error}") from None

    def signal(self, number):
        self.connection.sendall(f"{int(number)}\n".encode())

    def wait(self, seconds=None):
        """The exit code; 128+n for signal n, 255 where the host went away. TimeoutError after `seconds`."""
        self.connection.settimeout(seconds)
        text = b""
        try:
            while not text.endswith(b"\n"):
                more = self.connection.recv(4096)
                if not more:
                    return 255
                text += more
        except ConnectionResetError:
            return 255
        answer = json.loads(text)
        if "error" in answer:
            raise LabError(f"{self.host}: {answer['error']}")
        return answer["code"] if answer["code"] >= 0 else 128 - answer["code"]

    def relay(self, seconds=None):
        """wait, in a process that stands for the command: signals go on to it."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, lambda number, _: self.signal(number))
        return self.wait(seconds)

    def close(self):
        self.connection.close()


class Lab:
    """Some hosts (lab0, lab1, …), and `head`, which is one more where no ranks are placed. A context manager.

    hosts: 1 to 8. slots: ranks that mpirun places on each, one number for all or a list. ipv6: no host has another address.
    shared: folders below this machine's /tmp that the hosts are to see (all else but /tmp, /dev/shm and /etc is this machine's).
    tmp_size: of each host's own /tmp, as mount takes it. clock_steps: seconds by which the monotonic clock of each host is ahead
    of the one before. own_cores: this machine's cores are shared out, in order, and at least one to each host; else every host
    has all of them, and takes them for its own. slurm: a Slurm of these hosts, its controller on the head, which has no ranks: `srun --mpi=pmix -n 4 …`.
    """

    def __init__(self, hosts=2, *, slots=2, ipv6=False, slurm=False, shared=(), tmp_size="1g", clock_steps=0,
                 own_cores=False):
        if not 1 <= hosts <= MOST_HOSTS:
            raise Refused(f"{hosts} hosts: allowed are 1 to {MOST_HOSTS}")
        refuse_without_means(SLURM_PROGRAMS if slurm else {})
        self.slurm = slurm
        self.names = [f"lab{i}" for i in range(hosts)]
        self.slots = [slots] * hosts if isinstance(slots, int) else list(slots)
        if len(self.slots) != hosts:
            raise Refused(f"slots for {len(self.slots)} hosts, of which there are {hosts}")
        self.ipv6 = ipv6
        self.clock_steps = clock_steps
        self.options = {"tmp_size": tmp_size, "shared": [str(Path(path).resolve()) for path in shared],
                        "cores": share_cores(self.names) if own_cores else {}}
        self.starters = {}  # host -> the unshare that made it
        self.frozen = set()
        remove_old_folders()
        self.folder = tempfile.mkdtemp(prefix=FOLDERS)
        self.shared = f"{self.folder}/shared"
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    # What a host is.

    def address(self, host):
        number = 1 + [*self.names, HEAD].index(host)
        return f"fd77::{number}" if self.ipv6 else f"10.77.0.{number}"

    def environment(self, host=None):
        """What commands get besides the caller's variables: how mpirun finds the hosts."""
        family = "4" if self.ipv6 else "6"
        return {
            "COLLTUNE_LAB": self.folder, "COLLTUNE_LAB_SHARED": self.shared,
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_plm_rsh_agent": f"{self.folder}/agent", "OMPI_MCA_orte_default_hostfile": f"{self.folder}/hostfile",
            "OMPI_MCA_oob_tcp_if_include": "eth0", "OMPI_MCA_btl_tcp_if_include": "eth0",
            f"OMPI_MCA_oob_tcp_disable_ipv{family}_family": "1", "OMPI_MCA_btl_tcp_disable_family": family,
            # The hosts share this machine's cores, and each takes them for its own.
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "PRTE_MCA_prte_default_hostfile": f"{self.folder}/hostfile",
        } | ({"SLURM_CONF": f"{self.folder}/slurm.conf"} if self.slurm else {})

    # What is done with it.

    def start(self, command, *, on="lab0", environment=None, cwd=None, streams=(0, 1, 2)):
        """Starts a command on a host; `environment` is added to the caller's."""
        whole = os.environ | self.environment(on) | (environment or {})
        return Command(self.folder, on, command, environment=whole, cwd=cwd or os.getcwd(), streams=streams)

    def run(self, command, *, on="lab0", environment=None, cwd=None, seconds=120):
        """Runs it to its end; (exit code, stdout, stderr). LabError where it does not end within `seconds`."""
        with tempfile.TemporaryFile() as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            started = self.start(command, on=on, environment=environment, cwd=cwd,
                                 streams=(nothing.fileno(), out.fileno(), err.fileno()))
            try:
                code = started.wait(seconds)
            except TimeoutError:
                started.signal(signal.SIGKILL)
                code = None
            finally:
                started.close()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        if code is None:
            raise LabError(f"{on}: did not end within {seconds} s: {' '.join(map(str, command))}\n{texts[1][-3000:]}")
        return code, *texts

    def must(self, command, **options):
        """The same; what it printed. LabError where it fails."""
        code, out, err = self.run(command, **options)
        if code != 0:
            raise LabError(f"{options.get('on', 'lab0')}: {' '.join(map(str, command))} ended with {code}: {err.strip()}")
        return out

    def write(self, host, path, text):
        """A file that this host alone has (below /etc or /tmp)."""
        self.must(["sh", "-c", 'mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1"', "sh", path, text], on=host)

    def cut(self, host):
        """Pulls the host's cable: nothing comes or goes, and neither end is told."""
        set_cable(self.folder, host, is_whole=False)

    def heal(self, host):
        set_cable(self.folder, host, is_whole=True)

    def limit(self, host, rate=None, delay=None):
        """What goes over the host's cable, each way: `rate` as tc takes it ("1gbit"), `delay` too ("1ms"); without both as
        fast as it goes. LabError where this kernel has no such queue (netem, for delays)."""
        for place, device in ((SWITCH, port_of(host)), (host, "eth0")):
            self.run(["tc", "qdisc", "del", "dev", device, "root"], on=place)
            if delay is not None:
                words = ["netem", "delay", delay, "limit", "10000", *(["rate", rate] if rate else [])]
            elif rate is not None:
                words = ["tbf", "rate", rate, "burst", "64kb", "latency", "50ms"]
            else:
                continue
            self.must(["tc", "qdisc", "add", "dev", device, "root", *words], on=place)

    def freeze(self, host):
        """All its processes stop, and its network is silent, as of a machine that hangs."""
        self.cut(host)
        self.frozen.add(host)
        for pid in self.processes(host):
            send(pid, signal.SIGSTOP)

    def thaw(self, host):
        for pid in self.processes(host):
            send(pid, signal.SIGCONT)
        self.frozen.discard(host)
        self.heal(host)

    def switch_off(self, host):
        """As by its power switch: all of its processes are gone at once, and no word of it comes out."""
        self.cut(host)
        starter = self.starters.pop(host)
        starter.kill()
        starter.wait()
        end = time.monotonic() + STARTS_WITHIN
        while self.processes(host, self.namespaces[host]) and time.monotonic() < end:
            time.sleep(0.01)

    def processes(self, host, namespace=None):
        """The numbers, as this process sees them, of all that runs on a host."""
        namespace = namespace or self.namespaces[host]
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == namespace:
                    found.append(int(entry))
        return found

    def close(self):
        for host in list(self.frozen):
            with contextlib.suppress(Exception):
                self.thaw(host)
        for starter in self.starters.values():
            starter.kill()  # its process 1 with it, and so all of its processes
        for starter in self.starters.values():
            starter.wait()
        self.starters.clear()
        remove_folder(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # How it comes up.

    def _start(self):
        os.chmod(self.folder, 0o755)
        Path(self.shared).mkdir(mode=0o1777)
        Path(self.folder, "options.json").write_text(json.dumps(self.options))
        lines = ["127.0.0.1 localhost", "::1 localhost"] + [f"{self.address(host)} {host}" for host in [*self.names, HEAD]]
        Path(self.folder, "hosts").write_text("\n".join(lines) + "\n")
        Path(self.folder, "hostfile").write_text(
            "".join(f"{host} slots={slots}\n" for host, slots in zip(self.names, self.slots)))
        agent = Path(self.folder, "agent")
        agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{Path(__file__).resolve()}" agent "{self.folder}" "$@"\n')
        agent.chmod(0o755)
        Path(self.folder, "owner").write_text(str(os.getpid()))
        self.namespaces = {}
        self.first_processes = {}
        self._boot(SWITCH, ["--net"])
        for number, host in enumerate([*self.names, HEAD]):
            clock = ["--time", "--monotonic", str(number * self.clock_steps)] if self.clock_steps else []
            self._boot(host, ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *clock])
        self.must(["ip", "link", "set", "lo", "up"], on=SWITCH)
        self.must(["ip", "link", "add", "bridge", "type", "bridge"], on=SWITCH)
        self.must(["ip", "link", "set", "bridge", "up"], on=SWITCH)
        for host in [*self.names, HEAD]:
            self._plug_in(host)
        if self.slurm:
            self._start_slurm()

    def _start_slurm(self):
        Path(self.folder, "munge.key").write_bytes(os.urandom(1024))
        os.chmod(f"{self.folder}/munge.key", 0o600)
        nodes = "".join(f"NodeName={host} NodeAddr={self.address(host)} CPUs={slots} RealMemory=1000 State=UNKNOWN\n"
                        for host, slots in zip(self.names, self.slots))
        # What lies in /tmp is each host's own.
        Path(self.folder, "slurm.conf").write_text(f"""ClusterName=lab
SlurmctldHost={HEAD}({self.address(HEAD)})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/tmp/munge/socket
CredType=cred/munge
StateSaveLocation=/tmp/slurm/state
SlurmdSpoolDir=/tmp/slurm/spool
SlurmctldPidFile=/tmp/slurm/slurmctld.pid
SlurmdPidFile=/tmp/slurm/slurmd.pid
SlurmctldLogFile=/tmp/slurm/slurmctld.log
SlurmdLogFile=/tmp/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=pmix
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=10
KillWait=3
{"CommunicationParameters=EnableIPv6,DisableIPv4" if self.ipv6 else ""}
{nodes}PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
""")
        for host in [*self.names, HEAD]:
            self.must(["mkdir", "-p", "-m", "755", "/tmp/munge", "/tmp/slurm/state", "/tmp/slurm/spool"], on=host)
            self.must(["munged", "--force", "--key-file", f"{self.folder}/munge.key", "--socket", "/tmp/munge/socket",
                       "--pid-file", "/tmp/munge/pid", "--seed-file", "/tmp/munge/seed", "--log-file", "/tmp/munge/log"], on=host)
        self.must(["slurmctld"], on=HEAD)
        for host in self.names:
            self.must(["slurmd", "-N", host], on=host)
        end = time.monotonic() + SLURM_STARTS_WITHIN
        while (states := self.run(["sinfo", "-h", "-N", "-o", "%T"], on=HEAD)[1].split()) != ["idle"] * len(self.names):
            if time.monotonic() > end:
                log = self.run(["tail", "-n", "5", "/tmp/slurm/slurmctld.log"], on=HEAD)[1]
                raise LabError(f"Slurm's nodes do not become idle but {states}:\n{log}")
            time.sleep(0.2)

    def _boot(self, host, namespaces):
        starter = subprocess.Popen(
            ["unshare", *namespaces, "--", sys.executable, "-I", str(SOURCE / "deploy/lab_host_service.py"), host, self.folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", preexec_fn=die_with_parent)
        self.starters[host] = starter
        with selectors.DefaultSelector() as selector:
            selector.register(starter.stdout, selectors.EVENT_READ)
            is_ready = selector.select(STARTS_WITHIN) and os.read(starter.stdout.fileno(), 64) == b"ready\n"
        if not is_ready:
            starter.kill()
            raise LabError(f"{host} does not come up: {starter.stderr.read().decode(errors='replace').strip()}")
        children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
        # Without a PID namespace unshare becomes the program itself.
        first = int(children[0]) if "--fork" in namespaces else starter.pid
        self.first_processes[host] = first
        self.namespaces[host] = os.readlink(f"/proc/{first}/ns/pid")

    def _plug_in(self, host):
        port = port_of(host)
        self.must(["ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns",
                   str(self.first_processes[host])], on=SWITCH)
        self.must(["ip", "link", "set", port, "master", "bridge", "up"], on=SWITCH)
        length, extra = ("64", ["nodad"]) if self.ipv6 else ("24", [])
        self.must(["ip", "address", "add", f"{self.address(host)}/{length}", "dev", "eth0", *extra], on=host)
        self.must(["ip", "link", "set", "eth0", "up"], on=host)


def share_cores(hosts):
    """host -> the numbers of its cores; where there are fewer cores than hosts, hosts share one."""
    cores = sorted(os.sched_getaffinity(0))
    each = max(1, len(cores) // len(hosts))
    return {host: [cores[(number * each + i) % len(cores)] for i in range(each)] for number, host in enumerate(hosts)}


def port_of(host):
    return f"to-{host}"


def set_cable(folder, host, is_whole):
    """Pulls a host's cable, or puts it back."""
    if host == SWITCH or not Path(folder, f"{host}.socket").exists():
        raise LabError(f"there is no host '{host}'")
    mark = Path(folder, f"{host}.cut")
    mark.unlink(missing_ok=True) if is_whole else mark.touch()
    # A port that is down would tell the host that its carrier is gone; one that forwards nothing does not.
    state = ["bridge", "link", "set", "dev", port_of(host), "state", "3" if is_whole else "0"]
    if (code := Command(folder, SWITCH, state).wait(REACHED_WITHIN)) != 0:
        raise LabError(f"the cable of {host}: bridge ended with {code}")


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def refuse_without_means(further=None):
    """`further`: program -> Debian's package, besides those that every lab needs."""
    if os.getuid() != 0:
        raise Refused("a lab needs root")
    for program, package in (PROGRAMS | (further or {})).items():
        if shutil.which(program) is None:
            raise Refused(f"{program} is missing (apt-get install {package})")
    if "overlay" not in Path("/proc/filesystems").read_text().split():
        raise Refused("this kernel has no overlayfs")
    tried = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "true"], capture_output=True,
                           check=False)
    if tried.returncode != 0:
        raise Refused(f"this machine gives no namespaces: {tried.stderr.decode().strip()}")


def remove_folder(folder):
    shutil.rmtree(folder, ignore_errors=True)


def remove_old_folders():
    """Those of labs whose owners are gone."""
    base = Path(FOLDERS)
    for folder in base.parent.glob(base.name + "*"):
        with contextlib.suppress(OSError, ValueError):
            owner = int((folder / "owner").read_text())
            try:
                os.kill(owner, 0)
            except ProcessLookupError:
                remove_folder(folder)


def run_as_agent(folder, host, words):
    """What mpirun uses in the place of ssh, on any host: runs `words` on `host`, if the network leads there."""
    own = socket.gethostname()
    end = time.monotonic() + REACHED_WITHIN
    while any(Path(folder, f"{name}.cut").exists() for name in (own, host)):
        if time.monotonic() > end:
            print(f"lab: connect to {host} from {own}: timed out after {REACHED_WITHIN:.0f} s", file=sys.stderr)
            return 255
        time.sleep(0.05)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    try:
        command = Command(folder, host, ["sh", "-c", " ".join(words)], environment=kept, cwd="/")
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 255
    return command.relay()


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    if role == "agent":
        sys.exit(run_as_agent(arguments[0], arguments[1], arguments[2:]))
    else:
        sys.exit(f"lab_hosts.py: unknown role '{role}'; see deploy/lab")
