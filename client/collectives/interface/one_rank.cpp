// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "one_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "colltune/collectives/report.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/vocabulary/problem.h"
#include "step_chain.h"

namespace colltune {
namespace {

/// What the ranks agree on, in this order.
constexpr std::array callings{ProgramCalling{}, ProgramCalling{.calling = Calling::persistent},
                              ProgramCalling{.calling = Calling::persistent, .registered = true}};

/// The entry for `call`; null: none.
const Choices::Entry* find_entry(const Choices& choices, const ProgramCall& call) {
  for (const Choices::Row& row : choices.rows) {
    if (row.collective != call.collective || row.data_type != call.data_type ||
        row.reduce_op != call.reduce_op || row.counts != call.counts ||
        call.message_size < row.smallest || call.message_size > row.largest)
      continue;
    const std::uint16_t choice = row.choices[bucket_of(call.message_size.value)];
    return choice == Choices::library ? nullptr : &choices.entries[choice - 1U];
  }
  return nullptr;
}

/// Buffers and sizes of a mesh reduction are those of an all_reduce.
CollectiveCall as_all_reduce(const MeshReductionCall& call) {
  return {.data_type = call.data_type,
          .reduce_op = call.mesh.steps.front().op,
          .count = call.count,
          .send = call.send,
          .receive = call.receive};
}

/// Whether a call in place runs as one that is not.
bool runs_apart(const CheckedCall& checked, const OwnBuffers& own) {
  return own.in_place && checked.has_empty_block;
}

/// Whether all ranks have this failure, so that they are still in step: what the kernels throw on
/// all ranks or none.
bool is_common(const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  return known != nullptr && dynamic_cast<const RankMissing*>(known) == nullptr &&
         (known->code() == StatusCode::resource_exhausted ||
          known->code() == StatusCode::invalid_argument ||
          known->code() == StatusCode::unavailable);
}

}  // namespace

ProgramSettings settings_of(const CollectivesOptions& options) {
  ProgramSettings settings =
      read_program_settings([](const char* name) { return std::getenv(name); });
  if (options.table) settings.table = *options.table;
  if (options.table_digest) settings.table_digest = *options.table_digest;
  if (options.memory) settings.memory = *options.memory;
  if (options.numerics) settings.numerics = *options.numerics;
  return settings;
}

Collectives::Impl::Impl(OneRankParts parts, Agreement& agreement, const ProgramSettings& settings)
    : parts_(std::move(parts)),
      rank_(parts_.communicator->rank()),
      ranks_(parts_.communicator->size()) {
  const auto begun = CallTimer::steady_now();
  ChoiceCache cache;  // each object has a table of its own
  AgreedChoices agreed =
      agree_on_choices(*parts_.communicator, agreement, settings, *parts_.catalogue,
                       {.callings = callings, .meshes = true}, cache);
  if (agreed.table_error) throw *agreed.table_error;
  if (agreed.are_unlike) notes_.emplace_back("the ranks run on unlike processors: no winner runs");
  executor_ = std::make_unique<Executor>(std::move(parts_.communicator), *parts_.catalogue,
                                         std::move(agreed.of_calling[0]), CallTimer::steady_now);
  for (const std::string& line : executor_->choices().left_out)
    notes_.push_back("not used: " + line);
  persistent_ = std::move(agreed.of_calling[1]);
  registered_ = std::move(agreed.of_calling[2]);
  meshes_ = std::move(agreed.meshes);
  persistent_meshes_ = std::move(agreed.persistent_meshes);
  for (const MeshChoices* const meshes : {&meshes_, &persistent_meshes_})
    for (const std::string& line : meshes->left_out) notes_.push_back("not used: " + line);
  plain_ = std::make_unique<PlainCalls>(parts_.plain, executor_->communicator());
  blocks_.reserve(static_cast<std::size_t>(ranks_));
  parts_.waits->meanwhile.watch(executor_.get());
  set_up_ = CallTimer::steady_now() - begun;
}

Collectives::Impl::~Impl() {
  parts_.waits->meanwhile.watch(nullptr);
  if (!parts_.reports || rank_ != 0) return;
  try {
    const std::string line = fmt::format("colltune: {}\n", report());
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colltune: no report: %s\n", error.what());
  }
}

void Collectives::Impl::require_whole() const {
  if (!broken_.empty()) [[unlikely]]
    throw Error(StatusCode::failed_precondition,
                "a collective of this communicator has failed before: " + broken_);
}

void Collectives::Impl::give_up(bool in_call, const std::exception& error) {
  broken_ = error.what();
  executor_->end(in_call);
  parts_.abandon();
}

template <class Body>
auto Collectives::Impl::attempt(bool in_call, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    give_up(in_call, error);
    throw;
  }
}

