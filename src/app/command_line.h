// `corisco serve | check | config | try | eval | status`.
#pragma once

namespace corisco::app {
int run_command_line(int argc, char** argv);
}  // namespace corisco::app
