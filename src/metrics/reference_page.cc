// docs/metrics.md, generated from the declarations.
#include "corisco/base/strings.h"
#include "corisco/metrics/registry.h"

namespace corisco::metrics {
namespace {
const char* kind_name(Declaration::Kind kind) {
  switch (kind) {
    case Declaration::Kind::counter: return "counter";
    case Declaration::Kind::gauge: return "gauge";
    case Declaration::Kind::histogram: return "histogram";
  }
  return "gauge";
}

// "gateway" of "corisco_gateway_requests_total".
std::string module_of(const Declaration& declaration) { return split(declaration.name, '_')[1]; }

std::string row(const Declaration& declaration) {
  std::vector<std::string> labels;
  for (const char* label : declaration.labels) labels.push_back(cat('`', label, '`'));
  return cat("| `", declaration.name, "` | ", kind_name(declaration.kind), " | ", join(labels, ", "), " | ",
             declaration.help, " |\n");
}
}  // namespace

std::string reference_page() {
  std::string page =
      "# Metrics\n\n"
      "Generated from `src/metrics/declarations.cc`; a test fails when this page is stale.\n"
      "Shown at `/metrics` in Prometheus' text format. Series without labels are there from the\n"
      "start; one with labels appears with its first value.\n";
  std::string module;
  for (const auto& declaration : declarations()) {
    if (module_of(declaration) != module) {
      module = module_of(declaration);
      page += cat("\n## ", module, "\n\n| name | kind | labels | help |\n| --- | --- | --- | --- |\n");
    }
    page += row(declaration);
  }
  return page;
}
}  // namespace corisco::metrics
