// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "pair_rank.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "colltune/kernels/verification/oracle.h"
#include "nccl_calls/entry_points.h"
#include "nccl_calls/nccl_rank.h"
#include "nccl_library/entries.h"
#include "pair_gpu.h"
#include "process_communicator.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr int ranks = 2;
constexpr int root = 0;
constexpr int held_rank = 1;
// A rank that is held back comes when the other one has given up and ended its communicator.
constexpr auto longest_hold = 60s;
// Of the time: nothing new begins behind these.
constexpr double share_of_forced = 0.6;
constexpr double share_of_all = 0.8;
constexpr std::array channel_counts{0, 1, 2, 4, 16};
constexpr int verified_calls = 2;
// Neither what NCCL writes nor a number of the oracle's.
constexpr unsigned char untouched = 0xA5;

Deadline in(std::chrono::milliseconds time) { return Clock::now() + time; }

struct Trial {
  const Implementation* implementation;
  Problem problem;
  Variant variant;
};

/// A rank's buffers of one problem, and a call on them.
class PairCall {
 public:
  PairCall(Communicator& communicator, const Trial& trial, std::chrono::milliseconds init_limit)
      : communicator_(communicator),
        trial_(trial),
        send_(*communicator.device(), send_size(trial.problem, ranks, communicator.rank() == root)),
        receive_(*communicator.device(),
                 receive_size(trial.problem, ranks, communicator.rank() == root)),
        operation_(trial.implementation->prepare(
            communicator, {trial.problem, root, {send_.bytes(), receive_.bytes()}}, trial.variant,
            in(init_limit))) {}

  [[nodiscard]] Operation& operation() { return *operation_; }
  void run(std::chrono::milliseconds limit) {
    operation_->start();
    operation_->wait(in(limit));
  }
  /// What is wrong with the result of a call with other data than `seed` - 1's; empty: nothing.
  [[nodiscard]] std::string verify(std::uint64_t seed, std::chrono::milliseconds limit) {
    const VerifiedCall call{trial_.problem, ranks, root, DataPattern::exact, seed};
    std::vector<std::byte> input(send_.bytes().size());
    fill_send(call, communicator_.rank(), input);
    Device& device = *communicator_.device();
    device.write(send_.bytes().data(), input);
    device.fill(receive_.bytes(), untouched);
    run(limit);
    std::vector<std::byte> got(receive_.bytes().size());
    device.read(got, receive_.bytes().data());
    const Rounding rounding =
        trial_.implementation->numerics(trial_.problem, trial_.variant).rounding;
    if (const auto wrong = find_mismatch(call, communicator_.rank(), rounding, got))
      return "element " + std::to_string(wrong->element) + " is " + wrong->got + ", not " +
             wrong->expected;
    return {};
  }

 private:
  Communicator& communicator_;
  const Trial& trial_;
  DeviceMemory send_;
  DeviceMemory receive_;
  std::unique_ptr<Operation> operation_;
};

class PairRank {
 public:
  PairRank(const PairRankOptions& options, Device& device)
      : options_(options),
        device_(device),
        communicator_(join_processes(options.arena, options.rank, ranks, abort_flag_, &device)),
        begin_(Clock::now()) {
    for (const auto make : {&nccl::make_library_choice, &nccl::make_forced})
      for (auto& one : make(runtime_)) entries_.push_back(std::move(one));
  }

  void run() {
    capability_ = detect_capability(entries_, *communicator_);
    if (!open()) return;
    for (const std::vector<Trial>& entry : list_trials())
      for (const Trial& trial : entry)
        if (!is_there(trial)) break;
    hold("stopped before its call", [&](PairCall& call) { return wait_for_stopped(call); });
    hold("stopped amid its calls", [&](PairCall& call) { return call_until_stopped(call); });
  }

 private:
  void tell(const Json& event) const {
    const std::string line = event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    for (std::size_t at = 0; at < line.size();) {
      const ::ssize_t written = ::write(options_.report, line.data() + at, line.size() - at);
      if (written <= 0) return;  // nobody listens any more
      at += static_cast<std::size_t>(written);
    }
  }

  /// Both ranks come to all of this: a vote that one cannot be late for by more than a call.
  [[nodiscard]] bool any(bool holds) {
    return communicator_->all_reduce_max(holds ? 1 : 0, in(options_.init_limit + longest_hold)) !=
           0;
  }
  [[nodiscard]] bool is_over(double share) const {
    return Clock::now() - begin_ > std::chrono::duration<double>(share * options_.seconds);
  }

