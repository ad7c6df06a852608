// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace colltune {

struct PredictOptions {
  std::string file;    ///< as configs/predict.schema.json describes
  std::string model;   ///< of entries that name none; empty: the file's
  std::string server;  ///< address of a colltuned that answers; empty: this program
  bool json = false;
  bool is_wide = false;
};

/// Prints what the models say of the collectives in a file, as a table or as one JSON object.
/// Throws Error that names the file and the path in it for what the models refuse, and the client's
/// Error where `server` does not answer.
void run_predict(const PredictOptions& options, std::ostream& out);

/// Adds `predict` to the program; it may get subcommands of its own.
CLI::App& add_predict(CLI::App& program, PredictOptions& options, const std::string& footer);

}  // namespace colltune
