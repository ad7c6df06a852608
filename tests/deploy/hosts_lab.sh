#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# hosts_lab.sh HOSTS COMMAND …
#
# So many hosts on this machine, for as long as COMMAND runs on the first of them (lab0): each has a network and a name of
# its own, and TCP is all that connects them. There `mpirun -n 4` starts its ranks on all hosts, SLOTS (2) on each, as a
# launch over real ones. Leaves nothing behind. Needs root and network namespaces; where they are missing it says so and
# ends with 77. Processors, memory and file systems are this machine's.
set -euo pipefail
[ $# -gt 1 ] || { echo "usage: hosts_lab.sh HOSTS COMMAND …" >&2; exit 2; }
skip() { echo "hosts_lab.sh: skipped: $1" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "it needs root"
for program in ip unshare nsenter pgrep; do
  command -v "$program" >/dev/null || skip "$program is missing (apt-get install iproute2 util-linux procps)"
done
unshare --net --uts --mount true 2>/dev/null || skip "this machine gives no network namespaces"

hosts=$1
shift
lab=$(mktemp -d /tmp/colltune-hosts-XXXXXX)
holders=()
end() {
  # A host ends with its last process. One that is not up yet has this machine's network, and all of its processes.
  for holder in ${holders[@]+"${holders[@]}"}; do
    if [ "$(readlink "/proc/$holder/ns/net")" = "$(readlink /proc/self/ns/net)" ]; then kill -9 "$holder"; continue; fi
    for pid in $(pgrep --ns "$holder" --nslist net || true); do kill -9 "$pid" 2>/dev/null || true; done
    wait "$holder" 2>/dev/null || true
  done
  rm -rf "$lab"
}
trap end EXIT

address() { echo "10.77.0.$(($1 + 1))"; }
printf '127.0.0.1 localhost\n' >"$lab/hosts"
for ((host = 0; host < hosts; ++host)); do
  printf '%s lab%d\n' "$(address $host)" $host >>"$lab/hosts"
  printf 'lab%d slots=%d\n' $host "${SLOTS:-2}" >>"$lab/hostfile"
done
on() {  # HOST COMMAND …
  local holder=${holders[$1]}
  shift
  nsenter --target "$holder" --net --uts --mount --wd="$PWD" "$@"
}
for ((host = 0; host < hosts; ++host)); do
  mkfifo "$lab/ready"
  # shellcheck disable=SC2016
  unshare --net --uts --mount sh -c 'hostname "$2" && mount --bind "$1/hosts" /etc/hosts && ip link set lo up &&
    echo ready >"$1/ready" && exec sleep infinity' sh "$lab" "lab$host" &
  holders+=($!)
  # Opens for writing too, so that a host that does not come up is noticed.
  if ! timeout 10 grep -q ready "$lab/ready"; then echo "hosts_lab.sh: lab$host does not come up" >&2; exit 1; fi
  rm "$lab/ready"
  echo "${holders[host]}" >"$lab/lab$host"
done
# The first host has the switch; the interface has one name everywhere.
on 0 ip link add eth0 type bridge
for ((host = 1; host < hosts; ++host)); do
  on 0 ip link add "port$host" type veth peer name eth0 netns "${holders[host]}"
  on 0 ip link set "port$host" master eth0 up
done
for ((host = 0; host < hosts; ++host)); do
  on $host ip address add "$(address $host)/24" dev eth0
  on $host ip link set eth0 up
done

# What mpirun uses in the place of ssh: AGENT HOST COMMAND.
cat >"$lab/agent" <<AGENT
#!/bin/sh
holder=\$(cat "$lab/\$1") && shift && exec nsenter --target "\$holder" --net --uts --mount sh -c "\$*"
AGENT
chmod +x "$lab/agent"
export OMPI_MCA_plm_rsh_agent="$lab/agent" OMPI_MCA_orte_default_hostfile="$lab/hostfile"
export OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_btl_tcp_if_include=eth0
# Each host takes all processors for its own, so that MPI would see no reason to.
export OMPI_MCA_mpi_yield_when_idle=1
code=0
on 0 "$@" || code=$?
exit $code
