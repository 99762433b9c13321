// What nobody can guess.
#pragma once
#include <cstddef>
#include <string>

namespace corisco {
// From the kernel's generator, as lower-case hex digits.
std::string new_secret(std::size_t num_bytes);
}  // namespace corisco
