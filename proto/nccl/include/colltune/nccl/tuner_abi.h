// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What NCCL and a tuner plug-in agree on, in versions 4 (NCCL 2.24 to 2.27), 5 (from 2.28), 6
/// (from 2.30) and 7 (from 2.32). NCCL looks for the symbols ncclTunerPlugin_v7, _v6, _v5, _v4, the
/// newest that it knows first.
namespace colltune::nccl {

/// ncclResult_t, as far as it is used here.
enum Result : int {
  result_success = 0,
  result_unhandled_cuda_error = 1,
  result_system_error = 2,
  result_internal_error = 3,
  result_invalid_argument = 4,
  result_invalid_usage = 5,
  result_remote_error = 6,
  result_in_progress = 7,
};

/// A cell of the table of costs that NCCL cannot choose. Up to 2.30 it skips all negative ones;
/// since 2.31 it takes the plain minimum of what it could choose before it asked, so that a tuner
/// that writes this elsewhere has it chosen.
inline constexpr float cost_ignored = -1.0f;
/// What a tuner writes where NCCL shall not choose what it could: of every version. (Up to 2.30
/// costs of an hour and more are never chosen, and later the largest float.)
inline constexpr float cost_avoided = 1e30f;
/// The first version of NCCL that takes the plain minimum, as ncclGetVersion codes it.
inline constexpr int first_plain_minimum = 23100;
/// The first version of NCCL in which a tuner's number of channels is a limit: NCCL takes its own
/// number for the message where that is lower. Before, it took the tuner's as far as the
/// communicator and the message had so many.
inline constexpr int first_channels_as_limit = 23100;
/// Whether that is so; also where the version is not known (0), so that nothing is promised.
constexpr bool takes_channels_as_limit(int version) {
  return version == 0 || version >= first_channels_as_limit;
}

/// Levels and subsystem of the logger.
inline constexpr int log_warn = 2;
inline constexpr int log_info = 3;
inline constexpr unsigned long log_tuning = 0x40;
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

/// How many NVLink domains a communicator spans (NCCL says: as many as nodes), and their ranks.
struct NvlDomains {
  int domains;
  int fewest_ranks;
  int most_ranks;
};

/// The numbers of NCCL's own model, which a tuner may change at init. Rows: 7 algorithms, columns:
/// 3 protocols; links: NVLink, PCI, network; processors: Volta, Ampere, Hopper, Blackwell, and in
/// version 7 Rubin; scales: 1, 2, 4 nodes.
template <int processors>
struct TunerConstantsFor {
  double base_latencies[7][3];
  double hardware_latencies[3][7][3];
  double most_ll_bandwidth[processors][3];
  double most_ring_ll128_bandwidth[processors][3];
  double most_tree_ll128_bandwidth[processors][3];
  double most_tree_bandwidth[processors][3];
  double most_nvls_tree_bandwidth[processors][3];
};
using TunerConstants = TunerConstantsFor<4>;    ///< of versions 5 and 6
using TunerConstantsV7 = TunerConstantsFor<5>;  ///< all rows but the first lie elsewhere

/// `costs` is declared as rows of pointers but is one contiguous float[algorithms][protocols].
using GetCollInfo = Result (*)(void* context, int function, std::size_t bytes, int pipe_operations,
                               float** costs, int algorithms, int protocols, int registered,
                               int* channels);
using Finalize = Result (*)(void* context);

struct TunerV4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger logger, void** context);
  GetCollInfo get_coll_info;
  Finalize finalize;
};

using InitV5 = Result (*)(void** context, std::uint64_t communicator, std::size_t ranks,
                          std::size_t nodes, Logger logger, NvlDomains* domains,
                          TunerConstants* constants);
struct TunerV5 {
  const char* name;
  InitV5 init;
  GetCollInfo get_coll_info;
  Finalize finalize;
};

struct TunerV6 {
  const char* name;
  InitV5 init;
  GetCollInfo get_coll_info;
  Finalize finalize;
  /// May change the bytes of a chunk; null: NCCL's own stay.
  Result (*get_chunk_size)(void* context, int function, std::size_t bytes, int algorithm,
                           int protocol, int channels, std::size_t* chunk);
};

using InitV7 = Result (*)(void** context, std::uint64_t communicator, std::size_t ranks,
                          std::size_t nodes, Logger logger, NvlDomains* domains,
                          TunerConstantsV7* constants);
struct TunerV7 {
  const char* name;
  InitV7 init;
  GetCollInfo get_coll_info;
  Finalize finalize;
  Result (*get_chunk_size)(void* context, int function, std::size_t bytes, int algorithm,
                           int protocol, int channels, std::size_t* chunk);  ///< as in version 6
};

// As the compilers of NCCL lay them out on every 64-bit processor that it runs on.
static_assert(sizeof(Result) == sizeof(int));
static_assert(sizeof(NvlDomains) == 3 * sizeof(int));
static_assert(sizeof(TunerConstants) == (21 + 63 + 5 * 12) * sizeof(double));
static_assert(offsetof(TunerConstants, most_nvls_tree_bandwidth) == (21 + 63 + 4 * 12) * 8);
static_assert(sizeof(TunerV4) == 4 * sizeof(void*) && sizeof(TunerV5) == 4 * sizeof(void*));
static_assert(offsetof(TunerV6, get_chunk_size) == 4 * sizeof(void*));
static_assert(sizeof(TunerV6) == 5 * sizeof(void*));
static_assert(sizeof(TunerConstants) == 1152 && sizeof(TunerConstantsV7) == 1272);
static_assert(offsetof(TunerConstantsV7, most_ll_bandwidth) == (21 + 63) * 8);
static_assert(offsetof(TunerConstantsV7, most_nvls_tree_bandwidth) == (21 + 63 + 4 * 15) * 8);
static_assert(offsetof(TunerV7, get_chunk_size) == 4 * sizeof(void*));
static_assert(sizeof(TunerV7) == 5 * sizeof(void*));

}  // namespace colltune::nccl