  /// Tells which libraries there are, and whether NCCL has loaded the tuner; false where nothing
  /// more can be tried.
  bool open() {
    const nccl::Opened& opened = runtime_->open();
    Json event{{"event", "opened"},
               {"device", capability_.value("device.name")},
               {"architecture", capability_.architecture},
               {"driver", capability_.value("cuda.driver")},
               {"library", opened.path},
               {"version", nccl::version_text(opened.version)},
               {"why_not", opened.why_not},
               {"why_no_tuner", opened.why_no_tuner},
               {"why_no_profiler", opened.why_no_profiler}};
    if (any(!opened.why_not.empty())) {
      tell(event);
      return false;
    }
    std::string why_not_made;
    try {
      const auto member = nccl::NcclRank::of(*communicator_, opened, {}, in(options_.init_limit));
      event["why_not_forced"] = member->why_not_forced();
    } catch (const std::exception& error) {
      why_not_made = error.what();
    }
    event["why_not_made"] = why_not_made;
    tell(event);
    return !any(!why_not_made.empty());
  }

  [[nodiscard]] static Topology topology(const Capability& capability) {
    return {.nodes = 1,
            .ranks_per_node = ranks,
            .ranks = ranks,
            .architectures = {{capability.architecture, ranks}},
            .layout_digest = "uniform",
            .interconnect = "shared-memory",
            .placement = Placement::shared_device};
  }
  [[nodiscard]] Problem problem_of(Collective collective) const {
    Problem problem{.collective = collective,
                    .data_type = DataType::f32,
                    .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none};
    problem.message_size =
        round_message_size(collective, problem.data_type, options_.message, ranks);
    return problem;
  }
  [[nodiscard]] const Implementation* find(Collective collective, const char* suffix) const {
    return find_implementation(entries_, "nccl." + std::string(name_of(collective)) + suffix);
  }

