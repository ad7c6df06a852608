// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "device_implementation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "arithmetic/numerics.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/device/cuda_device.h"
#include "device_operation.h"
#include "process_identity.h"

namespace colltune {
namespace {

// The values that a sweep tries. A block of 256 threads moves 4 KiB in one step; NCCL's symmetric
// kernels and vLLM's use 512. Up to 64 blocks (device::most_blocks). Two blocks of 256 threads on
// one multiprocessor overlap: one waits for a signal while the other copies.
constexpr std::array<std::int64_t, 5> block_counts{1, 4, 16, 32, 64};
constexpr std::array<std::int64_t, 2> thread_counts{256, 512};
constexpr std::array<std::int64_t, 4> chunk_sizes{128 << 10, 512 << 10, 1 << 20, 2 << 20};
// One slot is filled while the other is read; more help ranks that do not keep in step.
constexpr std::array<std::int64_t, 2> slot_counts{2, 4};
constexpr std::int64_t most_slots = 16;
// Bytes that a thread loads before it stores the first: one packet, or several.
constexpr auto packet_vector = static_cast<std::int64_t>(device::packet_bytes);
constexpr std::array<std::int64_t, 2> vectors{packet_vector, device::most_packets* packet_vector};
// Where scratch memory lies.
constexpr std::string_view in_device = "device";
constexpr std::string_view in_host = "host";
// How a call is started.
constexpr std::string_view by_stream = "stream";
constexpr std::string_view by_graph = "graph";
// Queues on which copies run at the same time; each keeps one copy engine busy.
constexpr std::array<std::int64_t, 2> queue_counts{1, 4};
constexpr std::int64_t most_queues = 16;
// A graph saves submissions, some microseconds each. For longer messages that hardly matters,
// unless there are several.
constexpr std::uint64_t most_bytes_of_graph = std::uint64_t{1} << 20;
// Limit of the scratch memory on each rank.
constexpr Bytes most_scratch{std::uint64_t{4} << 30};

std::optional<std::int64_t> find_number(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (const auto* const value = std::get_if<std::int64_t>(&parameter.value);
        value != nullptr && parameter.name == name)
      return *value;
  return std::nullopt;
}

const std::string* find_word(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (const auto* const value = std::get_if<std::string>(&parameter.value);
        value != nullptr && parameter.name == name)
      return value;
  return nullptr;
}

class DeviceImplementation final : public Implementation {
 public:
  explicit DeviceImplementation(DeviceAlgorithm algorithm)
      : Implementation({.name = algorithm.name,
                        .description = algorithm.description,
                        .collective = algorithm.collective,
                        .family = "colltune",
                        .runs_on_device = true}),
        algorithm_(std::move(algorithm)) {}

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    const device::DeviceCall call = describe_device_call(problem, topology.ranks, 0);
    std::vector<Variant> all;
    const bool is_copied = algorithm_.list_copies != nullptr;
    const auto add = [&](std::int64_t blocks, std::int64_t threads, std::int64_t chunk,
                         std::int64_t slots, std::string_view scratch) {
      for (const std::string_view launch : {by_stream, by_graph}) {
        if (launch == by_graph && (!problem.registered || problem.graph_capture ||
                                   (!is_copied && call.bytes > most_bytes_of_graph)))
          continue;
        for (const std::int64_t vector : vectors) {
          if (vector > packet_vector &&
              !fills_vectors(problem, call, blocks * threads, vector, chunk))
            continue;
          for (const std::int64_t queues : queue_counts) {
            if (queues > queue_counts.front() && (!is_copied || queues > topology.ranks)) continue;
            Variant variant{algorithm_.name, {{"blocks", blocks}}};
            if (algorithm_.has_chunks) variant.parameters.push_back({"chunk", chunk});
            variant.parameters.push_back({"launch", std::string(launch)});
            if (is_copied) variant.parameters.push_back({"queues", queues});
            variant.parameters.push_back({"scratch", std::string(scratch)});
            if (algorithm_.has_chunks) variant.parameters.push_back({"slots", slots});
            variant.parameters.push_back({"threads", threads});
            if (algorithm_.moves_packets) variant.parameters.push_back({"vector", vector});
            all.push_back(std::move(variant));
          }
        }
      }
    };
    if (is_copied && !shape_of(algorithm_.collective).reduces) {
      add(1, 32, 0, 0, in_device);  // its kernels only let the ranks meet
      return all;
    }
    for (const std::int64_t blocks : block_counts)
      for (const std::int64_t threads : thread_counts) {
        // Blocks without a packet of their own would only wait.
        const bool has_work = blocks * threads * packet_vector < 2 * bytes_at_once(call);
        const bool is_smallest = blocks == 1 && threads == thread_counts.front();
        if (!is_smallest && (blocks > blocks_of_a_rank(capability, threads) || !has_work)) continue;
        for (const std::int64_t chunk : chunk_sizes)
          for (const std::int64_t slots : slot_counts)
            if ((chunk == chunk_sizes.front() && slots == slot_counts.front()) ||
                (algorithm_.has_chunks &&
                 static_cast<std::uint64_t>(chunk * slots) < 2 * call.bytes))
              add(blocks, threads, chunk, slots, in_device);
      }
    // For devices that cannot reach each other. The link to the host needs few blocks.
    if (!problem.registered && has_host_form())
      for (const std::int64_t blocks : {std::int64_t{1}, std::int64_t{8}})
        if (blocks == 1 || blocks <= blocks_of_a_rank(capability, 256))
          add(blocks, 256, chunk_sizes[1], slot_counts.front(), in_host);
    return all;
  }

  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    if (problem.collective != algorithm_.collective)
      return Support::no("it is for " + std::string(name_of(algorithm_.collective)));
    if (std::string why = why_not_on(capability); !why.empty()) return Support::no(std::move(why));
    if (topology.nodes > 1)
      return Support::no("it works among the GPUs of a node; the ranks are on " +
                         std::to_string(topology.nodes) + " nodes");
    if (algorithm_.list_copies != nullptr && !problem.registered)
      return Support::no("its copies need registered buffers");
    if (problem.in_place && !algorithm_.works_in_place)
      return Support::no("it does not work in place");
    if (algorithm_.needs_whole_lines && !sees_whole_lines(topology, capability))
      return Support::no(
          "its lines of 128 bytes must be seen whole; no link like NVLink that does so is known to "
          "lie between the ranks' GPUs");
    if (algorithm_.needs_multicast)
      if (std::string why = why_no_multicast(problem, capability); !why.empty())
        return Support::no(std::move(why));
    if (std::string why = why_not_set(variant); !why.empty()) return Support::no(std::move(why));
    if (problem.registered && word(variant, "scratch") == in_host)
      return Support::no("scratch=host is for plain buffers");
    if (problem.graph_capture && word(variant, "launch") == by_graph)
      return Support::no("launch=graph is for calls that no caller captures");
    if (!problem.registered && word(variant, "launch") == by_graph)
      return Support::no("launch=graph is for registered buffers: a graph keeps their addresses");
    if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
      return Support::no(std::move(why));
    if (const std::int64_t most = blocks_of_a_rank(capability, number(variant, "threads"));
        number(variant, "blocks") > most)
      return Support::no("its " + to_string(variant.parameters.front().value) +
                         " blocks of each rank must run at once; here " + std::to_string(most) +
                         " can");
    const Bytes scratch{scratch_of(problem, topology.ranks, variant).scratch_bytes};
    if (scratch > most_scratch)
      return Support::no("it would take " + format_bytes(scratch) + " of scratch memory, of " +
                         format_bytes(most_scratch) + " at most");
    return Support::yes();
  }

