// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The functions of libnccl, and the fake library's own.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "support/fake_nccl/communicators.h"

using namespace colltune;        // NOLINT: what follows is C
using namespace colltune::test;  // NOLINT
using nccl::NativeHandle;
using nccl::Result;
using nccl::Stream;

namespace {

FakeMember& member_of(NativeHandle handle) { return *reinterpret_cast<FakeMember*>(handle); }

DataType type_of(int native) {
  for (const auto& named : enum_names(DataType{}))
    if (nccl::native_type(named.value) == native) return named.value;
  return DataType::u8;
}

Result call(FakeCall call, NativeHandle handle, Stream stream) {
  FakeMember& member = member_of(handle);
  member.begin_call(call);
  return member.call(call, stream);
}

bool knows_2_28() {
  const std::lock_guard lock(fake_library().mutex);
  return fake_library().settings.version >= nccl::version_code(2, 28, 0);
}

FakeCall make_call(Collective collective, const void* send, void* receive, std::size_t count,
                   int type) {
  return {.collective = collective,
          .type = type_of(type),
          .op = ReduceOp::none,
          .count = count,
          .send = static_cast<const std::byte*>(send),
          .receive = static_cast<std::byte*>(receive)};
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

Result ncclGetVersion(int* version) {
  const std::lock_guard lock(fake_library().mutex);
  *version = fake_library().settings.version;
  return nccl::result_success;
}

Result ncclGetUniqueId(nccl::UniqueId* id) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  // Unlike those of other processes.
  const std::uint64_t name = static_cast<std::uint64_t>(::getpid()) << 32 | ++library.names;
  // All bytes matter, as in the real one.
  std::memset(id->internal, 0xA5, sizeof id->internal);
  std::memcpy(id->internal, &name, sizeof name);
  std::memcpy(id->internal + sizeof id->internal - sizeof name, &name, sizeof name);
  return nccl::result_success;
}

Result ncclCommInitRankConfig(NativeHandle* made, int ranks, nccl::UniqueId id, int rank,
                              nccl::Configuration* configuration) {
  const nccl::Configuration expected;
  std::uint64_t name = 0;
  std::uint64_t again = 0;
  std::memcpy(&name, id.internal, sizeof name);
  std::memcpy(&again, id.internal + sizeof id.internal - sizeof name, sizeof name);
  if (name != again || name == 0 || configuration->magic != expected.magic ||
      configuration->blocking != 1 || rank >= most_fake_ranks)
    return nccl::result_invalid_argument;
  FakeLibrary& library = fake_library();
  // Until 2.28 a library knows the beginning alone.
  const bool is_whole = configuration->size == sizeof expected;
  if (is_whole ? configuration->version != nccl::version_code(2, 28, 0) || !knows_2_28()
               : configuration->size != expected.size || configuration->version != expected.version)
    return nccl::result_invalid_argument;
  const int policy = is_whole ? configuration->cta_policy : nccl::Configuration::undefined;
  std::shared_ptr<FakeMember> member;
  {
    const std::lock_guard lock(library.mutex);
    auto& group = library.groups[name];
    if (!group) group = std::make_shared<FakeGroup>();
    group->identity = name;
    group->ranks = ranks;
    if (library.settings.is_across_processes && !group->shared) {
      group->shared = open_shared_group(name);
      if (!group->shared) return nccl::result_system_error;
    }
    member = std::make_shared<FakeMember>(group, rank,
                                          static_cast<nccl::CtaPolicy>(std::max(0, policy)));
    library.members.push_back(member);
    library.made[static_cast<std::size_t>(rank)].push_back(
        {.fewest_ctas = std::max(0, configuration->fewest_ctas),
         .most_ctas = std::max(0, configuration->most_ctas),
         .policy = std::max(0, policy),
         .blocking = configuration->blocking});
  }
  *made = reinterpret_cast<NativeHandle>(member.get());
  FakeMember& joining = *member;
  return joining.have_done([&joining] { return joining.join(); });
}

Result ncclCommFinalize(NativeHandle handle) {
  return member_of(handle).have_done([] { return nccl::result_success; });
}
Result ncclCommDestroy(NativeHandle handle) {
  const Result result = member_of(handle).end(false);
  const std::lock_guard lock(fake_library().mutex);
  ++fake_library().counts.destroyed;
  return result;
}
Result ncclCommAbort(NativeHandle handle) {
  const Result result = member_of(handle).end(true);
  const std::lock_guard lock(fake_library().mutex);
  ++fake_library().counts.aborted;
  return result;
}
Result ncclCommGetAsyncError(NativeHandle handle, Result* error) {
  *error = member_of(handle).state();
  return nccl::result_success;
}
const char* ncclGetErrorString(Result result) {
  return result == nccl::result_system_error ? "unhandled system error" : "some error";
}
const char* ncclGetLastError(NativeHandle /*handle*/) { return "what the fake library says last"; }

Result ncclCommRegister(NativeHandle handle, void* memory, std::size_t bytes, void** registered) {
  if (handle == nullptr || bytes == 0) return nccl::result_invalid_argument;
  *registered = memory;
  const std::lock_guard lock(fake_library().mutex);
  ++fake_library().counts.registered;
  return nccl::result_success;
}
Result ncclCommDeregister(NativeHandle /*handle*/, void* /*registered*/) {
  const std::lock_guard lock(fake_library().mutex);
  --fake_library().counts.registered;
  return nccl::result_success;
}

Result ncclMemAlloc(void** made, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  *made = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  library.allocations[*made] = bytes;
  ++library.counts.allocations;
  return nccl::result_success;
}
Result ncclMemFree(void* memory) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  if (library.allocations.erase(memory) == 0) return nccl::result_invalid_argument;
  --library.counts.allocations;
  std::free(memory);
  return nccl::result_success;
}

