// `corisco serve | check | config | try | eval | inspect | replay | repair | launch | status | reference`.
#pragma once

namespace corisco::app {
int run_command_line(int argc, char** argv);
}  // namespace corisco::app
