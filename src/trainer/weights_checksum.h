// A 64-bit checksum of a model's weights: it tells two versions of the same number apart, and whether
// a repeated update came out bit-equal. Device thread, within publish; bound by memory bandwidth.
// Not a cryptographic hash: it is against accidents.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "corisco/model/decoder.h"

namespace corisco::trainer {
// Of the bytes of all tensors in their order. The same on any number of threads; never 0, which in
// the journal means that none was taken.
std::uint64_t weights_checksum(const std::vector<model::NamedTensor>& tensors);

// Of one piece. Any single changed word changes it.
std::uint64_t bytes_checksum(std::span<const unsigned char> bytes);
}  // namespace corisco::trainer
