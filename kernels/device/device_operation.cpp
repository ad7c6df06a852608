// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "device_operation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "colltune/kernels/device.h"
#include "descriptor_mailbox.h"
#include "device_board.h"
#include "joint_launch.h"
#include "launched_operation.h"
#include "process_identity.h"
#include "virtual_memory.h"

namespace colltune {
namespace {

/// The byte that a device writes to its peers, to check that it arrives there.
constexpr unsigned char probe_byte = 0xC5;

class Preparation {
 public:
  Preparation(Communicator& communicator, const DevicePlan& plan, const Call& call,
              Deadline deadline)
      : communicator_(communicator),
        plan_(plan),
        call_(call),
        buffers_(call.buffers),
        deadline_(deadline),
        device_(*communicator.device()),
        boards_(communicator.allocate({sizeof(DeviceBoard)}, deadline)) {
    ::new (static_cast<void*>(boards_->part(communicator.rank()).data())) DeviceBoard;
  }

  std::unique_ptr<Operation> run() {
    if (plan_.has_host_scratch) host_memory_ = communicator_.allocate({scratch_size()}, deadline_);
    agree([this] { show_device(); });
    group_ = find_group();
    const bool leads = group_.front() == communicator_.rank();
    agree([this] { choose_memory(); });
    agree([this] { show_memory(); });
    agree([this] { share_memory(); });
    if (is_virtual_) agree([&] { map_memory(leads); });
    if (is_virtual_ && plan_.call.registered) {
      // One after the other, since the mailbox handles one round at a time.
      agree([&] { mapped_sends_ = map_pieces(3, leads, own_send_, &DeviceBoard::send); });
      agree([&] { mapped_receives_ = map_pieces(4, leads, own_receive_, &DeviceBoard::receive); });
    }
    if (has_multicast_) make_multicast();
    const int first = first_of_process();
    agree([&] {
      if (!plan_.has_host_scratch || first != communicator_.rank()) return;
      host_scratch_ = std::make_shared<const HostScratch>(device_, std::move(host_memory_),
                                                          communicator_.size(), scratch_size());
      own_board().host_scratch = &host_scratch_;
    });
    if (plan_.has_host_scratch && first != communicator_.rank())
      host_scratch_ = *board(first).host_scratch;
    std::shared_ptr<JointLaunch> joint;
    agree([&] {
      if (!leads) return;
      joint = make_joint_launch();
      own_board().joint = &joint;
    });
    if (!leads) joint = *board(group_.front()).joint;
    agree([this] { check_probes(); });
    communicator_.barrier(deadline_);  // keeps each board until all have read it
    const auto place = std::ranges::find(group_, communicator_.rank()) - group_.begin();
    return make_launched_operation(std::move(joint), static_cast<std::size_t>(place), communicator_,
                                   call_, plan_);
  }

 private:
  [[nodiscard]] DeviceBoard& board(int rank) const {
    return *reinterpret_cast<DeviceBoard*>(boards_->part(rank).data());
  }
  [[nodiscard]] DeviceBoard& own_board() const { return board(communicator_.rank()); }

  /// Runs `act`, which may fail on this rank alone. All ranks throw the error of one that failed.
  template <class Act>
  void agree(Act act) {
    const std::size_t step = steps_++;
    DeviceFailure& own = own_board().failures[step];
    const auto note = [&own](StatusCode code, const char* what) -> DeviceFailure& {
      own.happened = true;
      own.code = code;
      std::strncpy(own.what, what, sizeof own.what - 1);
      return own;
    };
    try {
      act();
    } catch (const UnavailableHere& error) {
      note(error.code(), error.what()).is_unavailable = true;
    } catch (const Error& error) {
      note(error.code(), error.what());
    } catch (const std::exception& error) {
      note(StatusCode::resource_exhausted, error.what());
    }
    communicator_.barrier(deadline_);
    const int rank = who_failed(step);
    if (rank == communicator_.size()) return;
    const DeviceFailure failure = board(rank).failures[step];
    communicator_.barrier(deadline_);  // until all have read it
    const std::string what = "rank " + std::to_string(rank) + ": " + failure.what;
    if (failure.is_unavailable) throw UnavailableHere(what);
    throw Error(failure.code, what);
  }
  /// The first rank where `step` failed with an error; if there was none, the first that found
  /// something unavailable. `size()`: no rank.
  [[nodiscard]] int who_failed(std::size_t step) const {
    int found = communicator_.size();
    for (int rank = communicator_.size() - 1; rank >= 0; --rank) {
      const DeviceFailure& failure = board(rank).failures[step];
      if (!failure.happened) continue;
      const bool is_worse = found == communicator_.size() || !failure.is_unavailable ||
                            board(found).failures[step].is_unavailable;
      if (is_worse) found = rank;
    }
    return found;
  }

