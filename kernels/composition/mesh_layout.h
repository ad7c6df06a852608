// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "between_stages.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// How one rank's data lies in the collectives of a form, for calls of any size: pure, and without
/// memory of its own.
class MeshLayout {
 public:
  /// The form of `problem`, seen from `rank`.
  MeshLayout(const Problem& problem, const MeshForm& form, int rank);

  /// Bytes of the calls' buffers for a message of `size`: rounded up to whole shares.
  [[nodiscard]] Bytes padded(Bytes size, DataType type) const;
  /// The same for messages of every type up to `size`.
  [[nodiscard]] Bytes most_padded(Bytes size) const;
  /// The part of a padded message that collective `index` works on.
  [[nodiscard]] Bytes size_of_call(std::size_t index, Bytes padded) const;

  /// Why a call of `size` and `type` cannot be made by what was prepared for calls of `problem`;
  /// empty if it can.
  [[nodiscard]] std::string why_not(Bytes size, DataType type) const;

  struct Buffers {
    std::span<std::byte> whole{};        ///< what the form works on
    std::span<std::byte> share{};        ///< this rank's part of it
    std::span<const std::byte> input{};  ///< of the first collective
    bool first_in_place = false;
    bool copies_in = false;   ///< `input` of the call must be copied to `whole` first
    bool copies_out = false;  ///< `whole` must be copied to where the call wants it
  };
  /// For `call`; `padding` holds the message if it is rounded up.
  [[nodiscard]] Buffers buffers_of(const Call& call, std::span<std::byte> padding) const;
  /// Sets size, type, `in_place` and buffers of collective `index`, the rest of which stays.
  void set(std::size_t index, const Problem& whole, const Buffers& buffers, Call& call) const;

  /// How many collectives there are.
  [[nodiscard]] std::size_t count() const { return calls_.size(); }

 private:
  struct Collected {
    Collective collective = Collective::all_reduce;
    bool on_share = false;
  };
  std::vector<Collected> calls_;
  std::size_t shares_ = 1;
  std::size_t place_ = 0;  ///< of this rank's share
  bool is_alone_ = false;  ///< in the first collective, or there is none
  bool is_registered_ = false;
  bool was_padded_ = false;         ///< when it was prepared
  std::string why_not_integers_{};  ///< why the steps do not give this form's result
  std::string why_not_floats_{};
};

}  // namespace colltune
