// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "executed.h"

#include <string>

#include "activity_clock.h"
#include "control/shared_result.h"

namespace colltune {

void share_executed(CellContext& context) {
  const ActivityScope scope(context.activities, Activity::control);
  context.enter_control();
  auto own = nlohmann::json::array();
  for (std::size_t i = 0; i < context.trials.size(); ++i) {
    const Trial& trial = context.trials[i];
    if (trial.operation == nullptr) continue;
    if (const auto executed = trial.operation->executed())
      own.push_back({i, executed->is_what_was_named, executed->choice});
  }
  std::int64_t is_said = own.empty() ? 0 : 1;
  context.control.all_reduce_max({&is_said, 1});
  if (is_said == 0) return;
  const auto by_rank = context.control.gather(to_payload(own));
  if (context.control.rank() != 0) return;
  for (const Payload& payload : by_rank)
    for (const auto& said : from_payload(payload)) {
      Conditions& seen = context.trials.at(said.at(0).get<std::size_t>()).conditions;
      auto& place = said.at(1).get<bool>() ? seen.executed : seen.executed_instead;
      if (!place) place = said.at(2).get<std::string>();
    }
  for (Trial& trial : context.trials)
    if (trial.conditions.executed_instead) trial.conditions.executed.reset();
}

}  // namespace colltune
