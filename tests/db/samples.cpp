// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "samples.h"

#include <unistd.h>
#include <array>

#include <cstdlib>

#include "colltune/vocabulary/canonical.h"

namespace colltune::test {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "colltune-db-XXXXXX").string();
  if (!mkdtemp(name.data())) throw Error(StatusCode::internal, "mkdtemp failed");
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Environment some_environment(const std::string& cpu_model) {
  Environment environment;
  visit_fields(environment,
               [](std::string_view name, auto& field) { field = "value of " + std::string(name); });
  environment.variables.reset();  // older versions have none
  environment.limits.reset();
  environment.kernel = "value of kernel_release";  // what migration makes of it
  environment.cpu_model = cpu_model;
  environment.gpu_model = "";
  return environment;
}

TuningKey some_key(std::uint64_t message_size, const Environment& environment) {
  return {.problem = {.collective = Collective::all_reduce,
                      .data_type = DataType::bf16,
                      .reduce_op = ReduceOp::max,
                      .message_size = {message_size},
                      .in_place = true,
                      .registered = true,
                      .graph_capture = true,
                      .numeric_class = NumericClass::rank_order},
          .topology = {.nodes = 2,
                       .ranks_per_node = 4,
                       .ranks = 8,
                       .architectures = {{"sm_80", 4}, {"sm_90", 4}},
                       .layout_digest = "0123456789abcdef",
                       .interconnect = "tcp",
                       .placement = Placement::oversubscribed},
          .environment_digest = digest_of(environment),
          .calling = Calling::persistent,
          .input = InputMode::hot};
}

