// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/execution/called_as_in_programs.h"

#include <optional>
#include <utility>
#include <vector>

#include "colltune/kernels/execution/call_path.h"

namespace colltune {
namespace {

/// `start` is what an MPI library's call of the component does up to the kernel's start.
class CalledAsInPrograms final : public Operation {
 public:
  CalledAsInPrograms(std::unique_ptr<Operation> prepared, const Call& call,
                     std::unique_ptr<Operation> entry)
      : entry_(std::move(entry)),
        call_{.collective = call.problem.collective,
              .data_type =
                  shape_of(call.problem.collective).reduces ? call.problem.data_type : DataType::u8,
              .reduce_op = call.problem.reduce_op,
              .root = call.root,
              .message_size = call.problem.message_size,
              .counts = call.problem.counts},
        in_place_(call.problem.in_place),
        buffers_(call.buffers),
        blocks_(call.blocks.begin(), call.blocks.end()),
        prepared_(*prepared),
        path_(CallLog(), 1, nullptr) {
    path_.adopt(only, call_, in_place_, blocks_, std::move(prepared));
  }

  void bind(const CallBuffers& buffers) override { buffers_ = buffers; }
  void start() override {
    if (entry_ != nullptr) [[likely]]
      entry_->wait(Deadline::max());  // of an empty call, which waits for nobody
    const auto find = [](const ProgramCall& call) {
      return CallPath::Found{.call = call, .entry = CallLog::entry_of(call), .choice = only};
    };
    const auto prepare = [](std::uint16_t, const Call&) { return std::unique_ptr<Operation>(); };
    (void)path_.start(path_.begin(call_, find), call_, in_place_, buffers_, blocks_, prepare);
  }
  void wait(Deadline deadline) override {
    path_.wait(deadline);
    path_.finish();
  }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> device_time() const override {
    return prepared_.device_time();
  }
  [[nodiscard]] std::optional<Executed> executed() const override { return prepared_.executed(); }
  [[nodiscard]] bool is_lost() const override { return prepared_.is_lost(); }
  void give_up() noexcept override { prepared_.give_up(); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> communicators_time() const override {
    return prepared_.communicators_time();
  }

 private:
  static constexpr std::uint16_t only = 1;

  std::unique_ptr<Operation> entry_;  ///< null: a program's call passes nothing
  ProgramCall call_;
  bool in_place_;
  CallBuffers buffers_;
  std::vector<std::size_t> blocks_;
  Operation& prepared_;  ///< of `path_`
  CallPath path_;
};

}  // namespace

std::unique_ptr<Operation> call_as_in_programs(std::unique_ptr<Operation> prepared,
                                               const Call& call, std::unique_ptr<Operation> entry) {
  return std::make_unique<CalledAsInPrograms>(std::move(prepared), call, std::move(entry));
}

}  // namespace colltune