template <class Body>
auto Collectives::Impl::attempt_together(bool in_call, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    if (!is_common(error)) give_up(in_call, error);
    throw;
  }
}

void Collectives::Impl::move_alone(const CheckedCall& checked, const OwnBuffers& own) {
  const CallBuffers& buffers = own.buffers;
  if (!own.in_place && checked.block > 0)
    std::memcpy(buffers.receive.data(), buffers.send.data(), checked.block);
}

void Collectives::Impl::run(const CollectiveCall& call) {
  require_whole();
  const CheckedCall checked = check_alike(call, ranks_, blocks_);
  if (ranks_ == 1) {
    move_alone(checked, check_own(call, checked, rank_));
    return;
  }
  if (checked.program.message_size == Bytes{}) return;
  OwnBuffers own = attempt(false, [&] { return check_own(call, checked, rank_); });
  if (!runs_apart(checked, own)) [[likely]]
    return run_checked(checked, own);
  own = {.buffers =
             attempt(false, [&] { return own_block_.instead_of(call.collective, own.buffers); })};
  own_block_.before_start();
  run_checked(checked, own);
  own_block_.after_wait();
}

void Collectives::Impl::run_checked(const CheckedCall& checked, const OwnBuffers& own) {
  parts_.waits->meanwhile.begin();
  const std::uint16_t choice = executor_->begin(checked.program);
  if (choice != Choices::library && attempt(true, [&] {
        return executor_->run(choice, checked.program, own.in_place, own.buffers, checked.blocks);
      })) {
    executor_->finish();
    return;
  }
  const Call next = kernel_call(checked, own);
  plain_->check(next.problem);
  Operation* const operation = attempt_together(true, [&] { return &plain_->next(next); });
  attempt(true, [&] {
    operation->start();
    operation->wait(no_deadline);
  });
  executor_->finish();
}

bool Collectives::Impl::is_registered(const CallBuffers& buffers) const {
  const Communicator& communicator = executor_->communicator();
  return (buffers.send.empty() || communicator.symmetric_address_of(buffers.send)) &&
         (buffers.receive.empty() || communicator.symmetric_address_of(buffers.receive));
}

std::unique_ptr<Operation> Collectives::Impl::prepare_winner(const Choices& choices, Call call,
                                                             const ProgramCall& program,
                                                             std::string& variant) {
  const Choices::Entry* const entry = find_entry(choices, program);
  if (entry == nullptr) return nullptr;
  const Implementation* const found =
      find_implementation(*parts_.catalogue, entry->variant.implementation);
  if (found == nullptr) return nullptr;  // of no rank: the builds are the same
  call.problem.data_type = program.data_type;
  try {
    auto operation = found->prepare(executor_->communicator(), call, entry->variant, no_deadline);
    variant = to_string(entry->variant);
    return operation;
  } catch (const RankMissing&) {
    throw;
  } catch (const Error& error) {  // on all ranks or none
    notes_.push_back(fmt::format("a persistent call is not run by {}: {}",
                                 to_string(entry->variant), error.what()));
    return nullptr;
  }
}

Collectives::Impl::Buffers Collectives::Impl::agree_on_buffers(const CollectiveCall& call,
                                                               Prepared& prepared) {
  constexpr std::int64_t not_valid = 2;
  const ProgramCall& program = prepared.checked.program;
  std::optional<Error> refused;
  std::int64_t own = not_valid;
  try {
    prepared.own = check_own(call, prepared.checked, rank_);
    const bool are_registered =
        !runs_apart(prepared.checked, prepared.own) && is_registered(prepared.own.buffers);
    own = static_cast<std::int64_t>(are_registered ? Buffers::registered : Buffers::anywhere);
  } catch (const Error& error) {
    refused = error;
  }
  parts_.waits->meanwhile.begin();
  executor_->note(program);
  const std::int64_t all =
      attempt(true, [&] { return executor_->communicator().all_reduce_max(own, no_deadline); });
  if (refused) throw *refused;
  if (all == not_valid)
    throw Error(StatusCode::invalid_argument,
                describe(program) + ": another rank's buffers are not valid");
  return static_cast<Buffers>(all);
}

