// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_control_plane.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/printable.h"

namespace colltune {
namespace {

// Steps are taken in order, so a message can only be confused with one many steps older. A short
// cycle of tags distinguishes them, far below the 32767 that MPI guarantees.
constexpr int last_tag = 1023;

void check(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  PMPI_Error_string(code, text, &length);
  throw Error(StatusCode::internal, "control plane: " + std::string(what) + ": " +
                                        std::string(text, static_cast<std::size_t>(length)));
}

void write_and_abort(const std::string& message, int /*missing_rank*/) {
  std::fprintf(stderr, "colltune-agent: %s\n", printable(message).c_str());
  std::fflush(stderr);
  PMPI_Abort(MPI_COMM_WORLD, exit_code_of(StatusCode::deadline_exceeded));
  std::_Exit(exit_code_of(StatusCode::deadline_exceeded));
}

void put(Payload& out, std::uint64_t value) {
  for (unsigned byte = 0; byte < 8; ++byte)
    out.push_back(static_cast<std::uint8_t>(value >> (8 * byte)));
}

std::uint64_t take(std::span<const std::uint8_t>& in) {
  std::uint64_t value = 0;
  for (unsigned byte = 0; byte < 8; ++byte) value |= std::uint64_t{in[byte]} << (8 * byte);
  in = in.subspan(8);
  return value;
}

}  // namespace

MpiControlPlane::MpiControlPlane(MPI_Comm world, std::chrono::milliseconds time_out,
                                 OnMissing on_missing)
    : time_out_(time_out), on_missing_(on_missing ? std::move(on_missing) : write_and_abort) {
  check(PMPI_Comm_dup(world, &comm_), "duplicate the communicator");
  check(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "set the error handler");
  check(PMPI_Comm_rank(comm_, &rank_), "rank");
  check(PMPI_Comm_size(comm_, &size_), "size");
  tree_ = place_in_tree(rank_, size_);
}

MpiControlPlane::~MpiControlPlane() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized == 0) PMPI_Comm_free(&comm_);
}

void MpiControlPlane::next_step() { tag_ = tag_ == last_tag ? 0 : tag_ + 1; }

void MpiControlPlane::wait(const std::function<bool()>& is_done, int peer, int levels,
                           std::string_view step) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto limit = begin + time_out_ + time_out_ * levels / 10;
  while (!is_done()) {
    const auto now = Clock::now();
    if (now >= limit) {
      const auto waited =
          std::chrono::duration_cast<std::chrono::milliseconds>(now - begin).count();
      on_missing_("rank " + std::to_string(rank_) + " waited " + std::to_string(waited) +
                      " ms for rank " + std::to_string(peer) + " in control step '" +
                      std::string(step) + "'; rank " + std::to_string(peer) +
                      " is missing (stopped, hung, or its host is unreachable)",
                  peer);
      throw Error(StatusCode::deadline_exceeded, "rank " + std::to_string(peer) + " is missing");
    }
    // A short wait ends within microseconds; a long one must leave the core to the rank that still
    // works.
    if (now - begin < std::chrono::microseconds(200)) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(now - begin < std::chrono::milliseconds(20)
                                      ? std::chrono::microseconds(50)
                                      : std::chrono::microseconds(500));
    }
  }
}

void MpiControlPlane::send(int peer, const void* data, std::size_t bytes, int levels,
                           std::string_view step) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag_, comm_, &request), step);
  wait(
      [&] {
        int done = 0;
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), step);
        return done != 0;
      },
      peer, levels, step);
}

Payload MpiControlPlane::receive(int peer, int levels, std::string_view step) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  wait(
      [&] {
        int found = 0;
        check(PMPI_Improbe(peer, tag_, comm_, &found, &message, &status), step);
        return found != 0;
      },
      peer, levels, step);
  int bytes = 0;
  check(PMPI_Get_count(&status, MPI_BYTE, &bytes), step);
  Payload payload(static_cast<std::size_t>(bytes));
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Imrecv(payload.data(), bytes, MPI_BYTE, &message, &request), step);
  wait(
      [&] {
        int done = 0;
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), step);
        return done != 0;
      },
      peer, levels, step);
  return payload;
}

