// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "colltune/json/json.h"
#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// `value` as a payload, encoded in CBOR.
[[nodiscard]] inline Payload to_payload(const nlohmann::json& value) {
  return nlohmann::json::to_cbor(value);
}
[[nodiscard]] inline nlohmann::json from_payload(const Payload& payload) {
  return nlohmann::json::from_cbor(payload);
}

/// Collective: `make` runs on rank 0 alone. All ranks get its JSON or throw the Error that it
/// threw, so no rank waits for a rank 0 that failed.
[[nodiscard]] nlohmann::json share_json(ControlPlane& control,
                                        const std::function<nlohmann::json()>& make);

/// The same for any described value; rank 0 returns the value it made.
template <class T>
[[nodiscard]] T share_result(ControlPlane& control, const std::function<T()>& make) {
  T own{};
  const nlohmann::json shared = share_json(control, [&] {
    own = make();
    return to_json_value(own);
  });
  return control.rank() == 0 ? own : from_json_value<T>(shared, "from rank 0");
}

}  // namespace colltune
