// A reply's reasoning as a client of the Responses API keeps it unread (encrypted_content), and sends it
// back where it sends nothing else of it. Base64: it hides nothing, and needs no memory here. Pure.
#pragma once
#include <string>

namespace corisco::gateway {
std::string sealed_reasoning(const std::string& text);
std::string unsealed_reasoning(const std::string& sealed);   // empty if it is not ours
}  // namespace corisco::gateway