std::unique_ptr<Operation> Collectives::Impl::prepare_best(const Call& call,
                                                           const ProgramCall& program,
                                                           Buffers buffers, std::string& variant) {
  std::unique_ptr<Operation> operation;
  if (buffers == Buffers::registered) {
    Call registered = call;
    registered.problem.registered = true;
    operation = prepare_winner(registered_, registered, program, variant);
  }
  if (operation == nullptr) operation = prepare_winner(persistent_, call, program, variant);
  if (operation == nullptr) operation = plain_->prepare(call);
  return operation;
}

Collectives::Impl::Prepared Collectives::Impl::prepare(const CollectiveCall& call) {
  require_whole();
  Prepared prepared{.checked = check_alike(call, ranks_, blocks_)};
  const CheckedCall& checked = prepared.checked;
  if (ranks_ == 1) {
    prepared.own = check_own(call, checked, rank_);
    return prepared;
  }
  if (checked.program.message_size == Bytes{}) return prepared;
  const Buffers buffers = agree_on_buffers(call, prepared);
  Call kernels = kernel_call(checked, prepared.own);
  kernels.is_persistent = true;
  plain_->check(kernels.problem);
  const auto make = [&](const Call& one) {
    return prepare_best(one, checked.program, buffers, prepared.variant);
  };
  prepared.operation = attempt_together(true, [&]() -> std::unique_ptr<Operation> {
    if (runs_apart(checked, prepared.own)) return std::make_unique<ByWayOfBlock>(kernels, make);
    return make(kernels);
  });
  prepared.checked.blocks = {};  // those of the next call
  count(prepared, std::string(name_of(checked.program.collective)));
  return prepared;
}

void Collectives::Impl::check_mesh(const MeshReduction& mesh) const {
  colltune::check(mesh);
  if (ranks_of(mesh) != ranks_)
    throw Error(StatusCode::invalid_argument,
                fmt::format("a mesh {} has {} ranks; the communicator has {}", shape_text(mesh),
                            ranks_of(mesh), ranks_));
}

Subgroups& Collectives::Impl::subgroups() {
  if (subgroups_ == nullptr) subgroups_ = std::make_unique<Subgroups>(executor_->communicator());
  return *subgroups_;
}

MeshCalls& Collectives::Impl::mesh_calls() {
  if (mesh_calls_ == nullptr)
    mesh_calls_ = std::make_unique<MeshCalls>(subgroups(), std::move(meshes_), *parts_.catalogue,
                                              parts_.plain);
  return *mesh_calls_;
}

void Collectives::Impl::run(const MeshReductionCall& call) {
  require_whole();
  MeshCalls& calls = mesh_calls();
  MeshCalls::Mesh* mesh = calls.find(call.mesh);
  if (mesh == nullptr) check_mesh(call.mesh);
  const CollectiveCall as_one = as_all_reduce(call);
  const CheckedCall checked = check_alike(as_one, ranks_, blocks_);
  if (ranks_ == 1) {
    move_alone(checked, check_own(as_one, checked, rank_));
    return;
  }
  if (checked.program.message_size == Bytes{}) return;
  const OwnBuffers own = attempt(false, [&] { return check_own(as_one, checked, rank_); });
  const Call kernels = kernel_call(checked, own);
  plain_->check(kernels.problem);
  if (mesh == nullptr) mesh = &calls.add(call.mesh);
  parts_.waits->meanwhile.begin();
  executor_->note(
      mesh_program_call(call.data_type, checked.program.message_size, MeshCalls::number_of(*mesh)));
  if (!calls.is_prepared(*mesh, kernels)) {
    const auto begun = CallTimer::steady_now();
    attempt_together(true, [&] { calls.prepare(*mesh, kernels); });
    set_up_ += CallTimer::steady_now() - begun;
  }
  attempt(true, [&] {
    const MeshCalls::Next next = calls.next(*mesh, kernels);
    mesh_timer_.begin(next.samples);
    next.operation.start();
    next.operation.wait(no_deadline);
  });
  mesh_timer_.end();
}

