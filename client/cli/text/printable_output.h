// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace colltune {

/// While it lives, passes everything written to `stream` through printable(), because the printed
/// text comes from files, plug-ins and peers.
class PrintableOutput final : public std::streambuf {
 public:
  explicit PrintableOutput(std::ostream& stream);
  ~PrintableOutput() override;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  /// Passes on the held text: whole lines, or all of it.
  bool pass_on(std::size_t bytes);

  std::ostream& stream_;
  std::streambuf* const below_;
  std::string held_;  ///< a character may arrive in pieces
};

}  // namespace colltune
