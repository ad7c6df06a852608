// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/wire/message_set.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include <string>

#include "colltune/vocabulary/error.h"
#include "description.h"

namespace colltune {

namespace pb = google::protobuf;

class MessageSet::Impl {
 public:
  Impl() {
    pb::FileDescriptorSet files;
    if (!files.ParseFromArray(wire_description.data(), static_cast<int>(wire_description.size())))
      throw Error(StatusCode::internal, "the description of colltune.v1 cannot be read");
    for (const auto& file : files.file())
      if (pool_.BuildFile(file) == nullptr)
        throw Error(StatusCode::internal, "libprotobuf refuses the description of " + file.name());
  }

  [[nodiscard]] const pb::Message& prototype(std::string_view type) {
    const std::string name = "colltune.v1." + std::string(type);
    const pb::Descriptor* const descriptor = pool_.FindMessageTypeByName(name);
    if (descriptor == nullptr) throw Error(StatusCode::internal, "there is no message " + name);
    return *factory_.GetPrototype(descriptor);
  }

 private:
  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_;  // refers to the pool
};

MessageSet::MessageSet() : impl_(std::make_unique<Impl>()) {}
MessageSet::~MessageSet() = default;

std::unique_ptr<pb::Message> MessageSet::make(std::string_view type) const {
  return std::unique_ptr<pb::Message>(impl_->prototype(type).New());
}

pb::Message& MessageSet::make(std::string_view type, pb::Arena& arena) const {
  return *impl_->prototype(type).New(&arena);
}

}  // namespace colltune
