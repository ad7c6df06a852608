// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/model/fitted/alpha_beta.h"

namespace colltune {

/// One variant's times over sizes, in one world.
struct VariantCurve {
  /// What all curves that may inform each other have in common: topology, environment and regime.
  std::string world;
  std::string problem;  ///< the problem without its size
  std::string implementation;
  std::string variant;     ///< as printed
  std::string parameters;  ///< those of the variant, as printed
  std::string family;
  std::vector<CurvePoint> points;
};

/// What a fitted time rests on. Each kind includes the ones after it.
enum class FitEvidence {
  same_problem = 0,    ///< variants of the same problem that were measured at this size
  other_problems = 1,  ///< variants of other problems that were
  own_curve = 2,       ///< other sizes of the variant alone
};
inline constexpr std::array<FitEvidence, 3> all_fit_evidence{
    FitEvidence::same_problem, FitEvidence::other_problems, FitEvidence::own_curve};
/// The name of the model: "alpha_beta_by_problem", "alpha_beta_by_world", "alpha_beta".
[[nodiscard]] std::string_view model_name(FitEvidence evidence);

/// Where a size lies among those that were measured.
enum class SizePosition { between = 0, below = 1, beyond = 2 };

/// A time that was not measured, in ns, with the interval that contains it with the confidence of
/// its curve set.
struct FittedTime {
  double time = 0;
  double low = 0;
  double high = 0;
  FitEvidence evidence = FitEvidence::own_curve;
  SizePosition position = SizePosition::between;
};

/// A measured time that was left out and predicted from the others.
struct LeftOutTime {
  std::size_t curve = 0;
  Bytes size;
  double measured = 0;  ///< in ns, as all times here
  double today = 0;     ///< what proto/model/size_model.h makes of the same sizes of the variant
  FittedTime fitted;    ///< without an interval where there are too few others to tell
  bool has_interval = false;

  /// predicted / measured - 1, without sign.
  [[nodiscard]] double error() const;
  [[nodiscard]] double error_today() const;
  [[nodiscard]] bool is_covered() const {
    return fitted.low <= measured && measured <= fitted.high;
  }
};

/// Curves of one or several sweeps, and what can be said from them about sizes at which a variant
/// was not measured.
///
/// The time of a variant is its own alpha-beta curve there. Other variants that were measured at
/// this size, and at the two sizes of the variant next to it, correct it: libraries change protocol
/// and caches end at the same sizes for many variants, which no variant's own curve shows between
/// its sizes. The correction is the median of what these siblings took over their own lines,
/// weighted by how alike they are: in growth, in time, in implementation, family and parameters.
///
/// Where no sibling was measured at the size, the curve between its sizes is straight or bent
/// (bent_time_at): whichever has the smaller median error over all times of the set, each left out.
///
/// Intervals are conformal (Vovk et al. 2005): quantiles of the errors made when each measured time
/// is left out, among those with the same evidence and position. They hold for gaps as wide as
/// those that leaving out makes, so for narrower ones they are wider than needed. Thread-safe.
class CurveSet {
 public:
  /// Curves without points are dropped. Throws Error(invalid_argument) for a point that fit_curve
  /// refuses, or a confidence that is not between 0 and 1.
  explicit CurveSet(std::vector<VariantCurve> curves, double confidence = 0.9);

  [[nodiscard]] const std::vector<VariantCurve>& curves() const { return curves_; }
  [[nodiscard]] const CurveFit& fit(std::size_t curve) const { return fits_.at(curve); }
  /// Whether curves without siblings bend between their sizes.
  [[nodiscard]] bool is_bent() const { return is_bent_; }

  /// The time of a curve at a size. Where it was measured: just that, with no width. Throws
  /// Error(invalid_argument) if there is no such curve.
  [[nodiscard]] FittedTime predict(std::size_t curve, Bytes size) const;

  /// A measured time, predicted without it. `evidence` says what else is left out: nothing
  /// (same_problem), all times of its problem at this size (other_problems), all times of the world
  /// at this size (own_curve). The interval comes from the errors at other sizes alone. Throws
  /// Error(invalid_argument) if the curve was not measured there, or nowhere else.
  [[nodiscard]] LeftOutTime leave_out(std::size_t curve, Bytes size, FitEvidence evidence) const;
  /// That for each time of the curves that have at least three.
  [[nodiscard]] std::vector<LeftOutTime> leave_out(FitEvidence evidence) const;

 private:
  struct Residual {
    Bytes size;
    double log_ratio = 0;  ///< log(measured / predicted)
  };
  struct Raw {
    double time = 0;
    FitEvidence evidence = FitEvidence::own_curve;
    SizePosition position = SizePosition::between;
  };
  /// `fit` is that of the curve, or of a part of it; `most`: what may be used.
  [[nodiscard]] Raw predict_from(std::size_t curve, const CurveFit& fit, Bytes size,
                                 FitEvidence most) const;
  /// From all errors, or without those at `size`. False if there are too few.
  bool add_interval(FittedTime& fitted, Bytes size, bool leaves_out) const;
  const std::vector<Residual>& residuals(FitEvidence evidence, SizePosition position) const;

  std::vector<VariantCurve> curves_;
  std::vector<CurveFit> fits_;
  double confidence_;
  bool is_bent_ = false;
  std::array<std::vector<Residual>, 9> residuals_;  ///< by evidence and position
};

}  // namespace colltune
