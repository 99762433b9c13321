// Calls into the Rust half: what it returns, owned by C++ types. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "corisco/base/result.h"
#include "corisco_text.h"

namespace corisco::text {
inline const std::uint8_t* rust_bytes(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// Copies a buffer's text and frees the buffer.
std::string take_text(corisco_text_buffer buffer);

// The error of a call that returned `code`; frees the message. what: "could not read x/tokenizer.json".
Error rust_error(std::int32_t code, corisco_text_buffer message, std::string_view what);
}  // namespace corisco::text
