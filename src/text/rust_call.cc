#include "text/rust_call.h"

#include "corisco/base/strings.h"

namespace corisco::text {
std::string take_text(corisco_text_buffer buffer) {
  std::string text(reinterpret_cast<const char*>(buffer.data), buffer.size);
  corisco_text_buffer_free(buffer);
  return text;
}

Error rust_error(std::int32_t code, corisco_text_buffer message, std::string_view what) {
  const Code kind = code == CORISCO_TEXT_INVALID ? Code::invalid_argument : Code::internal;
  return Error{kind, cat(what, ": ", take_text(message))};
}
}  // namespace corisco::text