  /// Runs `act`, which makes the memory of `rank` reachable for this device. That some devices
  /// cannot reach it, which no rank's capabilities tell, is not an error: such devices use scratch
  /// memory on the host.
  template <class Act>
  static auto come_to(int rank, Act act) {
    try {
      return act();
    } catch (const Error& error) {
      if (error.code() != StatusCode::failed_precondition) throw;
      throw UnavailableHere(std::string(error.what()) +
                            "; its device does not reach the memory of rank " +
                            std::to_string(rank));
    }
  }

  [[nodiscard]] std::uint64_t scratch_size() const {
    return device::signals_size + plan_.call.scratch_bytes;
  }

  static SharedDeviceBytes show(std::span<const std::byte> bytes) {
    return {.here = bytes.empty() ? nullptr : const_cast<std::byte*>(bytes.data())};
  }

  void show_device() {
    if (plan_.longest_wait <= std::chrono::nanoseconds(0))
      throw Error(StatusCode::invalid_argument, "the longest wait of a kernel is " +
                                                    std::to_string(plan_.longest_wait.count()) +
                                                    " ns; allowed are values above 0");
    DeviceBoard& own = own_board();
    own.process = own_process();
    own.device = &device_;
    VirtualMemory* const memory = device_.virtual_memory();
    if (memory == nullptr || plan_.has_host_scratch) return;
    mailbox_.emplace(communicator_.rank());
    own.mailbox = mailbox_->address();
    own.has_multicast = memory->why_no_multicast().empty();
    own.has_virtual_memory = true;
  }

  /// Depends only on what all ranks' devices can do, so that all ranks choose alike.
  void choose_memory() {
    bool all_have_it = true;
    bool is_alone = true;
    bool all_spread = true;
    bool one_spreads = false;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const DeviceBoard& of = board(rank);
      all_have_it = all_have_it && of.has_virtual_memory;
      is_alone = is_alone && shares_device(of);
      all_spread = all_spread && of.has_multicast;
      one_spreads = one_spreads || of.has_multicast;
    }
    has_multicast_ = plan_.algorithm.needs_multicast && all_spread;
    is_virtual_ = all_have_it && (!is_alone || has_multicast_);
    if (!plan_.algorithm.needs_multicast || !one_spreads) return;
    if (!own_board().has_multicast)
      throw Error(StatusCode::failed_precondition,
                  device_.virtual_memory() == nullptr
                      ? "its device has no memory that could be one with that of others"
                      : device_.virtual_memory()->why_no_multicast());
    if (group_.size() > 1)
      throw Error(StatusCode::failed_precondition,
                  std::to_string(group_.size()) +
                      " ranks share a device, and multicast reaches each device once");
  }

  void show_memory() {
    member_.rank = communicator_.rank();
    DeviceBoard& own = own_board();
    const std::uint64_t counters = std::uint64_t{device::most_blocks} * sizeof(std::uint64_t);
    // The counters of this rank's blocks follow the scratch memory.
    const bool is_elsewhere = plan_.has_host_scratch || is_virtual_;
    const std::uint64_t in_front = is_elsewhere ? 0 : scratch_size();
    member_.scratch = DeviceMemory(device_, {in_front + counters});
    const std::span<std::byte> bytes = member_.scratch.bytes();
    device_.fill(bytes, 0);
    own.counters = bytes.data() + in_front;
    std::span<std::byte> scratch = bytes.first(in_front);
    if (is_virtual_) {
      member_.own = device_.virtual_memory()->create(virtual_size());
      scratch = member_.own.bytes().first(scratch_size());
      device_.fill(scratch, 0);
    }
    const unsigned char fill = plan_.algorithm.scratch_fill;
    if (plan_.has_host_scratch) {  // host memory starts zeroed
      const std::span<std::byte> part = host_memory_->part(communicator_.rank());
      std::ranges::fill(part.subspan(device::signals_size, plan_.call.scratch_bytes),
                        std::byte{fill});
    } else if (fill != 0) {
      device_.fill(scratch.subspan(device::signals_size, plan_.call.scratch_bytes), fill);
    }
    own.member = &member_;
    own.scratch = show(scratch);
    own.send = show(buffers_.send);
    own.receive = show(buffers_.receive);
  }

