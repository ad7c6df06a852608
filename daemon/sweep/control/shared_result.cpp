// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_result.h"

namespace colltune {

nlohmann::json share_json(ControlPlane& control, const std::function<nlohmann::json()>& make) {
  nlohmann::json message;
  if (control.rank() == 0) {
    try {
      message["value"] = make();
    } catch (const Error& error) {
      message = {{"code", static_cast<int>(error.code())}, {"error", error.what()}};
    } catch (const std::exception& error) {
      message = {{"code", static_cast<int>(StatusCode::internal)}, {"error", error.what()}};
    }
    if (control.size() == 1 && message.contains("value")) return message.at("value");
  }
  const Payload payload = control.broadcast(control.rank() == 0 ? to_payload(message) : Payload{});
  if (control.rank() != 0) message = from_payload(payload);
  if (message.contains("error"))
    throw Error(static_cast<StatusCode>(message.at("code").get<int>()),
                message.at("error").get<std::string>());
  return message.at("value");
}

}  // namespace colltune