std::unique_ptr<Operation> Collectives::Impl::prepare_form(const Call& call, std::string& variant) {
  const std::string mesh = mesh_name(*call.problem.mesh);
  const auto chosen = std::ranges::find_if(persistent_meshes_.all, [&](const MeshChoice& one) {
    return one.mesh == mesh && one.data_type == call.problem.data_type &&
           one.from <= call.problem.message_size && call.problem.message_size <= one.to;
  });
  if (chosen == persistent_meshes_.all.end()) return nullptr;
  const std::string name =
      to_string(name_composition(operation_name(call.problem), chosen->composition));
  try {
    auto operation = prepare_mesh_reduce(subgroups(), call, chosen->composition, {},
                                         *parts_.catalogue, no_deadline);
    variant = name;
    return operation;
  } catch (const RankMissing&) {
    throw;
  } catch (const Error& error) {  // on all ranks or none
    notes_.push_back(fmt::format("a mesh reduction is not run by {}: {}", name, error.what()));
    return nullptr;
  }
}

Collectives::Impl::Prepared Collectives::Impl::prepare(const MeshReductionCall& call) {
  require_whole();
  check_mesh(call.mesh);
  const CollectiveCall as_one = as_all_reduce(call);
  Prepared prepared{.checked = check_alike(as_one, ranks_, blocks_)};
  const CheckedCall& checked = prepared.checked;
  if (ranks_ == 1) {
    prepared.own = check_own(as_one, checked, rank_);
    return prepared;
  }
  if (checked.program.message_size == Bytes{}) return prepared;
  (void)agree_on_buffers(as_one, prepared);
  Call kernels = kernel_call(checked, prepared.own);
  plain_->check(kernels.problem);
  kernels.problem.kind = ProblemKind::mesh_reduce;
  kernels.problem.reduce_op = ReduceOp::none;
  kernels.problem.mesh = call.mesh;
  kernels.is_persistent = true;
  attempt_together(true, [&] {
    prepared.operation = prepare_form(kernels, prepared.variant);
    if (prepared.operation == nullptr)
      prepared.operation = make_step_chain(subgroups(), kernels, parts_.plain);
  });
  count(prepared, "mesh_reduce");
  return prepared;
}

void Collectives::Impl::count(Prepared& prepared, const std::string& plain) {
  prepared.timer = CallTimer(CallTimer::steady_now, ++persistent_calls_);
  prepared.samples = &persistent_samples_[prepared.variant.empty() ? "left to the library: " + plain
                                                                   : prepared.variant];
}

void Collectives::Impl::start(Prepared& prepared) {
  require_whole();
  prepared.timer.begin(*prepared.samples);
  executor_->note(prepared.checked.program);
  attempt(true, [&] { prepared.operation->start(); });
  prepared.timer.pause();
}

void Collectives::Impl::wait(Prepared& prepared) {
  require_whole();
  prepared.timer.go_on();
  parts_.waits->meanwhile.begin();
  attempt(true, [&] { prepared.operation->wait(no_deadline); });
  prepared.timer.end();
}

std::unique_ptr<SymmetricMemory> Collectives::Impl::allocate(Bytes bytes) {
  require_whole();
  if (bytes == Bytes{})
    throw Error(StatusCode::invalid_argument, "symmetric memory has at least 1 byte, not 0");
  return attempt_together(false,
                          [&] { return executor_->communicator().allocate(bytes, no_deadline); });
}

std::string Collectives::Impl::report() const {
  Report report;
  report.add(*executor_);
  for (const auto& [ran_by, samples] : persistent_samples_)
    if (samples.calls > 0) report.add_persistent(ran_by, samples.estimate());
  if (mesh_calls_ != nullptr)
    for (const auto& [ran_by, samples] : mesh_calls_->samples())
      if (samples.calls > 0) report.add_mesh(ran_by, samples.estimate());
  report.add_set_up(set_up_);
  std::string text = report.text(rank_);
  for (const std::string& note : notes_) text += "\n  " + note;
  if (mesh_calls_ != nullptr)
    for (const std::string& note : mesh_calls_->notes()) text += "\n  " + note;
  return text;
}

}  // namespace colltune
