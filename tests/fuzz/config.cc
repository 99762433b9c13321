// A config of any bytes: problems that say something, or a config that prints as one which reads the
// same.
#include "corisco/config/load.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco;
  fuzz::Input input(data, size);
  const bool is_override = input.flag();
  const std::string text(input.rest(8192));
  const auto loaded = is_override ? config::parse("", "/c/fuzz.yaml", {text}) : config::parse(text, "/c/fuzz.yaml", {});
  for (const auto& problem : loaded.problems) {
    fuzz::require(!problem.message.empty() && problem.line >= 0, "a problem that says nothing");
    fuzz::require(!config::to_string(problem, "fuzz.yaml").empty(), "a problem without words");
  }
  if (!loaded.problems.empty()) return 0;
  const auto printed = config::to_yaml(loaded.config);
  const auto again = config::parse(printed, "/c/fuzz.yaml", {});
  for (const auto& problem : again.problems) fuzz::require(false, config::to_string(problem, "printed"), "\n", printed);
  fuzz::require(config::to_yaml(again.config) == printed, "prints differently when read again:\n", printed);
  return 0;
}
