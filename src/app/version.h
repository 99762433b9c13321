// What this binary is.
#pragma once

namespace corisco::app {
inline constexpr const char* kVersion = "0.1.0";
inline constexpr const char* kTorchVersion = "2.11.0";
inline constexpr const char* kCompiler = "g++ " __VERSION__;
}  // namespace corisco::app