  Limits limits(const Variant&) const override {
    Limits limits;
    limits.max_ranks = device::most_ranks;
    return limits;
  }

  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return "device;" + to_string(variant) + ";" + std::string(name_of(problem.data_type)) + ";" +
           std::string(name_of(problem.reduce_op)) + (problem.registered ? ";registered" : "");
  }

  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    return algorithm_.cost(scratch_of(problem, topology.ranks, variant));
  }

  Numerics numerics(const Problem& problem, const Variant&) const override {
    const bool at_once = algorithm_.numeric_class == NumericClass::rank_order;
    return {.rounding = at_once ? rounding_at_once(problem) : rounding_handed_on(problem),
            .numeric_class = algorithm_.numeric_class};
  }

  CallTraits traits(const Problem& problem, const Topology&,
                    const Variant& variant) const override {
    return {.why_not_bound = why_not_bound(problem, variant),
            .why_not_rebound = why_not_rebound(problem, variant)};
  }

  [[nodiscard]] std::string why_not_bound(const Problem& problem, const Variant& variant) const {
    if (word(variant, "launch") == by_graph) return "its graph keeps the buffers of its calls";
    if (problem.graph_capture) return "a captured graph keeps the buffers of its calls";
    if (problem.registered && algorithm_.uses_registered)
      return "the other devices know where its registered buffers are since they were registered";
    return {};
  }

  [[nodiscard]] std::string why_not_rebound(const Problem& problem, const Variant& variant) const {
    if (std::string why = why_not_bound(problem, variant); !why.empty()) return why;
    if (algorithm_.list_copies != nullptr)
      return "its copies were listed for the buffers that it was prepared for";
    if (algorithm_.clears_words)
      return "each of its calls clears the words of the call before, which must be as long";
    return {};
  }

  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    require_one_node(communicator);
    if (communicator.device() == nullptr)
      throw Error(StatusCode::failed_precondition,
                  algorithm_.name + ": the rank's buffers lie on no device");
    device::DeviceCall common = scratch_of(call.problem, communicator.size(), variant);
    common.root = call.root;
    const std::string why_kept = why_not_rebound(call.problem, variant);
    const bool is_rebound = call.capacity > Bytes{} && why_kept.empty();
    if (is_rebound) common.scratch_bytes = scratch_for(common, call.capacity);
    if (is_rebound && Bytes{common.scratch_bytes} > most_scratch)
      throw Error(StatusCode::resource_exhausted,
                  algorithm_.name + " would take " + format_bytes({common.scratch_bytes}) +
                      " of scratch memory for messages of up to " + format_bytes(call.capacity) +
                      ", of " + format_bytes(most_scratch) + " at most");
    return prepare_on_device(
        communicator,
        {.algorithm = algorithm_,
         .call = common,
         .grid = {.blocks = static_cast<int>(number(variant, "blocks")),
                  .threads = static_cast<int>(number(variant, "threads")),
                  // For a call that the caller captures, start() replays what the caller's graph
                  // would.
                  .replays_graph =
                      call.problem.graph_capture || word(variant, "launch") == by_graph,
                  .copy_queues = algorithm_.list_copies == nullptr
                                     ? 1
                                     : static_cast<int>(number(variant, "queues")),
                  .is_rebound = is_rebound},
         .has_host_scratch = word(variant, "scratch") == in_host,
         .is_captured = call.problem.graph_capture,
         .longest_wait = call.longest_wait,
         .why_not_rebound = why_kept},
        call, deadline);
  }

 private:
  /// Why a rank with `capability` cannot run kernels; empty if it can.
  static std::string why_not_on(const Capability& capability) {
    if (!capability.is_on_device()) {
      const std::string_view why = capability.value("cuda.unavailable");
      return why.empty() ? "the ranks' buffers lie in the host's memory, not on GPUs"
                         : std::string(why);
    }
    if (const std::int64_t processes = capability.number("device.processes"); processes > 1)
      return std::to_string(processes) +
             " processes share a GPU: their kernels would take turns instead of meeting";
    if (capability.has("device.openings"))
      return "ranks of a process have opened their GPU " +
             std::string(capability.value("device.openings")) +
             " times: kernels that do not start together may not run at the same time";
    return {};
  }

  /// Whether lines are seen whole between all ranks: all are on one device, or peers see them whole
  /// too.
  static bool sees_whole_lines(const Topology& topology, const Capability& capability) {
    const std::string_view where = capability.value("device.whole_lines");
    return where == "peers" ||
           (where == "own" && capability.number("device.ranks") == topology.ranks);
  }

  static std::string why_no_multicast(const Problem& problem, const Capability& capability) {
    if (!capability.has("device.multicast")) {
      const std::string_view why = capability.value("device.multicast.unavailable");
      return "it needs memory that reaches all GPUs at once (multicast over NVLink switches)" +
             (why.empty() ? ", which this device does not offer" : ": " + std::string(why));
    }
    if (const std::int64_t ranks = capability.number("device.ranks"); ranks > 1)
      return std::to_string(ranks) + " ranks share a GPU, and multicast reaches each GPU once";
    if (shape_of(problem.collective).reduces && !has_typed_kernel(problem))
      return std::string(why_not_summed);
    return {};
  }

  /// How many blocks of `threads` threads of each rank can run at once, if all ranks on its device
  /// have the same number. A multiprocessor has room for as many threads as kernels are compiled
  /// for.
  static std::int64_t blocks_of_a_rank(const Capability& capability, std::int64_t threads) {
    return capability.number("device.processors") * (device::most_threads / threads) /
           std::max<std::int64_t>(1, capability.number("device.ranks"));
  }

  /// Whether the algorithm can work through host memory.
  [[nodiscard]] bool has_host_form() const {
    return algorithm_.list_copies == nullptr && !algorithm_.needs_whole_lines &&
           !algorithm_.needs_multicast;
  }

  std::string why_not_set(const Variant& variant) const {
    const auto is_within = [&](std::string_view name, std::int64_t least, std::int64_t most) {
      const auto value = find_number(variant, name);
      return value && *value >= least && *value <= most;
    };
    if (!is_within("blocks", 1, device::most_blocks))
      return "blocks must be a number from 1 to " + std::to_string(device::most_blocks);
    if (!is_within("threads", 32, device::most_threads) || number(variant, "threads") % 32 != 0)
      return "threads must be a multiple of 32 up to " + std::to_string(device::most_threads);
    if (algorithm_.has_chunks && !is_within("chunk", 16, std::int64_t{1} << 30))
      return "chunk must be a number of bytes from 16 to 1 GiB";
    if (algorithm_.has_chunks && !is_within("slots", 2, most_slots))
      return "slots must be a number from 2 to " + std::to_string(most_slots);
    if (algorithm_.moves_packets &&
        std::ranges::find(vectors, find_number(variant, "vector").value_or(0)) == vectors.end())
      return "vector must be 16 or 64 bytes";
    const bool is_copied = algorithm_.list_copies != nullptr;
    if (is_copied && !is_within("queues", 1, most_queues))
      return "queues must be a number from 1 to " + std::to_string(most_queues);
    const std::string* const scratch = find_word(variant, "scratch");
    const bool has_host = has_host_form();
    if (scratch == nullptr || (*scratch != in_device && (!has_host || *scratch != in_host)))
      return has_host ? "scratch must be device or host" : "scratch must be device";
    const std::string* const launch = find_word(variant, "launch");
    if (launch == nullptr || (*launch != by_stream && *launch != by_graph))
      return "launch must be stream or graph";
    if (variant.parameters.size() != 4U + (algorithm_.has_chunks ? 2U : 0U) +
                                         (algorithm_.moves_packets ? 1U : 0U) +
                                         (is_copied ? 1U : 0U))
      return std::string("its parameters are blocks, ") + (algorithm_.has_chunks ? "chunk, " : "") +
             "launch, " + (is_copied ? "queues, " : "") + "scratch, " +
             (algorithm_.has_chunks ? "slots, " : "") + "threads" +
             (algorithm_.moves_packets ? ", vector" : "");
    return {};
  }

  /// Whether `threads` threads with `vector` bytes each have that much to do at once and the kernel
  /// does it so: kernels for all types and operators combine packet by packet (Context::packs).
  [[nodiscard]] bool fills_vectors(const Problem& problem, const device::DeviceCall& call,
                                   std::int64_t threads, std::int64_t vector,
                                   std::int64_t chunk) const {
    if (!algorithm_.moves_packets) return false;
    if (shape_of(problem.collective).reduces && !has_typed_kernel(problem)) return false;
    std::int64_t at_once = bytes_at_once(call);
    if (algorithm_.has_chunks) at_once = std::min(at_once, chunk);
    return threads * vector <= at_once;
  }

  /// Bytes of the message, or of a block if there is one per rank, that a rank handles between two
  /// steps, unless a chunk is smaller.
  [[nodiscard]] std::int64_t bytes_at_once(const device::DeviceCall& call) const {
    const auto all = static_cast<std::int64_t>(call.bytes);
    return algorithm_.does_shares ? all / call.ranks : all;
  }

  /// Bytes of scratch memory for calls of any size up to `capacity` with the settings of `call`.
  [[nodiscard]] std::uint64_t scratch_for(const device::DeviceCall& call, Bytes capacity) const {
    device::DeviceCall largest = call;
    largest.bytes = shape_of(algorithm_.collective).has_block_per_rank()
                        ? capacity.value / static_cast<std::uint64_t>(call.ranks)
                        : capacity.value;
    return std::max(call.scratch_bytes, algorithm_.scratch_bytes(largest));
  }

  [[nodiscard]] device::DeviceCall scratch_of(const Problem& problem, int ranks,
                                              const Variant& variant) const {
    device::DeviceCall call = describe_device_call(problem, ranks, 0);
    call.registered = problem.registered && algorithm_.uses_registered;
    if (algorithm_.has_chunks) {
      call.chunk = static_cast<std::uint64_t>(number(variant, "chunk"));
      call.slots = static_cast<int>(number(variant, "slots"));
    }
    if (algorithm_.moves_packets)
      call.packets = static_cast<int>(number(variant, "vector") / packet_vector);
    call.scratch_bytes = algorithm_.scratch_bytes(call);
    return call;
  }

  DeviceAlgorithm algorithm_;
};

