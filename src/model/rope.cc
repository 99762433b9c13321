// Frequencies in the order of operations of the published formulas, in float32 like the checkpoints'
// own training code.
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace corisco::model {
namespace {
constexpr double kPi = std::numbers::pi;

std::vector<float> plain_frequencies(double theta, std::int64_t head_dim) {
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(head_dim);
    frequencies.push_back(static_cast<float>(1.0 / std::pow(theta, exponent)));
  }
  return frequencies;
}

float llama3_frequency(const RopeConfig& rope, double frequency) {
  const auto original = static_cast<double>(rope.original_max_position);
  const double wavelength = 2 * kPi / frequency;
  if (wavelength < original / rope.high_freq_factor) return static_cast<float>(frequency);
  if (wavelength > original / rope.low_freq_factor) return static_cast<float>(frequency / rope.factor);
  const double smooth =
      (original / wavelength - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return static_cast<float>((1 - smooth) * frequency / rope.factor + smooth * frequency);
}

// The dimension whose wave makes `turns` turns over the original context.
double yarn_dimension(const RopeConfig& rope, std::int64_t head_dim, double turns) {
  const auto original = static_cast<double>(rope.original_max_position);
  return static_cast<double>(head_dim) * std::log(original / (turns * 2 * kPi)) / (2 * std::log(rope.theta));
}

// Of cosines and sines, and so squared in each score.
double yarn_scale(const RopeConfig& rope) {
  if (rope.attention_factor > 0) return rope.attention_factor;
  const double growth = rope.factor > 1 ? 0.1 * std::log(rope.factor) : 0;
  const auto formula = [growth](double mscale) { return mscale * growth + 1; };
  if (rope.mscale == 0 || rope.mscale_all_dim == 0) return formula(1);
  return formula(rope.mscale) / formula(rope.mscale_all_dim);
}

void apply_yarn(const RopeConfig& rope, std::int64_t head_dim, RopeFrequencies& result) {
  double low = yarn_dimension(rope, head_dim, rope.beta_fast), high = yarn_dimension(rope, head_dim, rope.beta_slow);
  if (rope.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(0.0, low);
  high = std::min(static_cast<double>(head_dim - 1), high);
  if (high == low) high += 0.001;
  for (std::size_t i = 0; i < result.inverse_frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double frequency = result.inverse_frequencies[i];
    result.inverse_frequencies[i] =
        static_cast<float>(frequency / rope.factor * ramp + frequency * (1 - ramp));
  }
  result.scale = static_cast<float>(yarn_scale(rope));
}
}  // namespace

RopeFrequencies rope_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
  RopeFrequencies result{.inverse_frequencies = plain_frequencies(rope.theta, head_dim)};
  if (rope.type == "linear") {
    for (auto& frequency : result.inverse_frequencies) frequency /= static_cast<float>(rope.factor);
  } else if (rope.type == "llama3") {
    for (auto& frequency : result.inverse_frequencies) frequency = llama3_frequency(rope, frequency);
  } else if (rope.type == "yarn") {
    apply_yarn(rope, head_dim, result);
  }
  return result;
}

RopeAngles rope_angles(const RopeFrequencies& frequencies, const std::vector<std::int64_t>& positions) {
  RopeAngles angles;
  const std::size_t half = frequencies.inverse_frequencies.size();
  angles.cosines.reserve(positions.size() * half);
  angles.sines.reserve(positions.size() * half);
  for (const auto position : positions) {
    for (const float frequency : frequencies.inverse_frequencies) {
      const float angle = static_cast<float>(position) * frequency;
      angles.cosines.push_back(std::cos(angle) * frequencies.scale);
      angles.sines.push_back(std::sin(angle) * frequencies.scale);
    }
  }
  return angles;
}
}  // namespace corisco::model
