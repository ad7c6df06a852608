// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The C interface: converts arguments, calls the classes, and catches all exceptions.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "c_handles.h"
#include "colltune/c_guard.h"
#include "colltune/vocabulary/names.h"

struct colltune_rank_threads {
  colltune::RankThreads of;
};
struct colltune_persistent_call {
  colltune::PersistentCall of;
};
struct colltune_symmetric_buffer {
  colltune::SymmetricBuffer of;
};

namespace colltune {
namespace {

/// The caller's structure in the current form: what an older caller's lacks is cleared. Refuses one
/// that is larger than ours and sets what we do not know.
template <class Structure>
Structure current_form(const Structure* given, std::size_t smallest, const char* name) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < smallest)
    throw Error(StatusCode::invalid_argument, std::string(name) + ".struct_size is " +
                                                  std::to_string(size) + "; set it to sizeof(" +
                                                  name + ")");
  Structure own{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  std::memcpy(static_cast<void*>(&own), bytes, std::min(size, sizeof own));
  if (size > sizeof own &&
      std::any_of(bytes + sizeof own, bytes + size, [](unsigned char byte) { return byte != 0; }))
    throw Error(StatusCode::invalid_argument,
                std::string("the ") + name +
                    " uses a field that this libcolltune_collectives does not know; update it");
  return own;
}

template <class Handle>
Handle& require(Handle* handle, const char* what) {
  if (handle == nullptr)
    throw Error(StatusCode::invalid_argument, std::string("the ") + what + " is NULL");
  return *handle;
}

// The numbers of the C enumerators are the vocabulary's; what is none of them is refused later.
DataType type_of(colltune_type type) { return static_cast<DataType>(type); }
ReduceOp op_of(colltune_op op) { return static_cast<ReduceOp>(op); }

CollectiveCall call_of(const colltune_collective_call& call) {
  return {.collective = static_cast<Collective>(call.collective),
          .data_type = type_of(call.type),
          .reduce_op = op_of(call.op),
          .root = call.root,
          .count = call.count,
          .send = call.send,
          .receive = call.receive,
          .counts = call.counts == nullptr && call.ranks == 0
                        ? std::optional<std::span<const std::size_t>>()
                        : std::span(call.counts, call.ranks)};
}

/// The call of `given`, whose mesh is read once for each pair of texts. Belongs to `collectives`.
const MeshReductionCall& mesh_call_of(colltune_collectives& collectives,
                                      const colltune_mesh_call* given) {
  const auto own = current_form(&require(given, "call"), sizeof *given, "colltune_mesh_call");
  const char* const shape = &require(own.shape, "shape");
  const char* const steps = &require(own.steps, "steps");
  auto& known = collectives.meshes;
  auto found = std::ranges::find_if(
      known, [&](const auto& one) { return one.shape == shape && one.steps == steps; });
  if (found == known.end()) {
    constexpr std::size_t most = 32;
    MeshReductionCall call;
    call.mesh = parse_mesh(shape, steps);
    if (known.size() == most) known.pop_back();
    known.push_back({.shape = shape, .steps = steps, .call = std::move(call)});
    found = known.end() - 1;
  }
  std::rotate(known.begin(), found, found + 1);
  MeshReductionCall& call = known.front().call;
  call.data_type = type_of(own.type);
  call.count = own.count;
  call.send = own.send;
  call.receive = own.receive;
  return call;
}

int run(colltune_collectives* collectives, const CollectiveCall& call,
        colltune_error* error) noexcept {
  return guard_for_c(error, [&] { require(collectives, "collectives").of.run(call); });
}

}  // namespace

CollectivesOptions options_of(const colltune_collectives_options* options) {
  CollectivesOptions read;
  if (options == nullptr) return read;
  const auto own = current_form(options, sizeof *options, "colltune_collectives_options");
  if (own.table != nullptr) read.table = own.table;
  if (own.table_digest != nullptr) read.table_digest = own.table_digest;
  if (own.memory_bytes != 0) read.memory = Bytes{own.memory_bytes};
  if (own.numerics != nullptr) read.numerics = parse_name<ProgramNumerics>(own.numerics);
  return read;
}

}  // namespace colltune

using colltune::clear_place;
using colltune::guard_for_c;
using colltune::require;

extern "C" {

int colltune_rank_threads_create(int ranks, const colltune_collectives_options* options,
                                 colltune_rank_threads** threads, colltune_error* error) {
  return guard_for_c(error, [&] {
    clear_place(threads, "threads");
    *threads =
        new colltune_rank_threads{colltune::RankThreads(ranks, colltune::options_of(options))};
  });
}

void colltune_rank_threads_abandon(colltune_rank_threads* threads) {
  if (threads != nullptr) threads->of.abandon();
}

void colltune_rank_threads_free(colltune_rank_threads* threads) { delete threads; }

int colltune_collectives_of_threads(colltune_rank_threads* threads, int rank,
                                    colltune_collectives** collectives, colltune_error* error) {
  return guard_for_c(error, [&] {
    clear_place(collectives, "collectives");
    *collectives =
        new colltune_collectives{colltune::Collectives(require(threads, "threads").of, rank)};
  });
}

void colltune_collectives_free(colltune_collectives* collectives) { delete collectives; }

int colltune_collectives_rank(const colltune_collectives* collectives) {
  return collectives == nullptr ? -1 : collectives->of.rank();
}

int colltune_collectives_size(const colltune_collectives* collectives) {
  return collectives == nullptr ? -1 : collectives->of.size();
}

const char* colltune_collectives_report(colltune_collectives* collectives) {
  if (collectives == nullptr) return nullptr;
  const int code = guard_for_c(nullptr, [&] { collectives->report = collectives->of.report(); });
  return code == 0 ? collectives->report.c_str() : nullptr;
}

int colltune_all_reduce(colltune_collectives* collectives, const void* send, void* receive,
                        size_t count, colltune_type type, colltune_op op, colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::all_reduce, colltune::type_of(type),
                        colltune::op_of(op), 0, count, send, receive},
                       error);
}