Result ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence,
                                NativeHandle handle) {
  if (residence != nccl::scalar_host_immediate) return nccl::result_invalid_argument;
  *op = member_of(handle).add_op(scalar, type_of(type));
  return nccl::result_success;
}
Result ncclRedOpDestroy(int op, NativeHandle handle) { return member_of(handle).remove_op(op); }

Result ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op,
                     NativeHandle handle, Stream stream) {
  FakeCall made = make_call(Collective::all_reduce, send, receive, count, type);
  member_of(handle).set_op(op, made);
  return call(made, handle, stream);
}
Result ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int op,
                         NativeHandle handle, Stream stream) {
  FakeCall made = make_call(Collective::reduce_scatter, send, receive, count, type);
  member_of(handle).set_op(op, made);
  return call(made, handle, stream);
}
Result ncclReduce(const void* send, void* receive, std::size_t count, int type, int op, int root,
                  NativeHandle handle, Stream stream) {
  FakeCall made = make_call(Collective::reduce, send, receive, count, type);
  member_of(handle).set_op(op, made);
  made.root = root;
  return call(made, handle, stream);
}
Result ncclAllGather(const void* send, void* receive, std::size_t count, int type,
                     NativeHandle handle, Stream stream) {
  return call(make_call(Collective::all_gather, send, receive, count, type), handle, stream);
}
Result ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root,
                     NativeHandle handle, Stream stream) {
  FakeCall made = make_call(Collective::broadcast, send, receive, count, type);
  made.root = root;
  return call(made, handle, stream);
}

void fake_nccl_configure(const FakeNcclSettings* settings) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  library.settings = *settings;
  library.counts = {};
  library.last.fill({});
  library.made.fill({});
  library.callers.fill(0);
  library.configured.fill({});
  library.held_rank = -1;
  library.is_one_held = false;
  library.awaits_graphs = false;
}
void fake_nccl_change(const FakeNcclSettings* settings) {
  const std::lock_guard lock(fake_library().mutex);
  fake_library().settings = *settings;
  fake_library().changed.notify_all();
}
FakeNcclCounts fake_nccl_count() {
  const std::lock_guard lock(fake_library().mutex);
  return fake_library().counts;
}
void fake_nccl_hold(int rank) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  library.held_rank = rank;
  library.is_one_held = false;
  library.changed.notify_all();
}
void fake_nccl_await_held() {
  FakeLibrary& library = fake_library();
  std::unique_lock lock(library.mutex);
  library.changed.wait(lock, [&] { return library.is_one_held; });
}
void fake_nccl_await_end() {
  FakeLibrary& library = fake_library();
  std::unique_lock lock(library.mutex);
  library.changed.wait(lock, [&] { return library.awaits_graphs; });
}
int fake_nccl_made(int rank, FakeNcclMade* into, int most) {
  const std::lock_guard lock(fake_library().mutex);
  const auto& made = fake_library().made[static_cast<std::size_t>(rank)];
  std::copy_n(made.begin(), std::min(made.size(), static_cast<std::size_t>(most)), into);
  return static_cast<int>(made.size());
}
int fake_nccl_caller(int rank) {
  const std::lock_guard lock(fake_library().mutex);
  return fake_library().callers[static_cast<std::size_t>(rank)];
}
FakeNcclChoice fake_nccl_last(int rank) {
  const std::lock_guard lock(fake_library().mutex);
  return fake_library().last[static_cast<std::size_t>(rank)];
}

#pragma GCC visibility pop
}
