// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string_view>

#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/names.h"

namespace colltune::nccl {

/// The collectives that a tuner is asked about, by the numbers that NCCL gives them. All others
/// (all_to_all, gather, scatter, sends) never reach one.
enum class Function {
  broadcast = 0,
  reduce = 1,
  all_gather = 2,
  reduce_scatter = 3,
  all_reduce = 4
};
inline constexpr int function_count = 5;

/// The function of `collective`; nothing where no tuner is asked about it.
constexpr std::optional<Function> function_of(Collective collective) {
  switch (collective) {
    case Collective::broadcast:
      return Function::broadcast;
    case Collective::reduce:
      return Function::reduce;
    case Collective::all_gather:
      return Function::all_gather;
    case Collective::reduce_scatter:
      return Function::reduce_scatter;
    case Collective::all_reduce:
      return Function::all_reduce;
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return std::nullopt;
  }
  return std::nullopt;
}
constexpr Collective collective_of(Function function) {
  constexpr std::array<Collective, function_count> collectives{
      Collective::broadcast, Collective::reduce, Collective::all_gather, Collective::reduce_scatter,
      Collective::all_reduce};
  return collectives[static_cast<std::size_t>(function)];
}

/// NCCL's algorithms, by their row in its table of costs. By NCCL's numbers.
enum class Algorithm {
  tree = 0,
  ring = 1,
  collnet_direct = 2,
  collnet_chain = 3,
  nvls = 4,
  nvls_tree = 5,
  pat = 6,
};
inline constexpr int algorithm_count = 7;
/// As NCCL_ALGO names them, in lower case.
constexpr std::array<Named<Algorithm>, algorithm_count> enum_names(Algorithm) {
  return {{{Algorithm::tree, "tree"},
           {Algorithm::ring, "ring"},
           {Algorithm::collnet_direct, "collnetdirect"},
           {Algorithm::collnet_chain, "collnetchain"},
           {Algorithm::nvls, "nvls"},
           {Algorithm::nvls_tree, "nvlstree"},
           {Algorithm::pat, "pat"}}};
}
constexpr std::string_view enum_title(Algorithm) { return "NCCL algorithm"; }

/// NCCL's protocols, by their column in its table of costs. By NCCL's numbers.
enum class Protocol { ll = 0, ll128 = 1, simple = 2 };
inline constexpr int protocol_count = 3;
/// As NCCL_PROTO names them, in lower case.
constexpr std::array<Named<Protocol>, protocol_count> enum_names(Protocol) {
  return {{{Protocol::ll, "ll"}, {Protocol::ll128, "ll128"}, {Protocol::simple, "simple"}}};
}
constexpr std::string_view enum_title(Protocol) { return "NCCL protocol"; }

/// More channels than this no NCCL has.
inline constexpr int most_channels = 64;

/// Whether NCCL takes a request for channels on trust: it does not compare it with what the
/// communicator has, and reads beyond an array where it is more.
constexpr bool takes_channels_on_trust(Algorithm algorithm) {
  return algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain;
}

/// What can be asked of NCCL for a call. It may do less: fewer channels, or another choice where
/// buffers are registered.
struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 0;  ///< 0: NCCL decides

  friend auto operator<=>(const Choice&, const Choice&) = default;
};

}  // namespace colltune::nccl
