// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/capability.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/cost.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/operation.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/topology.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// Memory of a device that a library allocated; freed with this object.
class BufferMemory {
 public:
  virtual ~BufferMemory() = default;
  [[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
};

/// Allocates the buffers of calls that cannot use arbitrary device memory. Thread-safe; outlives
/// the memory that it gave.
class BufferSource {
 public:
  virtual ~BufferSource() = default;
  /// `bytes` of memory on `device`, aligned to pages; the same size on all ranks of a call. Not
  /// collective. Throws Error(resource_exhausted), or what the library reports.
  [[nodiscard]] virtual std::unique_ptr<BufferMemory> allocate(Device& device, Bytes bytes) = 0;
};

/// Yes, or no with a reason for a person.
class [[nodiscard]] Support {
 public:
  static Support yes() { return Support({}); }
  /// `reason` is not empty and continues "unavailable: ".
  static Support no(std::string reason) { return Support(std::move(reason)); }

  explicit operator bool() const noexcept { return reason_.empty(); }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  explicit Support(std::string reason) : reason_(std::move(reason)) {}
  std::string reason_;
};

/// What a variant guarantees about bits: how it accumulates and which numeric class it meets.
struct Numerics {
  Rounding rounding = Rounding::exact;
  NumericClass numeric_class = NumericClass::rank_order;
};

/// What an implementation is, whatever the call.
struct ImplementationFacts {
  /// "cpu.all_reduce_one_shot": letters, digits, '.', '_', '-'; unique in the catalogue.
  std::string name{};
  /// One line: the algorithm, steps and bytes, and the paper or library it follows.
  std::string description{};
  Collective collective = Collective::all_reduce;
  /// The consumer that can execute it: "mpi" (the MPI library by itself), "colltune" (this
  /// project's kernels), …
  std::string family{};
  /// Whether the buffers of its calls lie on the ranks' devices (Communicator::device) or in host
  /// memory.
  bool runs_on_device = false;
  /// Whether this is what the user has without colltune.
  bool is_baseline = false;
  /// Whether ranks with different builds of this project may meet in its calls: a library does
  /// everything that the ranks do together. What this project's own code puts between ranks is
  /// compatible only within one build.
  bool meets_other_builds = false;
  /// Where the buffers of its calls must be allocated; null: anywhere on its device. Outlives the
  /// implementation.
  BufferSource* buffer_source = nullptr;
  /// Whether the blocks of its calls may differ in length (Call::blocks). Otherwise it is never
  /// asked about such problems.
  bool takes_unequal_counts = false;
};

/// What is special about the calls of a variant.
struct CallTraits {
  /// The library lacks this type or operator, and the call is composed from what the library has.
  bool is_emulated = false;
  /// Calls of an operation, after the first one, until its time no longer changes: above 0 if it
  /// learns from its calls.
  int learning_calls = 0;
  /// Why its operations keep the buffers that they were prepared for, so that only a persistent
  /// call can be one of them; empty if Operation::bind gives them others.
  std::string why_not_bound = "it keeps the buffers that it was prepared for";
  /// Why its operations keep the size and the root that they were prepared for; empty if
  /// Operation::rebind gives them others.
  std::string why_not_rebound = "it keeps the size and the root that it was prepared for";
};

/// One algorithm for one collective on one kind of device: one file in `kernels/<device>/`.
/// Immutable and thread-safe. All calls except `detect` and `prepare` are pure functions of their
/// arguments, so any rank can answer for any other. A new one writes the seven functions that are
/// pure; the others have defaults.
class Implementation {
 public:
  explicit Implementation(ImplementationFacts facts) : facts_(std::move(facts)) {}
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  virtual ~Implementation() = default;

  [[nodiscard]] const ImplementationFacts& facts() const { return facts_; }
  [[nodiscard]] const std::string& name() const { return facts_.name; }
  [[nodiscard]] Collective collective() const { return facts_.collective; }
  [[nodiscard]] const std::string& family() const { return facts_.family; }
  [[nodiscard]] bool runs_on_device() const { return facts_.runs_on_device; }
  [[nodiscard]] bool is_baseline() const { return facts_.is_baseline; }

  /// The search space for a rank with `capability`, in a fixed order; never empty if `supports` can
  /// say yes.
  [[nodiscard]] virtual std::vector<Variant> variants(const Problem& problem,
                                                      const Topology& topology,
                                                      const Capability& capability) const = 0;
  /// Whether a rank with `capability` can run `variant` for `problem` on `topology`. Includes the
  /// limits.
  [[nodiscard]] Support supports(const Problem& problem, const Topology& topology,
                                 const Capability& capability, const Variant& variant) const {
    if (problem.counts != Counts::equal && !facts_.takes_unequal_counts)
      return Support::no("its blocks are all of one length");
    return can_run(problem, topology, capability, variant);
  }
  /// `supports`, for counts that it takes.
  [[nodiscard]] virtual Support can_run(const Problem& problem, const Topology& topology,
                                        const Capability& capability,
                                        const Variant& variant) const = 0;
  [[nodiscard]] virtual Limits limits(const Variant& variant) const = 0;
  /// What the variant puts on the wire for the problem; variants of equal protocol can meet in one
  /// call.
  [[nodiscard]] virtual std::string protocol(const Problem& problem,
                                             const Variant& variant) const = 0;
  [[nodiscard]] virtual Cost cost(const Problem& problem, const Topology& topology,
                                  const Variant& variant) const = 0;
  [[nodiscard]] virtual Numerics numerics(const Problem& problem, const Variant& variant) const = 0;

  /// Prepares `variant`, which all ranks support, for `call`. Collective. May allocate and
  /// register. The communicator, the buffers and this implementation outlive the operation. All
  /// ranks throw or none, except for RankMissing.
  [[nodiscard]] virtual std::unique_ptr<Operation> prepare(Communicator& communicator,
                                                           const Call& call, const Variant& variant,
                                                           Deadline deadline) const = 0;

  [[nodiscard]] virtual CallTraits traits(const Problem& /*problem*/, const Topology& /*topology*/,
                                          const Variant& /*variant*/) const {
    return {};
  }
  /// Whether `wide` learns from call to call when to run as `narrow`, another variant, does:
  /// measuring both would measure one thing twice.
  [[nodiscard]] virtual bool covers(const Variant& /*wide*/, const Variant& /*narrow*/) const {
    return false;
  }
  /// Adds to `capability` what only this implementation can find out (which algorithms the running
  /// library has, …), under names of its own. Collective over `communicator` if the detection is.
  virtual void detect(Communicator& /*communicator*/, Capability& /*capability*/) const {}

 private:
  ImplementationFacts facts_;
};

using Implementations = std::vector<std::unique_ptr<const Implementation>>;

}  // namespace colltune
