// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What an older library does not have.

#include "support/fake_nccl/communicators.h"

using namespace colltune;        // NOLINT: what follows is C
using namespace colltune::test;  // NOLINT
using nccl::NativeHandle;
using nccl::Result;

namespace {

Result call(Collective collective, const void* send, void* receive, std::size_t count, int type,
            int root, NativeHandle handle, nccl::Stream stream) {
  FakeCall made{.collective = collective,
                .op = ReduceOp::none,
                .root = root,
                .count = count,
                .send = static_cast<const std::byte*>(send),
                .receive = static_cast<std::byte*>(receive)};
  for (const auto& named : enum_names(DataType{}))
    if (nccl::native_type(named.value) == type) made.type = named.value;
  FakeMember& member = *reinterpret_cast<FakeMember*>(handle);
  member.begin_call(made);
  return member.call(made, stream);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

// Since 2.28.7.
Result ncclCommRevoke(NativeHandle handle, int flags) {
  if (flags != nccl::revoke_as_usual) return nccl::result_invalid_argument;
  return reinterpret_cast<FakeMember*>(handle)->revoke();
}

// Since 2.27.
Result ncclCommWindowRegister(NativeHandle handle, void* memory, std::size_t bytes,
                              nccl::NativeWindow* made, int flags) {
  if (flags != nccl::symmetric_window || bytes == 0) return nccl::result_invalid_argument;
  FakeMember& member = *reinterpret_cast<FakeMember*>(handle);
  return member.have_done([&member, memory, bytes, made] {
    return member.open_window(static_cast<std::byte*>(memory), bytes, made);
  });
}
Result ncclCommWindowDeregister(NativeHandle handle, nccl::NativeWindow window) {
  return reinterpret_cast<FakeMember*>(handle)->close_window(window);
}

Result ncclAlltoAll(const void* send, void* receive, std::size_t count, int type,
                    NativeHandle handle, nccl::Stream stream) {
  return call(Collective::all_to_all, send, receive, count, type, 0, handle, stream);
}
Result ncclGather(const void* send, void* receive, std::size_t count, int type, int root,
                  NativeHandle handle, nccl::Stream stream) {
  return call(Collective::gather, send, receive, count, type, root, handle, stream);
}
Result ncclScatter(const void* send, void* receive, std::size_t count, int type, int root,
                   NativeHandle handle, nccl::Stream stream) {
  return call(Collective::scatter, send, receive, count, type, root, handle, stream);
}

#pragma GCC visibility pop
}
