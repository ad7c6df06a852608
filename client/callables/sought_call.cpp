// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sought_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune {

namespace {

template <class Value>
Value value_of(const nlohmann::json& asked, const char* name, const char* allowed) {
  const auto found = asked.find(name);
  const bool is_right =
      found != asked.end() &&
      (std::is_same_v<Value, std::string> ? found->is_string() : found->is_number_unsigned());
  if (!is_right)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{} of the call is {}; allowed is {}", name,
                            found == asked.end() ? "missing" : found->dump(), allowed));
  return found->template get<Value>();
}

template <class Enum>
Enum enum_of(const nlohmann::json& asked, const char* name) {
  return parse_name<Enum>(value_of<std::string>(asked, name, "a name"));
}

}  // namespace

SoughtCall read_call(const nlohmann::json& asked, int ranks) {
  SoughtCall call{.problem = {}, .root = 0, .ranks = ranks};
  if (asked.contains("root"))
    call.root = static_cast<int>(std::min<std::uint64_t>(
        value_of<std::uint64_t>(asked, "root", "a rank"), std::numeric_limits<int>::max()));
  Problem& problem = call.problem;
  problem.collective = enum_of<Collective>(asked, "collective");
  problem.data_type = enum_of<DataType>(asked, "data_type");
  const BlockLayout shape = shape_of(problem.collective);
  problem.reduce_op = shape.reduces ? enum_of<ReduceOp>(asked, "reduce_op") : ReduceOp::none;
  problem.message_size = {value_of<std::uint64_t>(asked, "message_size", "a number of bytes")};
  problem = in_its_form(problem);
  check(problem);
  const Bytes whole =
      round_message_size(problem.collective, problem.data_type, problem.message_size, ranks);
  if (whole != problem.message_size)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{} bytes are no whole number of elements of {} on each of {} ranks; "
                            "the next smaller message of {} has {}",
                            problem.message_size.value, name_of(problem.data_type), ranks,
                            name_of(problem.collective), whole.value));
  if (call.root >= ranks || (call.root != 0 && !shape.has_root))
    throw Error(StatusCode::invalid_argument,
                shape.has_root
                    ? fmt::format("the root is rank {}; allowed are 0 to {}", call.root, ranks - 1)
                    : fmt::format("the root is rank {}; {} has none", call.root,
                                  name_of(problem.collective)));
  return call;
}

nlohmann::json describe_call(const SoughtCall& call) {
  const Problem& problem = call.problem;
  return {{"problem",
           {{"collective", name_of(problem.collective)},
            {"data_type", name_of(problem.data_type)},
            {"reduce_op", name_of(problem.reduce_op)},
            {"message_size", problem.message_size.value},
            {"count", block_elements(problem, call.ranks)},
            {"element_size", size_of(problem.data_type)},
            {"ranks", call.ranks},
            {"in_place", problem.in_place}}},
          {"buffers",
           {{"send", send_size(problem, call.ranks, true).value},
            {"receive", receive_size(problem, call.ranks, true).value},
            {"other_send", send_size(problem, call.ranks, false).value},
            {"other_receive", receive_size(problem, call.ranks, false).value}}}};
}

}  // namespace colltune
