// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/variant.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "colltune/vocabulary/problem.h"

namespace colltune {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

[[noreturn]] void fail(std::string_view text, std::string_view why) {
  throw Error(StatusCode::invalid_argument, "'" + std::string(text) + "' is not a variant (" +
                                                std::string(why) +
                                                "); write name or name{parameter=value,…}");
}

ParameterValue parse_value(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // "007" and "-0" stay words, so that a value prints as it was written.
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (is_number && std::to_string(number) == text) return number;
  return std::string(text);
}

const ParameterValue& find(const Variant& variant, std::string_view name) {
  for (const auto& parameter : variant.parameters)
    if (parameter.name == name) return parameter.value;
  throw Error(StatusCode::internal,
              to_string(variant) + " has no parameter '" + std::string(name) + "'");
}

}  // namespace

Variant parse_variant(std::string_view text) {
  Variant variant;
  const auto brace = text.find('{');
  variant.implementation = std::string(text.substr(0, brace));
  if (!is_word(variant.implementation))
    fail(text, "the name is missing or holds other characters than letters, digits, . _ -");
  if (brace == std::string_view::npos) return variant;
  if (text.back() != '}') fail(text, "'}' is missing at the end");
  std::string_view rest = text.substr(brace + 1, text.size() - brace - 2);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    if (comma != std::string_view::npos && rest.empty())
      fail(text, "a parameter is missing after ','");
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) fail(text, "a parameter lacks '='");
    if (!is_word(item.substr(0, equals)) || !is_word(item.substr(equals + 1)))
      fail(text,
           "a parameter's name or value is empty or holds other characters than letters, digits, . "
           "_ -");
    variant.parameters.push_back(
        {std::string(item.substr(0, equals)), parse_value(item.substr(equals + 1))});
  }
  std::ranges::sort(variant.parameters, {}, &Parameter::name);
  if (std::ranges::adjacent_find(variant.parameters, {}, &Parameter::name) !=
      variant.parameters.end())
    fail(text, "a parameter is given twice");
  return variant;
}

std::string to_string(const ParameterValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<std::string>(value);
}

std::string to_string(const Variant& variant) {
  std::string text = variant.implementation;
  if (variant.parameters.empty()) return text;
  char separator = '{';
  for (const auto& parameter : variant.parameters) {
    text += separator + parameter.name + '=' + to_string(parameter.value);
    separator = ',';
  }
  return text + '}';
}

std::int64_t number(const Variant& variant, std::string_view name) {
  if (const auto* value = std::get_if<std::int64_t>(&find(variant, name))) return *value;
  throw Error(StatusCode::internal,
              to_string(variant) + ": parameter '" + std::string(name) + "' is no number");
}

const std::string& word(const Variant& variant, std::string_view name) {
  if (const auto* value = std::get_if<std::string>(&find(variant, name))) return *value;
  throw Error(StatusCode::internal,
              to_string(variant) + ": parameter '" + std::string(name) + "' is no word");
}

std::string why_outside(const Limits& limits, const Problem& problem, int ranks) {
  if (ranks < limits.min_ranks)
    return "needs at least " + std::to_string(limits.min_ranks) + " ranks";
  if (limits.max_ranks != 0 && ranks > limits.max_ranks)
    return "takes at most " + std::to_string(limits.max_ranks) + " ranks";
  if (limits.ranks_multiple_of < 1)
    return "has damaged limits: a multiple of " + std::to_string(limits.ranks_multiple_of) +
           " ranks";
  if (ranks % limits.ranks_multiple_of != 0)
    return "needs a multiple of " + std::to_string(limits.ranks_multiple_of) + " ranks";
  if (problem.message_size < limits.min_message)
    return "needs at least " + format_bytes(limits.min_message);
  if (limits.max_message.value != 0 && problem.message_size > limits.max_message)
    return "takes at most " + format_bytes(limits.max_message);
  if (!limits.data_types.empty() &&
      std::ranges::find(limits.data_types, problem.data_type) == limits.data_types.end())
    return "does not take " + std::string(name_of(problem.data_type));
  if (problem.reduce_op != ReduceOp::none && !limits.reduce_ops.empty() &&
      std::ranges::find(limits.reduce_ops, problem.reduce_op) == limits.reduce_ops.end())
    return "does not take " + std::string(name_of(problem.reduce_op));
  return {};
}

Limits intersection(const Limits& one, const Limits& other) {
  const auto lower = [](auto a, auto b) { return a == decltype(a){} || b < a ? b : a; };
  const auto upper_bound = [&](auto a, auto b) { return b == decltype(b){} ? a : lower(a, b); };
  const auto in_both = [](const auto& a, const auto& b) {
    if (a.empty() || b.empty()) return a.empty() ? b : a;
    auto common = a;
    std::erase_if(common, [&](const auto& item) { return std::ranges::find(b, item) == b.end(); });
    return common;
  };
  return {.min_ranks = std::max(one.min_ranks, other.min_ranks),
          .max_ranks = upper_bound(one.max_ranks, other.max_ranks),
          .ranks_multiple_of = std::lcm(one.ranks_multiple_of, other.ranks_multiple_of),
          .min_message = std::max(one.min_message, other.min_message),
          .max_message = upper_bound(one.max_message, other.max_message),
          .data_types = in_both(one.data_types, other.data_types),
          .reduce_ops = in_both(one.reduce_ops, other.reduce_ops),
          .alignment = {std::lcm(one.alignment.value, other.alignment.value)}};
}

}  // namespace colltune
