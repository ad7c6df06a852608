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
  const DecisionSet set = read_decisions(options.origin);
  const std::string text = export_json(set).dump(1) +
                           '\n';
  if (options.output.empty())
    out << text;
  else
    write_output(options.output, text, out);
}

}  // namespace colltune