Measurement some_measurement(int number, const Environment& environment) {
  Measurement measurement{
      .key = some_key(1024 * (1 + number / 3), environment),
      .variant = parse_variant("mpi.ring{segment=" + std::to_string(number) + ",way=up}"),
      .family = "open_mpi",
      .protocol = "ring/1",
      .is_baseline = number % 2 == 0,
      .is_twin = number % 3 == 1,
      .is_holdout = true,
      .is_emulated = true,
      .pass = number % 4,
      .outcome = Outcome::timed_out,
      .detail = std::string("a \"quoted\" detail, \0 included; ü", 32),
      .samples = {},
      .slowest_ranks = {},
      .marks = {},
      .samples_per_round = 3,
      .calls_per_sample = 7,
      .ranks_ran = 8,
      .ranks_failed = 1,
      .verified_calls = 99,
      .seed = 0xfedcba9876543210ULL,
      .synchronization = Synchronization::window,
      .rounding = Rounding::each_step,
      .numeric_class = NumericClass::same_bits,
      .limits = {.min_ranks = 2,
                 .max_ranks = 64,
                 .ranks_multiple_of = 2,
                 .min_message = {8},
                 .max_message = {1 << 30},
                 .data_types = {DataType::f32, DataType::bf16},
                 .reduce_ops = {ReduceOp::sum},
                 .alignment = {64}},
      .conditions = {.steal = 0.125,
                     .longest_gap = std::chrono::nanoseconds(12345),
                     .involuntary_switches = 3,
                     .page_faults = 4,
                     .throttle_events = 5,
                     .lowest_frequency_khz = 2'000'000,
                     .clock_error = std::chrono::nanoseconds(321),
                     .kept_waiting = 0.0625,
                     .device_share = 0.875,
                     .hand_over = std::chrono::nanoseconds(47)}};
  for (int i = 0; i < 20; ++i) {
    measurement.samples.emplace_back(100'000 + (i * 7919 * (number + 1)) % 5000);
    measurement.slowest_ranks.push_back(i % 8);
    measurement.marks.push_back(i % 7);
  }
  return measurement;
}

Decision some_decision(std::uint64_t message_size, const Environment& environment,
                       const std::string& winner) {
  using std::chrono::nanoseconds;
  RankedVariant first{.variant = parse_variant(winner + "{segment=8192}"),
                      .family = "open_mpi",
                      .protocol = "ring/1",
                      .is_baseline = false,
                      .is_emulated = true,
                      .median = nanoseconds(1234),
                      .low = nanoseconds(1200),
                      .high = nanoseconds(1300),
                      .speedup_over_baseline = 1.1,
                      .samples = 40,
                      .verified_calls = 80,
                      .rounding = Rounding::each_step,
                      .numeric_class = NumericClass::same_bits,
                      .limits = {.min_ranks = 2, .alignment = {64}}};
  RankedVariant second = first;
  second.variant = parse_variant("mpi.baseline");
  second.is_baseline = true;
  second.median = nanoseconds(1357);
  second.speedup_over_baseline = 1.0;
  return {.key = some_key(message_size, environment),
          .family = "open_mpi",
          .ranked = {first, second},
          .reason = "beats the baseline by 10%",
          .sweep_uuid = "sweep-1",
          .verdict = Verdict::displaced,
          .status = DecisionStatus::confirmed,
          .confirmation = {.launches = 5, .speedup = 1.09, .low = 1.05, .high = 1.11}};
}

FailureRecord some_failure(int number, const Environment& environment) {
  const Measurement trial = some_measurement(number, environment);
  return {.sweep_uuid = "sweep-1",
          .key = trial.key,
          .variant = trial.variant,
          .outcome = number % 2 == 0 ? Outcome::crashed : Outcome::timed_out,
          .detail = "rank 1 on host a: signal 11, launch " + std::to_string(number),
          .recorded_at = "2026-01-02T03:30:00Z"};
}

QuarantineRecord some_quarantine(int number, const Environment& environment) {
  const Measurement trial = some_measurement(number, environment);
  return {.key = trial.key,
          .variant = trial.variant,
          .failures = 2 + number,
          .outcome = Outcome::wrong,
          .reason = "reason " + std::to_string(number),
          .since = "2026-01-02T03:40:00Z",
          .released_at = ""};
}

SweepRecord some_sweep(const std::string& uuid, const Environment& environment) {
  return {.uuid = uuid,
          .started_at = "2026-01-02T03:04:05Z",
          .finished_at = "",
          .state = SweepState::running,
          .configuration = R"({"version": 1})",
          .environment_digest = digest_of(environment),
          .launch = "8 ranks on 2 nodes",
          .seed = 0x8000000000000001ULL,
          .planned_trials = 77,
          .summary = "",
          .purpose = SweepPurpose::choose,
          .confirmation = "",
          .provenance = {.colltune_version = "value of colltune_version",
                         .build = "value of build",
                         .operating_system = "value of operating_system",
                         .kernel_release = "value"}};
}

Members some_members() {
  return {.kinds = {{.architecture = "sm_80", .features = {"memory.bytes=8"}},
                    {.architecture = "sm_90", .features = {"cuda.cc=9.0", "multicast"}}},
          .kind_of_rank = {0, 0, 0, 0, 1, 1, 1, 1}};
}

Composition some_composition() {
  const Members members = some_members();
  const auto name_of_kind = [&](std::size_t kind) { return digest_of_value(members.kinds[kind]); };
  return {.mode = CompositionMode::substituted,
          .parts = {{.role = PartRole::whole,
                     .kinds = {name_of_kind(0)},
                     .variant = parse_variant("cpu.ring{chunk=4096,way=up}")},
                    {.role = PartRole::whole,
                     .kinds = {name_of_kind(1)},
                     .variant = parse_variant("gpu.ring{chunk=4096}")}}};
}

Measurement as_of_version_3(Measurement measurement) {
  measurement.pass = 0;
  // Rows of that age lack them.
  measurement.conditions.kept_waiting.reset();
  measurement.conditions.device_share.reset();
  measurement.conditions.hand_over.reset();
  return measurement;
}

Measurement as_of_version_2(Measurement measurement) {
  measurement = as_of_version_3(std::move(measurement));
  measurement.is_twin = false;
  measurement.is_holdout = false;
  measurement.marks.clear();
  measurement.conditions = {};
  return measurement;
}

Decision as_of_version_2(Decision decision) {
  decision.status = DecisionStatus::provisional;
  decision.confirmation = {};
  return decision;
}

Contents read_all(const StoreReader& reader) {
  auto published = reader.published();
  auto environments = reader.environments();
  return {.sweeps = reader.sweeps(),
          .environments = std::move(environments),
          .measurements = reader.measurements(),
          .generation = published.generation,
          .decisions = std::move(published.decisions),
          .failures = reader.failures(),
          .quarantines = reader.quarantine_history(),
          .members = std::move(published.members),
          .compositions = reader.compositions()};
}

void fill(const std::filesystem::path& path, Fields fields) {
  const auto measured = [&](Measurement value) {
    if (fields == Fields::of_version_2) return as_of_version_2(std::move(value));
    return fields == Fields::of_version_3 ? as_of_version_3(std::move(value)) : std::move(value);
  };
  const auto decided = [&](Decision value) {
    return fields == Fields::of_version_2 ? as_of_version_2(std::move(value)) : std::move(value);
  };
  const Environment one = some_environment("CPU one");
  const Environment two = some_environment("CPU two");
  Store store(path);
  store.put_environment(one);
  store.put_environment(two);
  store.begin_sweep(some_sweep("sweep-1", one));
  if (fields == Fields::all) {
    store.note_members("sweep-1", some_key(1024, one).topology, some_members());
    store.note_compositions(std::array{some_composition()});
  }
  for (int i = 0; i < 12; ++i) {
    const std::vector<Measurement> trial{measured(some_measurement(i, i % 2 == 0 ? one : two))};
    store.append("sweep-1", trial);
  }
  for (const int number : {20, 20, 21}) (void)store.record_failure(some_failure(number, one));
  for (const int number : {20, 21}) store.quarantine(some_quarantine(number, one));
  store.release_quarantine(some_quarantine(20, one).key, some_quarantine(20, one).variant,
                           "2026-01-02T03:50:00Z");
  store.finish_sweep("sweep-1", SweepState::complete, "2026-01-02T04:00:00Z", "{}");
  std::vector<Decision> decisions;
  for (std::uint64_t size = 1024; size <= (1 << 20); size *= 2)
    decisions.push_back(decided(some_decision(size, one)));
  store.publish(decisions, "2026-01-02T04:00:01Z");
  decisions = {decided(some_decision(2048, one, "cpu.two_shot")),
               decided(some_decision(2048, two))};
  store.publish(decisions, "2026-01-02T04:00:02Z");
}

}  // namespace colltune::test