int colltune_all_gather(colltune_collectives* collectives, const void* send, void* receive,
                        size_t count, colltune_type type, colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::all_gather, colltune::type_of(type),
                        colltune::ReduceOp::none, 0, count, send, receive},
                       error);
}

int colltune_reduce_scatter(colltune_collectives* collectives, const void* send, void* receive,
                            size_t count, colltune_type type, colltune_op op,
                            colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::reduce_scatter, colltune::type_of(type),
                        colltune::op_of(op), 0, count, send, receive},
                       error);
}

int colltune_all_gather_v(colltune_collectives* collectives, const void* send, void* receive,
                          const size_t* counts, size_t ranks, colltune_type type,
                          colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::all_gather, colltune::type_of(type),
                        colltune::ReduceOp::none, 0, 0, send, receive, std::span(counts, ranks)},
                       error);
}

int colltune_reduce_scatter_v(colltune_collectives* collectives, const void* send, void* receive,
                              const size_t* counts, size_t ranks, colltune_type type,
                              colltune_op op, colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::reduce_scatter, colltune::type_of(type),
                        colltune::op_of(op), 0, 0, send, receive, std::span(counts, ranks)},
                       error);
}

int colltune_broadcast(colltune_collectives* collectives, void* buffer, size_t count,
                       colltune_type type, int root, colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::broadcast, colltune::type_of(type),
                        colltune::ReduceOp::none, root, count, nullptr, buffer},
                       error);
}

int colltune_reduce(colltune_collectives* collectives, const void* send, void* receive,
                    size_t count, colltune_type type, colltune_op op, int root,
                    colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::reduce, colltune::type_of(type), colltune::op_of(op),
                        root, count, send, receive},
                       error);
}

int colltune_all_to_all(colltune_collectives* collectives, const void* send, void* receive,
                        size_t count, colltune_type type, colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::all_to_all, colltune::type_of(type),
                        colltune::ReduceOp::none, 0, count, send, receive},
                       error);
}

int colltune_gather(colltune_collectives* collectives, const void* send, void* receive,
                    size_t count, colltune_type type, int root, colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::gather, colltune::type_of(type),
                        colltune::ReduceOp::none, root, count, send, receive},
                       error);
}

int colltune_scatter(colltune_collectives* collectives, const void* send, void* receive,
                     size_t count, colltune_type type, int root, colltune_error* error) {
  return colltune::run(collectives,
                       {colltune::Collective::scatter, colltune::type_of(type),
                        colltune::ReduceOp::none, root, count, send, receive},
                       error);
}

int colltune_persistent_init(colltune_collectives* collectives,
                             const colltune_collective_call* call,
                             colltune_persistent_call** persistent, colltune_error* error) {
  return guard_for_c(error, [&] {
    clear_place(persistent, "persistent call");
    colltune::Collectives& of = require(collectives, "collectives").of;
    // As it was before it had counts.
    constexpr std::size_t smallest = offsetof(colltune_collective_call, counts);
    const auto own =
        colltune::current_form(&require(call, "call"), smallest, "colltune_collective_call");
    *persistent = new colltune_persistent_call{of.prepare(colltune::call_of(own))};
  });
}

int colltune_mesh_reduce(colltune_collectives* collectives, const colltune_mesh_call* call,
                         colltune_error* error) {
  return guard_for_c(error, [&] {
    colltune_collectives& of = require(collectives, "collectives");
    of.of.mesh_reduce(colltune::mesh_call_of(of, call));
  });
}

int colltune_persistent_init_mesh(colltune_collectives* collectives, const colltune_mesh_call* call,
                                  colltune_persistent_call** persistent, colltune_error* error) {
  return guard_for_c(error, [&] {
    clear_place(persistent, "persistent call");
    colltune_collectives& of = require(collectives, "collectives");
    *persistent = new colltune_persistent_call{of.of.prepare(colltune::mesh_call_of(of, call))};
  });
}

int colltune_persistent_start(colltune_persistent_call* persistent, colltune_error* error) {
  return guard_for_c(error, [&] { require(persistent, "persistent call").of.start(); });
}

int colltune_persistent_wait(colltune_persistent_call* persistent, colltune_error* error) {
  return guard_for_c(error, [&] { require(persistent, "persistent call").of.wait(); });
}

const char* colltune_persistent_variant(const colltune_persistent_call* persistent) {
  return persistent == nullptr ? nullptr : persistent->of.variant().c_str();
}

void colltune_persistent_free(colltune_persistent_call* persistent) { delete persistent; }

int colltune_symmetric_allocate(colltune_collectives* collectives, size_t bytes,
                                colltune_symmetric_buffer** buffer, colltune_error* error) {
  return guard_for_c(error, [&] {
    clear_place(buffer, "buffer");
    *buffer = new colltune_symmetric_buffer{
        require(collectives, "collectives").of.allocate(colltune::Bytes{bytes})};
  });
}

void* colltune_symmetric_part(const colltune_symmetric_buffer* buffer, int rank) {
  void* found = nullptr;
  guard_for_c(nullptr, [&] {
    const auto part = require(buffer, "buffer").of.part(rank);
    found = part.empty() ? nullptr : part.data();
  });
  return found;
}

void colltune_symmetric_free(colltune_symmetric_buffer* buffer) { delete buffer; }

}  // extern "C"