/// What a rank tells the others about its device.
struct Seat {
  ProcessIdentity process{};
  const Device* device = nullptr;  ///< its address in that process
  bool has_device = false;
  char identity[120] = {};
};

}  // namespace

bool has_typed_kernel(const Problem& problem) {
  return device::typed_kernel(problem.data_type, problem.reduce_op) != nullptr;
}

device::DeviceCall describe_device_call(const Problem& problem, int ranks, int root) {
  device::DeviceCall call{.ranks = ranks,
                          .root = root,
                          .type = problem.data_type,
                          .op = problem.reduce_op,
                          .in_place = problem.in_place,
                          .registered = problem.registered,
                          .bytes = problem.message_size.value};
  if (shape_of(problem.collective).has_block_per_rank())
    call.bytes = block_elements(problem, ranks) * size_of(problem.data_type);
  return call;
}

void detect_device(Communicator& communicator, Capability& capability) {
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Device* const device = communicator.device();
  DeviceFacts facts;
  // If one rank's device refuses, all ranks throw, so that they stay in step.
  std::string refused;
  if (device != nullptr) {
    try {
      facts = device->facts();
      for (auto& [name, value] : facts.features) capability.features[name] = value;
      capability.architecture = facts.architecture;
    } catch (const std::exception& error) {
      refused = error.what();
    }
  }
  const std::int64_t first_refused = -communicator.all_reduce_max(
      refused.empty() ? -std::int64_t{communicator.size()} : -std::int64_t{communicator.rank()},
      deadline);
  if (first_refused < communicator.size())
    throw Error(StatusCode::failed_precondition,
                "the device of rank " + std::to_string(first_refused) + " cannot be used" +
                    (refused.empty() ? "" : ": " + refused));
  Seat own{.process = own_process(), .device = device, .has_device = device != nullptr};
  std::strncpy(own.identity, facts.identity.c_str(), sizeof own.identity - 1);
  const int node = communicator.nodes()[static_cast<std::size_t>(communicator.rank())];
  const auto neighbours = communicator.split(node, communicator.rank(), deadline);
  const auto memory = neighbours->allocate(Bytes{sizeof(Seat)}, deadline);
  std::memcpy(memory->part(neighbours->rank()).data(), &own, sizeof own);
  neighbours->barrier(deadline);
  int ranks = 0;
  std::vector<ProcessIdentity> processes;
  std::set<const Device*> openings;  // of this process
  for (int rank = 0; rank < neighbours->size(); ++rank) {
    Seat seat;
    std::memcpy(&seat, memory->part(rank).data(), sizeof seat);
    if (!seat.has_device || std::strcmp(seat.identity, own.identity) != 0) continue;
    ++ranks;
    if (seat.process == own.process) openings.insert(seat.device);
    if (std::ranges::find(processes, seat.process) == processes.end())
      processes.push_back(seat.process);
  }
  neighbours->barrier(deadline);  // keeps the memory mapped until all have read it
  if (device == nullptr) {
    const CudaDevices gpus = count_cuda_devices();
    if (gpus.count == 0) capability.features["cuda.unavailable"] = gpus.why_none;
    return;
  }
  capability.features["device.ranks"] = std::to_string(ranks);
  capability.features["device.processes"] = std::to_string(processes.size());
  if (openings.size() > 1) capability.features["device.openings"] = std::to_string(openings.size());
}

Implementations make_device_implementations() {
  Implementations all;
  for (DeviceAlgorithm& algorithm : make_device_algorithms())
    all.push_back(std::make_unique<DeviceImplementation>(std::move(algorithm)));
  return all;
}

}  // namespace colltune