void MpiControlPlane::barrier() { all_reduce({}, nullptr, "barrier"); }

Payload MpiControlPlane::broadcast(Payload payload) {
  next_step();
  // Down the tree a rank waits longer than any rank waits up the tree, so that the rank that misses
  // a child reports first.
  if (tree_.parent >= 0) payload = receive(tree_.parent, 10 + tree_.depth, "broadcast");
  for (auto child = tree_.children.rbegin(); child != tree_.children.rend(); ++child)
    send(*child, payload.data(), payload.size(), 10 + tree_.depth, "broadcast");
  return payload;
}

Payload MpiControlPlane::merge(Payload payload, const Join& join) {
  next_step();
  for (const int child : tree_.children)
    payload = join(payload, receive(child, tree_.height, "merge"));
  if (tree_.parent >= 0)
    send(tree_.parent, payload.data(), payload.size(), 10 + tree_.depth, "merge");
  return broadcast(std::move(payload));
}

std::vector<Payload> MpiControlPlane::gather(const Payload& payload) {
  next_step();
  // A subtree travels as (rank, size, bytes) records.
  Payload subtree;
  put(subtree, static_cast<std::uint64_t>(rank_));
  put(subtree, payload.size());
  subtree.insert(subtree.end(), payload.begin(), payload.end());
  for (const int child : tree_.children) {
    const Payload part = receive(child, tree_.height, "gather");
    subtree.insert(subtree.end(), part.begin(), part.end());
  }
  if (tree_.parent >= 0) {
    send(tree_.parent, subtree.data(), subtree.size(), 10 + tree_.depth, "gather");
    return {};
  }
  std::vector<Payload> all(static_cast<std::size_t>(size_));
  for (std::span<const std::uint8_t> rest(subtree); !rest.empty();) {
    const std::uint64_t rank = take(rest);
    const std::uint64_t bytes = take(rest);
    all.at(rank).assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(bytes));
    rest = rest.subspan(bytes);
  }
  return all;
}

void MpiControlPlane::all_reduce(std::span<std::int64_t> values, Combine combine,
                                 std::string_view step) {
  next_step();
  std::vector<std::int64_t> from(values.size());
  const auto take_in = [&](const Payload& payload) {
    if (payload.size() != values.size_bytes())
      throw Error(StatusCode::internal,
                  "control step '" + std::string(step) + "': ranks passed unlike lengths");
    if (!payload.empty()) std::memcpy(from.data(), payload.data(), payload.size());
  };
  for (const int child : tree_.children) {
    take_in(receive(child, tree_.height, step));
    if (combine != nullptr) combine(values, from);
  }
  if (tree_.parent >= 0) {
    send(tree_.parent, values.data(), values.size_bytes(), 10 + tree_.depth, step);
    take_in(receive(tree_.parent, 10 + tree_.depth, step));
    std::ranges::copy(from, values.begin());
  }
  for (auto child = tree_.children.rbegin(); child != tree_.children.rend(); ++child)
    send(*child, values.data(), values.size_bytes(), 10 + tree_.depth, step);
}

void MpiControlPlane::all_reduce_max(std::span<std::int64_t> values) {
  all_reduce(
      values,
      [](std::span<std::int64_t> into, std::span<const std::int64_t> from) {
        for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
      },
      "maximum over ranks");
}

void MpiControlPlane::all_reduce_sum(std::span<std::int64_t> values) {
  all_reduce(
      values,
      [](std::span<std::int64_t> into, std::span<const std::int64_t> from) {
        for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
      },
      "sum over ranks");
}

}  // namespace colltune
