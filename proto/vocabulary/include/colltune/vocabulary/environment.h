// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace colltune {

/// Every version, setting and hardware fact that makes times incomparable: one field for each, and
/// one column for each in the database. Its digest names it in keys. Empty means absent (no GPU, no
/// MPI). Names of hosts and people are never part of it. Facts that are only recorded are in
/// Provenance; proto/ENVIRONMENT.md says which fact is where, and why.
struct Environment {
  /// Keeps the digests of environments without `variables` or `limits` as they would be without
  /// these fields.
  using omits_empty_fields = void;

  std::string kernel;  ///< major and minor version, and its settings: "6.1 huge_pages=madvise"
  std::string cpu_model;
  std::string cpu_features;  ///< the features that implementations dispatch on
  std::string cpu_layout;    ///< "1 socket(s), 1 NUMA node(s), 2 core(s), 2 hardware thread(s), L2
                             ///< 512KiB, L3 32MiB"
  std::string frequency_policy;
  std::string hypervisor;
  std::string malloc_settings;  ///< allocator, its regime, and the user's settings of it
  std::string mpi_library;
  std::string mpi_transport;  ///< parameters in force that the user set, by any means
  std::string mpi_binding;    ///< how ranks are bound to cores
  std::string gpu_model;
  std::string gpu_driver;
  std::string cuda_version;
  std::string nccl_version;
  std::string fabric;  ///< kind, speed and count of NICs
  /// Environment variables that libraries read, except those of MPI (in `mpi_transport`) and
  /// malloc: "NCCL_BUFFSIZE=8388608 NCCL_PROTO=Simple", sorted by name. Empty if there are none,
  /// and never "".
  std::optional<std::string> variables;
  /// Limits of the process that cost time: "locked_memory=64KiB". Empty if there are none, and
  /// never "".
  std::optional<std::string> limits;

  friend auto operator<=>(const Environment&, const Environment&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Environment>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("kernel", self.kernel);
  visit("cpu_model", self.cpu_model);
  visit("cpu_features", self.cpu_features);
  visit("cpu_layout", self.cpu_layout);
  visit("frequency_policy", self.frequency_policy);
  visit("hypervisor", self.hypervisor);
  visit("malloc_settings", self.malloc_settings);
  visit("mpi_library", self.mpi_library);
  visit("mpi_transport", self.mpi_transport);
  visit("mpi_binding", self.mpi_binding);
  visit("gpu_model", self.gpu_model);
  visit("gpu_driver", self.gpu_driver);
  visit("cuda_version", self.cuda_version);
  visit("nccl_version", self.nccl_version);
  visit("fabric", self.fabric);
  visit("variables", self.variables);
  visit("limits", self.limits);
}

/// What is recorded of a launch beside its Environment: it explains a number, but does not make it
/// incomparable. A sweep has one; sweeps of one environment may differ in it.
struct Provenance {
  std::string colltune_version;
  std::string build;  ///< compiler, its version and the build type
  std::string operating_system;
  std::string kernel_release;  ///< with the patch level: "6.1.0-18-amd64"

  friend auto operator<=>(const Provenance&, const Provenance&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Provenance>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("colltune_version", self.colltune_version);
  visit("build", self.build);
  visit("operating_system", self.operating_system);
  visit("kernel_release", self.kernel_release);
}

/// Calls `visit` with the name and the text of each fact of an Environment or a Provenance; the
/// text of an absent one is empty.
template <class Facts, class Visit>
void visit_facts(const Facts& facts, Visit&& visit) {
  const std::string none;
  visit_fields(facts, [&](std::string_view name, const auto& fact) {
    if constexpr (requires { fact.has_value(); })
      visit(name, fact ? *fact : none);
    else
      visit(name, fact);
  });
}

/// The 32 hexadecimal digits that name this environment in keys.
[[nodiscard]] std::string digest_of(const Environment& environment);

}  // namespace colltune
