#include "corisco/base/result.h"

namespace corisco {
const char* to_string(Code code) {
  switch (code) {
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::conflict: return "conflict";
    case Code::overloaded: return "overloaded";
    case Code::timeout: return "timeout";
    case Code::cancelled: return "cancelled";
    case Code::unavailable: return "unavailable";
    case Code::internal: return "internal";
  }
  return "internal";
}
}  // namespace corisco
