// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace colltune {

/// Puts everything that `stream` is given through printable() for as long as it lives: what the
/// program prints comes from files, plug-ins and peers.
class PrintableOutput final : public std::streambuf {
 public:
  explicit PrintableOutput(std::ostream& stream);
  ~PrintableOutput() override;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  /// Passes on what is held: whole lines, or all of it.
  bool pass_on(std::size_t bytes);

  std::ostream& stream_;
  std::streambuf* const below_;
  std::string held_;  ///< a character may come in pieces
};

}  // namespace colltune
