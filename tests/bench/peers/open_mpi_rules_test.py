#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What open_mpi_rules.py makes of planted times and rankings."""
import sys

sys.dont_write_bytecode = True
import open_mpi_rules as bench  # noqa: E402


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def times_of(**arms):
    """Of one cell, in five launches that differ by a percent."""
    return {arm: [time * (1 + launch / 100) for launch in range(5)] for arm, time in arms.items()}


def check_bars():
    good = {("all_reduce", 96): times_of(default=110, rules=100, best=97), ("broadcast", 96): times_of(default=99, rules=100, best=99)}
    rows, means, faults = bench.judge(good, 4)
    check(not faults and means["aim"] == 1.05, f"all bars are reached: {faults}")
    check(abs(means["default"] - (1.1 * 0.99) ** 0.5) < 1e-9, f"the geometric mean: {means}")
    check(abs(rows[0]["best"]["ratio"] - 0.97) < 1e-9, f"the best forced one's time over the rules': {rows[0]}")
    check(bench.judge(good, 2)[1]["aim"] is None, "the aim is for 4 ranks")
    slow = {**good, ("gather", 96): times_of(default=96, rules=100, best=96)}
    check(any("gather 96 B" in fault for fault in bench.judge(slow, 4)[2]), "one slow cell is a fault")
    far = {("gather", 96): times_of(default=101, rules=100, best=94)}
    check(bench.judge(far, 4)[2] == ["geometric mean against the best: 0.940, below 0.95"], "too far from the best")
    behind = {("gather", 96): times_of(default=98, rules=100, best=97)}
    check(bench.judge(behind, 4)[2] == ["geometric mean against the default: 0.980, below 1.00"], "behind the default")
    noisy = {("gather", 96): {"default": [80, 100, 80, 80, 80], "rules": [100] * 5, "best": [100] * 5}}
    check(not any("gather" in fault for fault in bench.judge(noisy, 4)[2]), "its upper bound is not below the bar")


def check_launches():
    ring, tree = {"ring": "1", "on": "1"}, {"tree": "1", "on": "1"}
    groups = bench.launches_of({("all_reduce", 8): ring, ("all_reduce", 16): tree, ("all_reduce", 32): ring, ("reduce", 8): {}})
    check(groups == [({"ring": "1", "on": "1"}, [("all_reduce", 8), ("all_reduce", 32), ("reduce", 8)]),
                     ({"tree": "1", "on": "1"}, [("all_reduce", 16)])], f"as few launches as settings of a collective: {groups}")
    orders = [bench.order_of(launch) for launch in range(6)]
    check(all(sorted(order) == sorted(bench.ARMS) for order in orders), "each launch has every arm once")
    check(all([order[place] for order in orders].count(arm) == 2 for place in range(3) for arm in bench.ARMS),
          f"each arm has each place alike: {orders}")


def check_rankings():
    check(bench.between([64, 256, 1024], 2) == [128, 512], "the middle of neighbours")
    check(bench.between([64, 72], 4) == [], "nothing lies between")
    head = "family,calling,ranks,registered,collective,message_size_bytes,median_ns,variant,is_baseline,apply_by,apply_variables\n"
    cells = bench.ranked_by_cell(
        head + "mpi,each,2,false,reduce,64,300,mpi.reduce,true,nothing,\n"
        "mpi,each,2,false,reduce,64,200,mpi.reduce_tuned{algorithm=chain},false,environment,A=1 B=2\n"
        "mpi,each,2,false,reduce,64,100,mpi.reduce_other,false,program,\n"
        "mpi,each,4,false,reduce,64,50,of_others,false,environment,A=1\nany,each,2,false,reduce,64,50,x,false,environment,A=1\n"
        "mpi,persistent,2,false,reduce,64,50,x,false,environment,A=1\n", 2)
    check(list(cells) == [("reduce", 64)] and len(cells["reduce", 64]) == 3, f"ordinary calls of 2 ranks: {cells}")
    check(bench.best_settings(cells["reduce", 64]) == ("mpi.reduce_tuned{algorithm=chain}", {"A": "1", "B": "2"}),
          "the fastest that variables force")
    check(bench.best_settings(cells["reduce", 64][2:]) == ("mpi.reduce", {}), "the default forces nothing")
    check(bench.best_settings(cells["reduce", 64][:1]) is None, "what no variable forces")


def main():
    check_bars()
    check_launches()
    check_rankings()


if __name__ == "__main__":
    main()
