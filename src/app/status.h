// `corisco status`: asks a running daemon for /admin/state and prints it.
#pragma once
#include <string>

namespace corisco::app {
int print_status(const std::string& url);
}  // namespace corisco::app
