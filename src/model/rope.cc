// Frequencies in the order of operations of transformers, in float32 where it has float32: the next larger number
// turns the farthest position of a long context by a hundredth of a radian more.
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace corisco::model {
namespace {
constexpr double kPi = std::numbers::pi;

// theta^(2i/d); their reciprocals are the plain frequencies.
std::vector<float> powers(double theta, std::int64_t head_dim) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < head_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(head_dim);
    result.push_back(static_cast<float>(std::pow(theta, double{exponent})));
  }
  return result;
}

std::vector<float> reciprocals(std::vector<float> numbers) {
  for (auto& number : numbers) number = 1 / number;
  return numbers;
}

float llama3_frequency(const RopeConfig& rope, float frequency) {
  const auto original = static_cast<double>(rope.original_max_position);
  const auto factor = static_cast<float>(rope.factor);
  const float wavelength = static_cast<float>(2 * kPi) / frequency;
  if (wavelength < static_cast<float>(original / rope.high_freq_factor)) return frequency;
  if (wavelength > static_cast<float>(original / rope.low_freq_factor)) return frequency / factor;
  const float smooth = (static_cast<float>(original) / wavelength - static_cast<float>(rope.low_freq_factor)) /
                       static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
  return (1 - smooth) * frequency / factor + smooth * frequency;
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

std::vector<float> yarn_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
  double low = yarn_dimension(rope, head_dim, rope.beta_fast), high = yarn_dimension(rope, head_dim, rope.beta_slow);
  if (rope.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(0.0, low);
  high = std::min(static_cast<double>(head_dim - 1), high);
  if (high == low) high += 0.001;
  std::vector<float> frequencies = powers(rope.theta, head_dim);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const float ramp = (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float kept = 1 - std::clamp(ramp, 0.0F, 1.0F);
    const float stretched = 1 / (static_cast<float>(rope.factor) * frequencies[i]);
    frequencies[i] = stretched * (1 - kept) + 1 / frequencies[i] * kept;
  }
  return frequencies;
}
}  // namespace

RopeFrequencies rope_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
  if (rope.type == "yarn") {
    return {.inverse_frequencies = yarn_frequencies(rope, head_dim), .scale = static_cast<float>(yarn_scale(rope))};
  }
  RopeFrequencies result{.inverse_frequencies = reciprocals(powers(rope.theta, head_dim))};
  if (rope.type == "linear") {
    for (auto& frequency : result.inverse_frequencies) frequency /= static_cast<float>(rope.factor);
  } else if (rope.type == "llama3") {
    for (auto& frequency : result.inverse_frequencies) frequency = llama3_frequency(rope, frequency);
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