  /// NCCL's own choice of each collective, and every algorithm with every protocol, whether or not
  /// NCCL has it, each with some numbers of channels.
  [[nodiscard]] std::vector<std::vector<Trial>> list_trials() const {
    std::vector<std::vector<Trial>> entries;
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
          Collective::broadcast, Collective::reduce}) {
      const Problem problem = problem_of(collective);
      const Implementation* const own = find(collective, "");
      entries.push_back({{own, problem, {std::string(own->name()), {}}}});
      const Implementation* const forced = find(collective, "_forced");
      for (const auto& algorithm : enum_names(nccl::Algorithm{}))
        for (const auto& protocol : enum_names(nccl::Protocol{})) {
          entries.emplace_back();
          for (const int channels : channels_of(collective, protocol.value))
            entries.back().push_back({forced,
                                      problem,
                                      {std::string(forced->name()),
                                       {{"algorithm", std::string(algorithm.name)},
                                        {"channels", std::int64_t{channels}},
                                        {"protocol", std::string(protocol.name)}}}});
        }
    }
    return entries;
  }
  [[nodiscard]] std::vector<int> channels_of(Collective collective, nccl::Protocol protocol) const {
    const int most = nccl::most_channels_of(*nccl::function_of(collective), protocol,
                                            problem_of(collective).message_size.value);
    std::vector<int> counts;
    for (const int count : channel_counts)
      if (count <= most) counts.push_back(count);
    return counts;
  }

  [[nodiscard]] static Json describe(const Trial& trial) {
    Json named = Json::object();
    for (const Parameter& parameter : trial.variant.parameters)
      named[parameter.name] = to_string(parameter.value);
    return {{"event", "trial"},
            {"collective", name_of(trial.problem.collective)},
            {"message_size_bytes", trial.problem.message_size.value},
            {"variant", to_string(trial.variant)},
            {"named", named}};
  }

  /// Tries it. False, on both ranks, where one of them says that it is not available.
  bool is_there(const Trial& trial) {
    Json event = describe(trial);
    const auto say = [&](const char* outcome, const std::string& detail) {
      event["outcome"] = outcome;
      event["detail"] = detail;
    };
    if (const Support support = trial.implementation->supports(trial.problem, topology(capability_),
                                                               capability_, trial.variant);
        !support) {
      say("unavailable", support.reason());
    } else if (any(is_over(share_of_forced))) {
      say("not reached", "no time was left");
    } else {
      try {
        std::string fault;
        PairCall call(*communicator_, trial, options_.init_limit);
        // All of them, whatever this rank sees: the other one makes them too.
        for (int number = 1; number <= verified_calls; ++number)
          fault += call.verify(static_cast<std::uint64_t>(number), options_.call_limit);
        say(fault.empty() ? "ran" : "wrong", fault);
        if (const auto executed = call.operation().executed()) {
          event["executed"] = executed->choice;
          event["is_what_was_named"] = executed->is_what_was_named;
        }
      } catch (const UnavailableHere& unavailable) {
        say("unavailable", unavailable.what());
      } catch (const std::exception& error) {
        say("failed", error.what());
      }
    }
    tell(event);
    return !any(event["outcome"] == "unavailable");
  }

  /// Holds the second rank back, by a stop of its process, in the way of `act`, which returns what
  /// this rank has to say of it; then calls on what was made anew.
  template <class Act>
  void hold(const char* how, Act act) {
    const Problem problem = problem_of(Collective::all_reduce);
    const Implementation* const own = find(Collective::all_reduce, "");
    const Trial trial{own, problem, {std::string(own->name()), {}}};
    Json event{{"event", "held"}, {"how", how}};
    if (any(is_over(share_of_all))) {
      event["outcome"] = "not reached";
      return tell(event);
    }
    Json renewed{{"event", "renewed"}, {"how", how}, {"fault", ""}};
    try {
      // It stays while the next one is made, as in a program.
      PairCall held(*communicator_, trial, options_.init_limit);
      std::string fault;
      try {
        fault = held.verify(1, options_.call_limit);
      } catch (const std::exception& error) {
        fault = error.what();
      }
      event["outcome"] = "not tried";
      event["detail"] = fault;
      if (any(!fault.empty())) return tell(event);
      event.update(act(held));
      event["is_lost"] = held.operation().is_lost();
      tell(event);
      static_cast<void>(any(false));
      PairCall call(*communicator_, trial, options_.init_limit);
      renewed["fault"] = call.verify(2, options_.call_limit);
    } catch (const std::exception& error) {
      renewed["fault"] = error.what();
    }
    tell(renewed);
    static_cast<void>(any(false));
  }

  /// `act`, which is to end by an exception.
  template <class Act>
  [[nodiscard]] Json catch_end(Act act) const {
    const auto begin = Clock::now();
    Json told{{"outcome", "went on"},
              {"limit", std::chrono::duration<double>(options_.held_limit).count()}};
    try {
      act();
    } catch (const RankMissing& missing) {
      told["outcome"] = missing.code() == StatusCode::deadline_exceeded ? "timed out" : "failed";
      told["missing"] = missing.rank();
      told["detail"] = missing.what();
    } catch (const Error& error) {
      told["outcome"] = error.code() == StatusCode::deadline_exceeded ? "timed out" : "failed";
      told["detail"] = error.what();
    } catch (const std::exception& error) {
      told["outcome"] = "failed";
      told["detail"] = error.what();
    }
    told["seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
    return told;
  }

  [[nodiscard]] Json wait_for_stopped(PairCall& call) const {
    if (options_.rank == held_rank) {
      tell({{"event", "stops"}});
      static_cast<void>(std::raise(SIGSTOP));
      return {{"outcome", "was stopped"}};
    }
    return catch_end([&] { call.run(options_.held_limit); });
  }

  [[nodiscard]] Json call_until_stopped(PairCall& call) const {
    tell({{"event", "calls"}});
    auto last = Clock::now();
    Json told = catch_end([&] {
      for (const auto end = Clock::now() + longest_hold; (last = Clock::now()) < end;)
        call.run(options_.held_limit);
    });
    told["seconds"] = std::chrono::duration<double>(Clock::now() - last).count();
    return told;
  }

  const PairRankOptions& options_;
  Device& device_;
  AbortFlag abort_flag_;
  std::shared_ptr<const nccl::Runtime> runtime_ =
      std::make_shared<const nccl::Runtime>(&nccl::find_places);
  Implementations entries_;
  std::unique_ptr<Communicator> communicator_;
  Clock::time_point begin_;
  Capability capability_;
};

}  // namespace

void run_pair_rank(const PairRankOptions& options) {
  std::string fault;
  try {
    pretend_own_host(options.rank);
    const std::unique_ptr<Device> device = open_pair_gpu();
    PairRank(options, *device).run();
  } catch (const std::exception& error) {
    fault = error.what();
  }
  const std::string line = Json{{"event", "done"}, {"fault", fault}}.dump() + "\n";
  static_cast<void>(::write(options.report, line.data(), line.size()));
}

}  // namespace colltune
