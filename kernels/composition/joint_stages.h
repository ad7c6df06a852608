// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "between_stages.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

/// Runs `act` on a communicator of `members`: a rank that is missing there is reported by its
/// number among all ranks.
template <class Act>
auto with_ranks_of_all(const std::vector<int>& members, std::string_view waiting_for, Act act) {
  try {
    return act();
  } catch (const RankMissing& missing) {
    throw RankMissing(members[static_cast<std::size_t>(missing.rank())], std::string(waiting_for),
                      missing.code() == StatusCode::aborted);
  }
}

/// Runs on each rank code that may fail on some ranks only: then all ranks throw, with the same
/// code. `what` names the joint work, for the error text. Collective.
template <class Act>
void attempt_together(Communicator& communicator, std::string_view what, Deadline deadline,
                      Act act) {
  // The code for UnavailableHere, which is not one of gRPC's error codes: any real error takes
  // precedence.
  constexpr std::int64_t unavailable_code = 1;
  std::optional<Error> failure;
  std::int64_t own_code = 0;
  try {
    act();
  } catch (const RankMissing&) {
    throw;
  } catch (const UnavailableHere& error) {
    failure = error;
    own_code = unavailable_code;
  } catch (const Error& error) {
    failure = error;
    own_code = static_cast<std::int64_t>(error.code());
  } catch (const std::exception& error) {
    failure = Error(StatusCode::resource_exhausted, error.what());
    own_code = static_cast<std::int64_t>(StatusCode::resource_exhausted);
  }
  constexpr std::int64_t ranks_limit = std::int64_t{1} << 32;
  const std::int64_t own = failure ? own_code * ranks_limit + communicator.rank() : 0;
  const std::int64_t worst = communicator.all_reduce_max(own, deadline);
  if (worst == 0) return;
  const std::string who = "rank " + std::to_string(worst % ranks_limit);
  if (worst / ranks_limit == unavailable_code)
    throw UnavailableHere(failure ? failure->what()
                                  : who + " found no such variant for its part of " +
                                        std::string(what));
  const auto code = static_cast<StatusCode>(worst / ranks_limit);
  if (failure) throw Error(code, failure->what());
  throw Error(code, who + " could not prepare its part of " + std::string(what));
}

struct ImplementedBy {
  const Implementation& implementation;
  const Variant& variant;
};

/// One rank's part of a stage: what it does to its own memory, then its collective.
struct JointStage {
  std::vector<int> members{};  ///< of the collective, as ranks of the whole communicator
  std::string_view waiting_for{};
  Division division{};
  Copies copies{};
  std::unique_ptr<Operation> operation{};  ///< null if this rank has no part in it
  Call call{};                             ///< of the operation

  void prepare(Communicator& communicator, const ImplementedBy& by, const Call& first,
               Deadline deadline);
};

/// Runs this rank's stages one after the other: `start` begins the first, `wait` does the rest.
/// Destroy it before the communicators that the stages use.
class JointStages {
 public:
  /// `what`: the name of the whole, for errors; among the ranks of `communicator`.
  /// `buffers`: this rank's, of the call that the stages are made of.
  JointStages(std::string_view what, const Communicator& communicator, const CallBuffers& buffers);
  JointStages(const JointStages&) = delete;
  JointStages& operator=(const JointStages&) = delete;
  ~JointStages();

  [[nodiscard]] StageMemory& memory() { return *memory_; }
  /// Where the buffers lie; null: in host memory.
  [[nodiscard]] Device* device() const { return device_; }

  void add(JointStage stage) { stages_.push_back(std::move(stage)); }
  /// The stages of the next calls work on `buffers` wherever they worked on the call's
  /// (Operation::bind).
  void bind(const CallBuffers& buffers);
  /// The next calls are those that the stages hold; `buffers` are those of the whole call
  /// (Operation::rebind).
  void rebind(const CallBuffers& buffers);
  [[nodiscard]] JointStage& at(std::size_t index) { return stages_.at(index); }
  [[nodiscard]] const JointStage& at(std::size_t index) const { return stages_.at(index); }
  [[nodiscard]] std::size_t size() const { return stages_.size(); }
  void start();
  void wait(Deadline deadline);
  /// The sum over the collectives; nothing if none has a device time.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> device_time() const;
  /// What libraries that choose for themselves did: one part for each of this rank's stages that
  /// reports it, in order: "algorithm=ring,protocol=ll; algorithm=tree,protocol=ll". If one did
  /// something other than its variant names, the whole counts as such.
  [[nodiscard]] std::optional<Executed> executed() const;
  [[nodiscard]] bool is_lost() const;
  void give_up() noexcept;

 private:
  /// Does everything before the next collective in which this rank takes part, and starts that.
  void begin_next();

  std::string_view what_;
  bool is_one_node_;  ///< then the stages send no messages
  Device* device_;
  CallBuffers bound_;
  std::unique_ptr<StageMemory> memory_ = std::make_unique<StageMemory>();
  std::vector<JointStage> stages_{};
  std::size_t at_ = 0;
  bool is_under_way_ = false;  ///< stays true after a call that failed
};

}  // namespace colltune
