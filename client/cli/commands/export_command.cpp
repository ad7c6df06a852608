// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "export_command.h"

#include <ostream>

#include "colltune/export/export_json.h"
#include "colltune/json/output_file.h"
#include "source/database.h"
#include "source/remote.h"

namespace colltune {
namespace {

DecisionSet read_decisions(const Origin& origin) {
  if (!origin.server.empty()) return fetch_remotely(origin.server, origin.generation);
  return read_published(origin.database, origin.generation);
}

}  // namespace

void run_export_json(const ExportOptions& options, std::ostream& out) {
  check(options.origin);
  DecisionSet set = read_decisions(options.origin);
  const RegimeChoice choice =
      regime_choice(options.regime, {.calling = default_calling, .input = default_input});
  const std::string regimes = regimes_text(set.decisions);
  std::erase_if(set.decisions,
                [&](const Decision& decision) { return !choice.admits(decision.key); });
  if (set.decisions.empty() && !regimes.empty())
    throw Error(StatusCode::not_found,
                "no decision is of the regime that is exported; decided only for " + regimes +
                    ": name it with --calling and --input, or all");
  const std::string text = export_json(set).dump(1) +
                           '\n';
  if (options.output.empty())
    out << text;
  else
    write_output(options.output, text, out);
}

}  // namespace colltune
