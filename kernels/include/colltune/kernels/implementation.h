// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

/// Memory of a device that a library gave; goes back with it.
class BufferMemory {
 public:
  virtual ~BufferMemory() = default;
  [[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
};

/// Where the buffers of calls must come from that not any memory of the device will do for.
/// Thread-safe; the memory does not outlive it.
class BufferSource {
 public:
  virtual ~BufferSource() = default;
  /// `bytes` of `device`, aligned to pages; the same number on all ranks of a call. Not collective.
  /// Throws Error(resource_exhausted), or what the library says.
  [[nodiscard]] virtual std::unique_ptr<BufferMemory> allocate(Device& device, Bytes bytes) = 0;
};

/// Yes, or no with a reason for a person.
class [[nodiscard]] Support {
 public:
  static Support yes() { return Support({}); }
  /// `reason` is not empty and reads on after "unavailable: ".
  static Support no(std::string reason) { return Support(std::move(reason)); }

  explicit operator bool() const noexcept { return reason_.empty(); }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  explicit Support(std::string reason) : reason_(std::move(reason)) {}
  std::string reason_;
};

/// What a variant promises about bits: how it accumulates and what it guarantees.
struct Numerics {
  Rounding rounding = Rounding::exact;
  NumericClass numeric_class = NumericClass::rank_order;
};

/// One algorithm for one collective on one device kind: one file in `kernels/<device>/`. Immutable
/// and thread-safe; all calls but `prepare` are pure over their arguments, so that any rank answers
/// for any other.
class Implementation {
 public:
  virtual ~Implementation() = default;

  /// "cpu.all_reduce_one_shot": letters, digits, '.', '_', '-'; unique in the catalogue.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// One line: the algorithm, steps and bytes, and the paper or library it follows.
  [[nodiscard]] virtual std::string_view description() const = 0;
  [[nodiscard]] virtual Collective collective() const = 0;
  /// Who can execute it: "mpi" (the MPI library by itself), "colltune" (this project's kernels), …
  [[nodiscard]] virtual std::string_view family() const = 0;
  /// Where the buffers of its calls lie: on the ranks' devices (Communicator::device) or in the
  /// host's memory.
  [[nodiscard]] virtual bool runs_on_device() const { return false; }
  /// Whether this is what the user has without colltune.
  [[nodiscard]] virtual bool is_baseline() const { return false; }

  /// The search space for a rank with `capability`, in a fixed order; never empty where `supports`
  /// can say yes.
  [[nodiscard]] virtual std::vector<Variant> variants(const Problem& problem,
                                                      const Topology& topology,
                                                      const Capability& capability) const = 0;
  /// Whether a rank with `capability` can run `variant` for `problem` on `topology`. Checks the
  /// limits too.
  [[nodiscard]] virtual Support supports(const Problem& problem, const Topology& topology,
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
  /// Whether the library lacks this type or operator, so that it is composed from what the library
  /// has.
  [[nodiscard]] virtual bool is_emulated(const Problem& /*problem*/) const { return false; }
  /// Calls of an operation until it takes what it takes from then on, besides the first one: more
  /// than none where it learns from them.
  [[nodiscard]] virtual int settling_calls(const Problem& /*problem*/, const Topology& /*topology*/,
                                           const Variant& /*variant*/) const {
    return 0;
  }

  /// Whether `wide` finds out from call to call when to run as `narrow`, another variant, does: who
  /// measures both measures one thing twice.
  [[nodiscard]] virtual bool covers(const Variant& /*wide*/, const Variant& /*narrow*/) const {
    return false;
  }

  /// Whether ranks that run unlike builds of this project may meet in its calls: where a library
  /// does all that they do together. What the project's own code puts between ranks is promised
  /// within one build alone.
  [[nodiscard]] virtual bool meets_other_builds() const { return false; }

  /// Where the buffers of its calls must come from; null: from anywhere on its device.
  [[nodiscard]] virtual BufferSource* buffer_source() const { return nullptr; }

  /// Adds to `capability` what only this implementation knows how to find out (which algorithms the
  /// running library has, …), under names of its own. Collective over `communicator` where the
  /// search is.
  virtual void detect(Communicator& /*communicator*/, Capability& /*capability*/) const {}

  /// Prepares `variant`, which all ranks support, for `call`. Collective; may allocate and
  /// register; the communicator and the buffers outlive the operation. All ranks throw, or none,
  /// except for RankMissing.
  [[nodiscard]] virtual std::unique_ptr<Operation> prepare(Communicator& communicator,
                                                           const Call& call, const Variant& variant,
                                                           Deadline deadline) const = 0;
};

using Implementations = std::vector<std::unique_ptr<const Implementation>>;

}  // namespace colltune
