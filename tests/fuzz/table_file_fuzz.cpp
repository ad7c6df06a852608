// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The table file: what whoever can write one may put into it. The digests are made sound, so that
// the checks behind them are reached.

#include <cstdlib>
#include <cstring>
#include <span>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table_file/table_file.h"
#include "colltune/vocabulary/error.h"
#include "fuzz_target.h"
#include "proto/table_file/random_decisions.h"

namespace colltune::fuzz {
namespace {

using namespace table_file;

void sign(std::string& bytes) {
  if (bytes.size() < sizeof(Header)) return;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.file_bytes = bytes.size();
  const auto sections = sections_of(header);
  if (!sections || sections->end != bytes.size()) return;
  const auto all = std::as_bytes(std::span(bytes));
  header.evidence_digest = digest_of(all.subspan(sections->evidence));
  std::memcpy(bytes.data(), &header, sizeof header);
  header.digest = digest_of_table(all.first(sections->evidence));
  std::memcpy(bytes.data(), &header, sizeof header);
}

void read(const std::string& bytes) {
  try {
    const TableFile file(bytes, "fuzz");
    for (TableView::Group group = 0; group < file.view().groups().size(); ++group)
      for (std::uint64_t size = 1; size != 0; size *= 16)
        if (const auto answer = file.view().find(group, {size})) {
          (void)answer->time();
          (void)answer->baseline_time();
          if (const auto interval = answer->interval())
            if (file.view().string(interval->model).size() > bytes.size()) std::abort();
          if (file.view().variant(answer->variant).text.size() > bytes.size()) std::abort();
        }
    (void)file.read_decisions();
  } catch (const Error&) {  // what is expected of bad input
  }
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const unsigned seed : {1U, 2U, 3U}) {
    DecisionSet set = testing::RandomDecisions(seed).make(static_cast<int>(3 * seed));
    texts.push_back(encode_table(testing::content_of(set)));
    set.fits = fits_of(set.decisions);
    texts.push_back(encode_table(testing::content_of(set)));
  }
  return texts;
}

void run(std::string_view input) {
  std::string bytes(input);
  read(bytes);
  sign(bytes);
  read(bytes);
}

}  // namespace colltune::fuzz
