// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace colltune {

/// `colltune report …` as typed.
struct ReportOptions {
  std::string database;
  std::string sweep;  ///< exactly this sweep; empty: the newest
  bool json = false;
  bool is_wide = false;  ///< tables may take more than 80 columns
};

/// One page about a sweep for the machine's operator: keys, winners, gain over the baseline, what
/// is undecided, quarantined or unconfirmed, noise, null test, and time with what it yielded.
void run_report_sweep(const ReportOptions& options, std::ostream& out);

/// What the choices are worth on samples that took no part in making them: baseline, chosen and
/// best of all measured variants, by key and as geometric means. Judged by halves of the sweep's
/// rounds, by the other launches in the database, and on held-out sizes.
void run_report_regret(const ReportOptions& options, std::ostream& out);

/// The newest series of launches in several environments, or the series of the given sweep. For
/// each key it shows each environment's winner and its time next to that of the unchanged
/// environment, launch by launch, and geometric means.
void run_report_environments(const ReportOptions& options, std::ostream& out);

}  // namespace colltune
