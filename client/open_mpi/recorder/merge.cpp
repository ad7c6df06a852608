// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "merge.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <set>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

void check_call(int rc, const char* what) {
  if (rc != MPI_SUCCESS)
    throw Error(StatusCode::internal, std::string("MPI ") + what + " failed at the end");
}

/// A duplicate of MPI_COMM_WORLD whose errors are returned, as long as it lives: no receive of the
/// program can take what is sent here.
class OwnWorld {
 public:
  OwnWorld() {
    check_call(PMPI_Comm_dup(MPI_COMM_WORLD, &comm_), "Comm_dup");
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~OwnWorld() { PMPI_Comm_free(&comm_); }
  OwnWorld(const OwnWorld&) = delete;
  OwnWorld& operator=(const OwnWorld&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const {
    int rank = 0;
    PMPI_Comm_rank(comm_, &rank);
    return rank;
  }
  [[nodiscard]] int size() const {
    int size = 0;
    PMPI_Comm_size(comm_, &size);
    return size;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// The node of each rank, named by its first rank.
std::vector<int> nodes_of(const OwnWorld& world) {
  MPI_Comm node = MPI_COMM_NULL;
  check_call(
      PMPI_Comm_split_type(world.comm(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &node),
      "Comm_split_type");
  int first = world.rank();
  const int bcast = PMPI_Bcast(&first, 1, MPI_INT, 0, node);
  PMPI_Comm_free(&node);
  check_call(bcast, "Bcast");
  std::vector<int> nodes(static_cast<std::size_t>(world.size()));
  check_call(PMPI_Allgather(&first, 1, MPI_INT, nodes.data(), 1, MPI_INT, world.comm()),
             "Allgather");
  return nodes;
}

/// What a rank sent; empty if it lacked the memory.
std::string receive_from(int rank, MPI_Comm comm) {
  MPI_Status status;
  check_call(PMPI_Probe(rank, 0, comm, &status), "Probe");
  int bytes = 0;
  PMPI_Get_count(&status, MPI_BYTE, &bytes);
  std::string packed(static_cast<std::size_t>(bytes), '\0');
  check_call(PMPI_Recv(packed.data(), bytes, MPI_BYTE, rank, 0, comm, MPI_STATUS_IGNORE), "Recv");
  return packed;
}

/// Adds what a rank sent to `all`, packed; empty if that is not possible.
std::string added(const std::string& all, const std::string& sent) {
  try {
    if (all.empty() || sent.empty()) return {};
    return pack(merged(unpack_trace(all), unpack_trace(sent)));
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

std::vector<int> members_in_world(MPI_Comm comm) {
  MPI_Group own = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int size = 0;
  PMPI_Comm_size(comm, &size);
  PMPI_Comm_group(comm, &own);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> members(ranks.size(), MPI_UNDEFINED);
  PMPI_Group_translate_ranks(own, size, ranks.data(), world, members.data());
  PMPI_Group_free(&own);
  PMPI_Group_free(&world);
  if (std::ranges::find(members, MPI_UNDEFINED) != members.end()) return {-size};
  return members;
}

std::uint32_t Layouts::number_of(std::vector<int> members, bool is_first) {
  auto found = numbers_.find(members);
  if (found == numbers_.end()) {
    if (members_ + members.size() > most_members)
      members = {members.front() < 0 ? members.front() : -static_cast<int>(members.size())};
    members_ += members.size();
    const auto next = static_cast<std::uint32_t>(communicators_.size());
    const auto [made, is_new] = numbers_.emplace(std::move(members), next);
    if (is_new) communicators_.push_back(0);
    found = made;
  }
  communicators_[found->second] += is_first ? 1 : 0;
  return found->second;
}

std::vector<TracedWorld> Layouts::worlds(const std::vector<int>& node_of) const {
  std::vector<TracedWorld> all(communicators_.size());
  for (const auto& [members, number] : numbers_) {
    TracedWorld& world = all[number];
    world.communicators = communicators_[number];
    if (members.front() < 0) {
      world.ranks = -members.front();
      continue;
    }
    std::map<int, int> ranks_on;
    for (const int rank : members) ++ranks_on[node_of[static_cast<std::size_t>(rank)]];
    world.ranks = static_cast<int>(members.size());
    world.nodes = static_cast<int>(ranks_on.size());
    const int on_first = ranks_on.begin()->second;
    if (std::ranges::all_of(ranks_on, [&](const auto& node) { return node.second == on_first; }))
      world.ranks_per_node = on_first;
  }
  return all;
}

Trace merge_ranks(Trace own, const CallCounts& counts, const Layouts& layouts) {
  const OwnWorld world;
  const std::vector<int> node_of = nodes_of(world);
  own.ranks = world.size();
  own.nodes = static_cast<int>(std::set<int>(node_of.begin(), node_of.end()).size());
  own.worlds = layouts.worlds(node_of);
  own.calls = counts.list();
  own.not_kept = counts.not_kept();
  // Layouts that differ may be worlds that are alike.
  std::string all = added(pack(own), pack({}));
  // A tree: each rank passes on what it and those behind it recorded. One that cannot passes on
  // nothing: the others wait for it.
  for (int step = 1; step < world.size(); step *= 2) {
    if ((world.rank() & step) != 0) {
      check_call(PMPI_Send(all.data(), static_cast<int>(all.size()), MPI_BYTE, world.rank() - step,
                           0, world.comm()),
                 "Send");
      break;
    }
    if (world.rank() + step < world.size())
      all = added(all, receive_from(world.rank() + step, world.comm()));
  }
  if (world.rank() != 0) return own;
  if (all.empty())
    throw Error(StatusCode::resource_exhausted, "a rank lacked the memory to merge its calls");
  return unpack_trace(all);
}

}  // namespace colltune