  /// Shares memory with ranks in other processes or on other devices.
  void share_memory() {
    DeviceBoard& own = own_board();
    bool is_alone = true;
    for (int rank = 0; rank < communicator_.size(); ++rank)
      is_alone = is_alone && board(rank).process == own.process;
    if (is_virtual_)
      own_memory_ = member_.own.handle.share();
    else if (!is_alone && !plan_.has_host_scratch)
      own.scratch.handle = share_or_say("scratch memory", own_scratch());
    if (!plan_.call.registered) return;
    share_buffer("send", buffers_.send, !is_alone, own.send, own_send_);
    share_buffer("receive", buffers_.receive, !is_alone, own.receive, own_receive_);
  }

  /// Shares `bytes` with other processes; their allocator or the system may not allow it.
  DeviceHandle share_or_say(const std::string& name, std::span<const std::byte> bytes) {
    try {
      return device_.share(bytes);
    } catch (const Error& error) {
      if (error.code() != StatusCode::failed_precondition) throw;
      throw UnavailableHere("its " + name + " of " + format_bytes({bytes.size()}) +
                            " cannot be opened by other processes: " + error.what());
    }
  }
  /// Shares a registered buffer. If another allocator made it of virtual memory, it goes by
  /// descriptors, which other devices of this process also have to map.
  void share_buffer(const char* name, std::span<const std::byte> bytes, bool has_other_processes,
                    SharedDeviceBytes& shown, std::vector<Descriptor>& descriptors) {
    if (bytes.empty()) return;
    const std::string named = "registered " + std::string(name) + " buffer";
    std::optional<SharedPieces> pieces;
    try {
      if (is_virtual_) pieces = device_.virtual_memory()->share_foreign(bytes, most_pieces);
    } catch (const UnavailableHere& error) {
      throw UnavailableHere("its " + named + " of " + format_bytes({bytes.size()}) +
                            " cannot be opened by other ranks: " + error.what());
    }
    if (pieces) {
      shown.pieces = pieces->sizes.size();
      shown.offset = pieces->offset;
      std::ranges::copy(pieces->sizes, shown.sizes.begin());
      descriptors = std::move(pieces->descriptors);
    } else if (has_other_processes) {
      shown.handle = share_or_say(named, bytes);
    }
  }

  /// Every device maps the scratch memory of all ranks on other devices, in this process or
  /// another.
  void map_memory(bool leads) {
    std::vector<DescriptorMailbox::Letter> letters;
    std::vector<int> others;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (shares_device(board(rank))) continue;
      if (is_leader(rank)) letters.push_back({rank, board(rank).mailbox, own_memory_.get()});
      if (leads) others.push_back(rank);
    }
    const auto memories =
        mailbox_->exchange(1, letters, others, deadline_, communicator_.abort_flag());
    for (std::size_t i = 0; i < memories.size(); ++i)
      member_.mapped.push_back(come_to(others[i], [&] {
        return device_.virtual_memory()->open_shared(memories[i], virtual_size());
      }));
    mapped_ranks_ = std::move(others);
  }

