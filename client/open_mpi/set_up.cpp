// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "set_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "colltune/json/json.h"
#include "colltune/kernels/host_capability.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

void check(int code, const char* call) {
  if (code != MPI_SUCCESS)
    throw Error(StatusCode::internal, fmt::format("{} failed while colltune was set up", call));
}

/// What a rank is to itself, as text that is equal for ranks that are alike.
std::string text_of(const Capability& capability) {
  std::string text = capability.architecture;
  for (const auto& [name, value] : capability.features) text += fmt::format("\n{}={}", name, value);
  return text;
}

/// Collective: whether all ranks have the same `text`.
bool is_equal_on_all(MPI_Comm comm, int ranks, const std::string& text) {
  const std::string own = digest_of_text(text);
  std::vector<char> all(own.size() * static_cast<std::size_t>(ranks));
  const int size = static_cast<int>(own.size());
  check(PMPI_Allgather(own.data(), size, MPI_CHAR, all.data(), size, MPI_CHAR, comm),
        "MPI_Allgather");
  for (std::size_t at = 0; at < all.size(); at += own.size())
    if (std::string_view(all.data() + at, own.size()) != own) return false;
  return true;
}

/// Collective: rank 0's `text` on all ranks.
std::string share(MPI_Comm comm, std::string text) {
  std::uint64_t bytes = text.size();
  check(PMPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, comm), "MPI_Bcast");
  text.resize(bytes);
  check(PMPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, comm), "MPI_Bcast");
  return text;
}

Choices decide(const ProgramSettings& settings, const ProgramRanks& ranks,
               const Implementations& catalogue) {
  const TableFile table{std::filesystem::path(settings.table)};
  if (!settings.table_digest.empty() && !table.digest().starts_with(settings.table_digest))
    throw Error(StatusCode::failed_precondition,
                fmt::format("{} has the digest {}, not COLLTUNE_TABLE_DIGEST={}", settings.table,
                            table.digest(), settings.table_digest));
  return choose_from(table, ranks, settings.numerics, catalogue);
}

/// Rank 0's choices or error, for all.
struct Decided {
  Choices choices;
  std::string error;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Decided>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("choices", self.choices);
  visit("error", self.error);
}

}  // namespace

SetUp set_up(MPI_Comm comm, AbortFlag& abort_flag, const ProgramSettings& settings,
             const Implementations& catalogue) {
  auto communicator = make_program_communicator(&comm, abort_flag, settings.memory);
  SetUp done{.rank = communicator->rank()};
  const MPI_Comm own = *static_cast<const MPI_Comm*>(communicator->native_mpi());
  const ProgramRanks ranks = ranks_of(*communicator, detect_host_capability(*communicator, never));
  if (!is_equal_on_all(own, communicator->size(), text_of(ranks.capability))) {
    done.lines.push_back(
        "the ranks of a communicator run on unlike processors: the library's own collectives run "
        "there");
    return done;
  }
  Decided decided;
  std::string text;
  if (done.rank == 0) {
    try {
      decided.choices = decide(settings, ranks, catalogue);
    } catch (const std::exception& error) {
      decided.error = error.what();
    }
    text = to_json_value(decided).dump();
  }
  text = share(own, std::move(text));
  decided = from_json_value<Decided>(nlohmann::json::parse(text), "what rank 0 decided");
  if (!decided.error.empty()) {
    done.lines.push_back(decided.error + "; the library's own collectives run");
    return done;
  }
  if (settings.reports)
    for (const std::string& line : decided.choices.left_out)
      done.lines.push_back("not used: " + line);
  if (decided.choices.rows.empty()) {
    if (!settings.reports)
      for (const std::string& line : decided.choices.left_out)
        done.lines.push_back("not used: " + line);
    return done;
  }
  done.executor =
      std::make_unique<Executor>(std::move(communicator), catalogue, std::move(decided.choices));
  return done;
}

}  // namespace colltune
