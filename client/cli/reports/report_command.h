// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace colltune {

/// `colltune report …` as typed.
struct ReportOptions {
  std::string database;
  std::string sweep;  ///< this very sweep; empty: the newest
  bool json = false;
  bool is_wide = false;  ///< tables may take more than 80 columns
};

/// One page on one sweep for who runs the machine: keys, winners, gain over the default, what is
/// undecided, quarantined or unconfirmed, noise, null test, time and what it bought.
void run_report_sweep(const ReportOptions& options, std::ostream& out);

/// What the choices are worth on samples that took no part in making them: default, chosen and best
/// of all measured, by key and as geometric means; by halves of the sweep's rounds, by the other
/// launches in the database, and on held-out sizes.
void run_report_regret(const ReportOptions& options, std::ostream& out);

/// The newest series of launches in several environments, or that of the sweep: per key each
/// environment's winner and its time beside the unchanged environment's, launch by launch, and
/// geometric means.
void run_report_environments(const ReportOptions& options, std::ostream& out);

}  // namespace colltune
