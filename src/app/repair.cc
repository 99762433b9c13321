#include "app/repair.h"

#include <cstdio>

#include "app/exit_codes.h"
#include "app/find_run.h"
#include "corisco/base/strings.h"
#include "corisco/samples/repair.h"

namespace corisco::app {
namespace {
std::string to_text(const samples::RepairReport& report) {
  auto text = cat("kept ", report.num_kept, " records; damaged in ", report.num_places,
                  report.num_places == 1 ? " place" : " places");
  if (report.num_places > 0) text += cat(", first at offset ", report.first_offset);
  text += cat("\nlost ", report.num_lost, " records that could not be read");
  if (report.num_dropped_calls > 0)
    text += cat(", and ", report.num_dropped_calls,
                " calls that go on from a lost one: their rollouts are shorter by them");
  if (report.num_missing_updates > 0)
    text += cat("\nwarning: ", report.num_missing_updates,
                " updates are among the lost: after --resume their groups are trained again if they are still there");
  return text + cat("\nthe damaged file is kept as ", report.damaged_file);
}
}  // namespace

int repair(const std::string& run) {
  const auto found = find_run(run, {});
  if (!found.ok()) {
    std::fprintf(stderr, "error: %s\n", found.error().message.c_str());
    return kExitBadStart;
  }
  const auto report = samples::repair_journal(found.value().folder);
  if (!report.ok()) {
    std::fprintf(stderr, "error: %s\n", report.error().message.c_str());
    return report.error().code == Code::conflict ? kExitBadStart : kExitFailed;
  }
  const bool was_damaged = !report.value().damaged_file.empty();
  std::puts(was_damaged ? to_text(report.value()).c_str()
                        : cat("not damaged: ", report.value().num_kept, " records").c_str());
  return kExitDone;
}
}  // namespace corisco::app
