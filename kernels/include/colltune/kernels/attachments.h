// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace colltune {

/// What an implementation makes once for a communicator, and keeps as long as that lives: a
/// library's own communicator, say.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

/// Those of one rank's communicator, one of each type. Not thread-safe.
class Attachments {
 public:
  /// Null where there is none of this type.
  template <class T>
  [[nodiscard]] T* find() const {
    for (const auto& one : kept_)
      if (auto* const found = dynamic_cast<T*>(one.get())) return found;
    return nullptr;
  }
  template <class T>
  T& keep(std::unique_ptr<T> made) {
    T& kept = *made;
    kept_.push_back(std::move(made));
    return kept;
  }
  /// Destroys it.
  void drop(const Attachment& one) {
    std::erase_if(kept_, [&](const auto& kept) { return kept.get() == &one; });
  }

 private:
  std::vector<std::unique_ptr<Attachment>> kept_;
};

}  // namespace colltune
