// What can be saved of a damaged journal. For people, while no daemon runs on the folder.
#pragma once
#include <cstdint>
#include <string>

#include "corisco/base/result.h"

namespace corisco::samples {
struct RepairReport {
  std::uint64_t num_kept = 0;
  std::uint64_t num_lost = 0;            // records that could not be read
  std::uint64_t num_dropped_calls = 0;   // read, but what they go on from is lost
  std::uint64_t num_missing_updates = 0; // by the gaps in their versions: a resume may train their groups again
  std::uint64_t num_places = 0;          // where it is damaged
  std::uint64_t first_offset = 0;        // of those
  std::string damaged_file;              // where the old one is kept; empty: there was no damage, and all is as it was
};

// Keeps every record that can be read before and after each damage, numbered anew, and the file as it was
// beside it as journal.bin.damaged. A torn tail alone is no damage: opening cuts it. Refused: a journal in
// use (conflict), no journal (not_found), one of another format or with a good record of a type that this
// daemon does not know (invalid_argument). A kill at any moment leaves the old file or the new one.
Result<RepairReport> repair_journal(const std::string& folder);
}  // namespace corisco::samples