  /// Every device maps the registered buffers that ranks on other devices share by descriptors.
  /// Returns the addresses by rank; null if a rank has none.
  std::vector<std::byte*> map_pieces(std::uint32_t round, bool leads,
                                     std::span<const Descriptor> own,
                                     SharedDeviceBytes DeviceBoard::*buffer) {
    std::vector<DescriptorMailbox::Letter> letters;
    std::vector<int> senders;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const DeviceBoard& of = board(rank);
      if (shares_device(of)) continue;
      if (is_leader(rank))
        for (const Descriptor& one : own) letters.push_back({rank, of.mailbox, one.get()});
      if (leads) senders.insert(senders.end(), (of.*buffer).pieces, rank);
    }
    const auto got =
        mailbox_->exchange(round, letters, senders, deadline_, communicator_.abort_flag());
    std::vector<std::byte*> addresses(static_cast<std::size_t>(communicator_.size()));
    for (std::size_t i = 0; i < got.size();) {
      const int rank = senders[i];
      const SharedDeviceBytes& shown = board(rank).*buffer;
      member_.mapped.push_back(come_to(rank, [&] {
        return device_.virtual_memory()->open_pieces({&got[i], shown.pieces},
                                                     {shown.sizes.data(), shown.pieces});
      }));
      addresses[static_cast<std::size_t>(rank)] =
          member_.mapped.back().bytes().data() + shown.offset;
      i += shown.pieces;
    }
    return addresses;
  }

  /// Makes one multicast object of the memory of all ranks' devices. No device binds its memory or
  /// maps the object before all have been added: the driver would block until then, without limit.
  void make_multicast() {
    VirtualMemory& memory = *device_.virtual_memory();
    const std::shared_ptr<SymmetricMemory> parting =
        communicator_.allocate({sizeof(std::uint64_t)}, deadline_);
    std::unique_ptr<Multicast> object;
    std::vector<DescriptorMailbox::Letter> letters;
    std::vector<int> from;
    Descriptor shared;
    agree([&] {
      if (communicator_.rank() != 0) return from.push_back(0);
      object = memory.create_multicast(communicator_.size(), virtual_size());
      shared = object->share();
      for (int rank = 1; rank < communicator_.size(); ++rank)
        letters.push_back({rank, board(rank).mailbox, shared.get()});
    });
    agree([&] {
      const auto got = mailbox_->exchange(2, letters, from, deadline_, communicator_.abort_flag());
      if (!object)
        object = memory.open_multicast(got.front(), communicator_.size(), virtual_size());
      object->add_device();
    });
    agree([&] {
      object->bind(member_.own);
      multicast_ = object->map();
    });
    // From here on other ranks may access this rank's part.
    member_.multicast = {.memory = std::move(member_.own),
                         .multicast = std::move(object),
                         .parting = parting,
                         .rank = communicator_.rank(),
                         .ranks = communicator_.size()};
  }

  [[nodiscard]] int first_of_process() const {
    int first = 0;
    while (board(first).process != own_board().process) ++first;
    return first;
  }

  /// The ranks of this process on this device.
  [[nodiscard]] std::vector<int> find_group() const {
    std::vector<int> group;
    for (int rank = 0; rank < communicator_.size(); ++rank)
      if (shares_device(board(rank))) group.push_back(rank);
    return group;
  }
  /// Whether `rank` is the first one of its process on its device.
  [[nodiscard]] bool is_leader(int rank) const {
    for (int other = 0; other < rank; ++other)
      if (board(other).process == board(rank).process && board(other).device == board(rank).device)
        return false;
    return true;
  }
  [[nodiscard]] std::size_t virtual_size() const {
    return device_.virtual_memory()->size_for(scratch_size(),
                                              has_multicast_ ? communicator_.size() : 0);
  }
  [[nodiscard]] std::span<const std::byte> own_scratch() const {
    return {own_board().scratch.here, scratch_size()};
  }

  /// The calls of the ranks of `group_`, with their peers' addresses in `peers_`. `opened` collects
  /// the memory of other processes that was opened.
  [[nodiscard]] std::vector<device::DeviceCall> describe_calls(std::vector<std::byte*>& opened,
                                                               device::Control& control) {
    const auto reach = [&](int rank, const SharedDeviceBytes& bytes) -> std::byte* {
      if (bytes.here == nullptr) return nullptr;
      if (board(rank).process == own_board().process) return bytes.here;
      opened.push_back(come_to(rank, [&] { return device_.open(bytes.handle); }));
      return opened.back();
    };
    device::DeviceCall all = plan_.call;
    all.look_up_peers_in(peers_);
    all.control = &control;
    all.limit_ns = static_cast<std::uint64_t>(plan_.longest_wait.count());
    all.multicast = multicast_;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      const DeviceBoard& of = board(rank);
      if (plan_.has_host_scratch) {
        peers_.scratch[rank] = host_scratch_->of(rank);
        continue;
      }
      const bool is_near = of.process == own_board().process && of.device != &device_;
      const auto needs_reach = [](const SharedDeviceBytes& bytes) {
        return bytes.here != nullptr && bytes.pieces == 0;
      };
      if (is_near &&
          (!is_virtual_ || (all.registered && (needs_reach(of.send) || needs_reach(of.receive)))))
        come_to(rank, [&] { device_.reach(*of.device); });
      peers_.scratch[rank] =
          is_virtual_ && !shares_device(of) ? mapped_scratch(rank) : reach(rank, of.scratch);
      if (!all.registered) continue;
      const auto reach_buffer = [&](const SharedDeviceBytes& bytes, const auto& mapped) {
        return bytes.pieces > 0 && !shares_device(of) ? mapped[static_cast<std::size_t>(rank)]
                                                      : reach(rank, bytes);
      };
      peers_.sends[rank] = reach_buffer(of.send, mapped_sends_);
      peers_.receives[rank] = reach_buffer(of.receive, mapped_receives_);
    }
    std::vector<device::DeviceCall> calls;
    for (const int rank : group_) {
      device::DeviceCall call = all;
      call.rank = rank;
      call.send = board(rank).send.here;
      call.receive = board(rank).receive.here;
      call.counters = reinterpret_cast<std::uint64_t*>(board(rank).counters);
      calls.push_back(call);
    }
    return calls;
  }

  /// The scratch memory of `rank`, which is on another device, as this device's leader has mapped
  /// it.
  [[nodiscard]] std::byte* mapped_scratch(int rank) const {
    const auto place = std::ranges::find(mapped_ranks_, rank) - mapped_ranks_.begin();
    return member_.mapped[static_cast<std::size_t>(place)].bytes().data();
  }

  /// The first of the words with which a rank signals in the scratch memory at `scratch`.
  static std::span<std::byte> signal_word(std::byte* scratch, int rank) {
    return {scratch + 2 * sizeof(std::uint64_t) * static_cast<std::size_t>(rank),
            sizeof(std::uint64_t)};
  }
  [[nodiscard]] bool shares_device(const DeviceBoard& of) const {
    return of.process == own_board().process && of.device == &device_;
  }

  /// Drivers may claim access between devices that does not work. So each device writes a probe to
  /// the others, and they check that it arrived.
  void write_probes(const device::DeviceCall& call) {
    if (plan_.has_host_scratch) return;
    for (int rank = 0; rank < communicator_.size(); ++rank)
      if (!shares_device(board(rank)))
        device_.fill(signal_word(call.scratch[rank], call.rank), probe_byte);
  }
  /// Checks the probes of all other devices' leaders in this rank's memory, and clears them.
  void check_probes() {
    if (plan_.has_host_scratch) return;
    for (int rank = 0; rank < communicator_.size(); ++rank) {
      if (board(rank).joint == nullptr || shares_device(board(rank))) continue;
      const std::span<std::byte> word = signal_word(own_board().scratch.here, rank);
      std::vector<std::byte> found(word.size());
      device_.read(found, word.data());
      if (found != std::vector<std::byte>(word.size(), std::byte{probe_byte}))
        throw UnavailableHere("what the device of rank " + std::to_string(rank) +
                              " wrote into this rank's memory did not come");
      device_.fill(word, 0);
    }
  }

  std::shared_ptr<JointLaunch> make_joint_launch() {
    DeviceMemory control_memory(device_, {sizeof(device::Control)}, Device::Memory::shared);
    auto* const control = ::new (static_cast<void*>(control_memory.bytes().data())) device::Control;
    std::vector<std::byte*> opened;
    std::unique_ptr<DeviceLaunch> launch;
    std::vector<device::DeviceCall> calls;
    try {
      calls = describe_calls(opened, *control);
      launch = device_.make_launch(plan_.algorithm, calls, plan_.grid);
      write_probes(calls.front());
    } catch (...) {
      for (std::byte* const one : opened) device_.close(one);
      throw;
    }
    std::vector<JointLaunch::Participant> members;
    for (const int rank : group_) {
      members.push_back(std::move(*board(rank).member));
      members.back().host_scratch = host_scratch_;
    }
    members.front().opened = std::move(opened);
    return std::make_shared<JointLaunch>(device_, std::move(members), std::move(control_memory),
                                         std::move(launch), calls.front());
  }

  Communicator& communicator_;
  const DevicePlan& plan_;
  const Call& call_;
  const CallBuffers& buffers_;
  Deadline deadline_;
  Device& device_;
  std::unique_ptr<SymmetricMemory> boards_;
  std::unique_ptr<SymmetricMemory> host_memory_;
  std::shared_ptr<const HostScratch> host_scratch_;  ///< of this process
  std::size_t steps_ = 0;                            ///< number of agreed steps so far
  std::vector<int> group_;                           ///< the ranks of this process on this device
  bool is_virtual_ = false;     ///< scratch memory is shared by file descriptors
  bool has_multicast_ = false;  ///< and bound to one multicast object with that of all ranks
  std::optional<DescriptorMailbox> mailbox_;
  Descriptor own_memory_;             ///< for this rank's scratch memory
  std::vector<Descriptor> own_send_;  ///< for its registered buffers, if they have pieces
  std::vector<Descriptor> own_receive_;
  std::vector<std::byte*> mapped_sends_;  ///< on other devices, by rank; null unless shared in
                                          ///< pieces
  std::vector<std::byte*> mapped_receives_;
  std::vector<int> mapped_ranks_;   ///< the ranks whose memory member_.mapped holds
  std::byte* multicast_ = nullptr;  ///< address of all ranks' scratch memory at once
  device::PeerMemory peers_;        ///< for the calls of this device's ranks
  JointLaunch::Participant member_;
};

}  // namespace

std::unique_ptr<Operation> prepare_on_device(Communicator& communicator, const DevicePlan& plan,
                                             const Call& call, Deadline deadline) {
  return Preparation(communicator, plan, call, deadline).run();
}

}  // namespace colltune
