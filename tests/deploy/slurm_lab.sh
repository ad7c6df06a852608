#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# slurm_lab.sh COMMAND …
#
# A Slurm cluster of one node on this machine, on loopback, for as long as COMMAND runs: in it, `srun --mpi=pmix -n 2
# colltune-agent …` is a real launch. Leaves nothing behind. Needs root and Debian's slurmctld, slurmd, slurm-client
# and munge (deploy/install_dependencies does not install them); where they are missing it says so and ends with 77.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: slurm_lab.sh COMMAND …" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "slurm_lab.sh: skipped: it needs root" >&2; exit 77; }
for program in slurmctld slurmd srun munged; do
  command -v "$program" >/dev/null || {
    echo "slurm_lab.sh: skipped: $program is missing (apt-get install slurmctld slurmd slurm-client munge)" >&2
    exit 77
  }
done

lab=$(mktemp -d /tmp/colltune-slurm-XXXXXX)
pids=()
end() {
  for name in slurmd slurmctld munged; do
    [ ! -s "$lab/$name.pid" ] || pids+=("$(cat "$lab/$name.pid")")
  done
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do
    for _ in $(seq 100); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  done
  rm -rf "$lab"
}
trap end EXIT

mkdir -p "$lab/state" "$lab/spool"
head -c 1024 /dev/urandom >"$lab/munge.key"
chmod 700 "$lab" && chmod 600 "$lab/munge.key"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
cat >"$lab/slurm.conf" <<CONF
ClusterName=colltune
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$lab/munge.socket
CredType=cred/munge
StateSaveLocation=$lab/state
SlurmdSpoolDir=$lab/spool
SlurmctldPidFile=$lab/slurmctld.pid
SlurmdPidFile=$lab/slurmd.pid
SlurmctldLogFile=$lab/slurmctld.log
SlurmdLogFile=$lab/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=3
NodeName=localhost NodeHostname=$(hostname) NodeAddr=127.0.0.1 CPUs=8 RealMemory=2000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$lab/slurm.conf
munged --force --key-file "$lab/munge.key" --socket "$lab/munge.socket" --pid-file "$lab/munged.pid" \
  --seed-file "$lab/munged.seed" --log-file "$lab/munged.log"
slurmctld -f "$SLURM_CONF"
slurmd -N localhost -f "$SLURM_CONF"
for _ in $(seq 150); do
  if sinfo -h -o %T 2>/dev/null | grep -q '^idle$'; then ready=1 && break; fi
  sleep 0.2
done
[ "${ready:-}" ] || { echo "slurm_lab.sh: the node does not become idle" >&2; tail -n 20 "$lab"/*.log >&2; exit 1; }
"$@"
