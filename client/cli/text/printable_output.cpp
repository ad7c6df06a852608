// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "printable_output.h"

#include "colltune/vocabulary/printable.h"

namespace colltune {

PrintableOutput::PrintableOutput(std::ostream& stream) : stream_(stream), below_(stream.rdbuf()) {
  stream_.rdbuf(this);
}

PrintableOutput::~PrintableOutput() {
  sync();
  stream_.rdbuf(below_);
}

PrintableOutput::int_type PrintableOutput::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize PrintableOutput::xsputn(const char* text, std::streamsize size) {
  held_.append(text, static_cast<std::size_t>(size));
  const auto end = held_.rfind('\n');
  return end == std::string::npos || pass_on(end + 1) ? size : 0;
}

int PrintableOutput::sync() { return pass_on(held_.size()) && below_->pubsync() == 0 ? 0 : -1; }

bool PrintableOutput::pass_on(std::size_t bytes) {
  const std::string text = printable(std::string_view(held_).substr(0, bytes));
  held_.erase(0, bytes);
  const auto size = static_cast<std::streamsize>(text.size());
  return below_->sputn(text.data(), size) == size;
}

}  // namespace colltune
