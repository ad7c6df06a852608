#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Prints what peers.py stored: ratios, their spread, the share of the machine's limits, geometric means.

  tests/bench/peers/report.py tests/bench/peers/results/{two_ranks,registered}.json

Of several results the rows are put together by library, ranks and buffers, and the means are over all of them; where two
have the same row, the later named file's counts.
"""
import argparse
import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import limits  # noqa: E402
from launches import COLLECTIVES  # noqa: E402


def row_text(run, row):
    text = (f"{name_of(run)} {row['collective']:14} {row['bytes']:>9} B {row['time_us']:>10.2f} us  x best "
            f"{row['ratio_to_best']:5.2f} ({row['ratio_to_best_low']:.2f} to {row['ratio_to_best_high']:.2f})  x default "
            f"{row['ratio_to_default']:5.2f}  {share_text(row):20}")
    if "ratio_across_launches" in row:
        text += f"  x best across {row['ratio_across_launches']:5.2f}"
    return f"{text}  {row['ours']}  against {row['best_of_library']}"


def name_of(run):
    return f"{run['library']} {run['ranks']} ranks {run['buffers']:10}"


def share_text(row):
    if row.get("share_of_limit") is None:
        return "no limit"
    return f"{100 * row['share_of_limit']:3.0f} % of {'a hand-over' if row['limit'] == 'hand_over' else 'copying'}"


def summarize(rows):
    """Per collective: geometric means, the worst size by its upper bound, the shares at both ends."""
    summary = {}
    for collective in COLLECTIVES:
        of = sorted((row for row in rows if row["collective"] == collective), key=lambda row: row["bytes"])
        if not of:
            continue
        worst = min(of, key=lambda row: row["ratio_to_best_high"])
        shares = {str(row["bytes"]): row.get("share_of_limit") for row in (of[0], of[-1])}
        summary[collective] = {"sizes": len(of), "ratio_to_best": mean_of(of, "ratio_to_best"),
                               "ratio_to_default": mean_of(of, "ratio_to_default"),
                               "worst_upper_bound": worst["ratio_to_best_high"], "worst_at_bytes": worst["bytes"],
                               "confidence_of_bound": confidence_of(worst), "share_of_limit": shares}
        if across := [row for row in of if "ratio_across_launches" in row]:
            summary[collective]["ratio_across_launches"] = mean_of(across, "ratio_across_launches")
    return summary


def mean_of(rows, field):
    return statistics.geometric_mean(row[field] for row in rows)


def confidence_of(row):
    """A row that does not tell has the outermost of its launches."""
    return row.get("confidence_of_bound", 1 - 0.5**row["launches"])


def summary_lines(run):
    lines = []
    for collective, line in run["summary"].items():
        text = (f"{name_of(run)} {collective:14} x best {line['ratio_to_best']:.2f}, x default "
                f"{line['ratio_to_default']:.2f} over {line['sizes']} sizes; worst upper bound "
                f"({100 * line['confidence_of_bound']:.1f} %) {line['worst_upper_bound']:.2f} at "
                f"{line['worst_at_bytes']} B; of the limit")
        shares = [f" {100 * share:.0f} % at {size} B" for size, share in line["share_of_limit"].items() if share]
        text += ",".join(shares) or " no share"
        if "ratio_across_launches" in line:
            text += f"; first build x best {line['ratio_across_launches']:.2f}"
        lines.append(text)
    return lines


def runs_of(stored):
    """Those of one result. In the older form, of one library and number of ranks, the limits were measured once, before
    all rows and at a few sizes."""
    result = stored["result"]
    if "runs" in result:
        return result["runs"]
    runs = []
    for buffers in ("plain", "registered"):
        for row in result.get(buffers, {}).get("rows", []):
            cores = min(stored["ranks"], result["limits"]["cores"])
            copied = limits.bytes_per_core(row["collective"], row["bytes"], stored["ranks"], cores)
            limit = limits.limit_of(result["limits"], copied, stored["ranks"], cores)
            row.update(limits.share_of([limit], [row["time_us"] * 1000]))
        if buffers in result:
            library = "mpich" if stored["case"].startswith("mpich") else "open_mpi"
            runs.append({"library": library, "ranks": stored["ranks"], "buffers": buffers,
                         "rows": result[buffers]["rows"]})
    return runs


def put_together(results, most_bytes):
    """One run for each library, ranks and buffers."""
    rows = {}
    for stored in results:
        for run in runs_of(stored):
            of_run = rows.setdefault((run["library"], run["ranks"], run["buffers"]), {})
            of_run.update({(row["collective"], row["bytes"]): row for row in run["rows"] if row["bytes"] <= most_bytes})
    return [{"library": library, "ranks": ranks, "buffers": buffers, "summary": summarize(of_run.values()),
             "rows": [row for _, row in sorted(of_run.items())]} for (library, ranks, buffers), of_run in rows.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--up-to", default="1GiB", metavar="SIZE", help="leave out larger messages, of the means too")
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    arguments = parser.parse_args()
    results = [json.loads(path.read_text()) for path in arguments.results]
    runs = put_together(results, limits.bytes_of(arguments.up_to))
    if arguments.json:
        print(json.dumps(runs, indent=1))
        return
    for path, stored in zip(arguments.results, results):
        print(f"{path.name}: {stored['date']}, {stored['machine']['cpu']}")
        print(f"  {limits.limits_text(stored['result']['limits'])}")
    for run in runs:
        print(*(row_text(run, row) for row in run["rows"]), sep="\n")
    for run in runs:
        print(*summary_lines(run), sep="\n")


if __name__ == "__main__":
    main()
