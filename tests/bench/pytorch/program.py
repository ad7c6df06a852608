#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""An ordinary PyTorch program: the calls that its arguments name (all_reduce:65536), each checked and timed.

Rank 0 prints {"torch": version, "nccl": version, "device": name, "median_us": {call: host time of a call}} as JSON.
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist


def prepared(collective, size, ranks, rank):
    """The call, and what checks its result, which is the same in every call."""
    count = size // 4
    device = torch.device("cuda", torch.cuda.current_device())
    total = ranks * (ranks + 1) / 2
    if collective == "all_reduce":
        source = torch.full((count,), rank + 1.0, device=device)
        result = torch.empty_like(source)

        def call():
            result.copy_(source)
            dist.all_reduce(result)
        return call, lambda: bool((result == total).all())
    if collective == "broadcast":
        result = torch.full((count,), 7.0 if rank == 0 else 0.0, device=device)
        return lambda: dist.broadcast(result, 0), lambda: bool((result == 7.0).all())
    share = count // ranks
    if collective == "all_gather":
        source = torch.full((share,), rank + 1.0, device=device)
        result = torch.empty(share * ranks, device=device)
        expected = torch.arange(1, ranks + 1, device=device).repeat_interleave(share)
        return lambda: dist.all_gather_into_tensor(result, source), lambda: bool((result == expected).all())
    if collective == "reduce_scatter":
        source = torch.full((share * ranks,), rank + 1.0, device=device)
        result = torch.empty(share, device=device)
        return lambda: dist.reduce_scatter_tensor(result, source), lambda: bool((result == total).all())
    sys.exit(f"unknown collective '{collective}'; allowed are all_reduce, broadcast, all_gather, reduce_scatter")


def main():
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl")
    medians = {}
    for named in sys.argv[1:]:
        collective, size = named.split(":")
        call, is_right = prepared(collective, int(size), ranks, rank)
        times = []
        for repetition in range(25):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            call()
            torch.cuda.synchronize()
            if repetition >= 5:
                times.append(time.perf_counter() - begin)
        if not is_right():
            sys.exit(f"WRONG: {named} on rank {rank}")
        medians[named] = round(statistics.median(times) * 1e6, 1)
    if rank == 0:
        print(json.dumps({"torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                          "device": torch.cuda.get_device_name(), "median_us": medians}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
