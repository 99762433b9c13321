// The folders that checkpoints live in: written aside, synced, listed in a manifest with sizes and
// hashes, renamed, verified on load, pruned. Knows nothing of their content. Device thread; one
// process owns the parent folder. There is no "latest" mark: the newest whole folder is the truth.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "corisco/base/result.h"

namespace corisco::trainer {
// Writes parent/tmp-... through fill, which puts files directly into the folder that it is given,
// and renames it to parent/step-NNNNNN, or step-NNNNNN-2 and so on where that is taken: nothing
// that exists is overwritten. Returns the folder's final path.
Result<std::string> write_checkpoint_folder(
    const std::string& parent, std::uint64_t step,
    const std::function<Result<void>(const std::string& folder)>& fill);

// Every file of the manifest is there, with its size and hash.
Result<void> verify_checkpoint_folder(const std::string& folder);

// Newest first, whole or not, of at most step_max.
std::vector<std::string> checkpoint_folders(const std::string& parent, std::uint64_t step_max = UINT64_MAX);

// Deletes what writers that were killed left aside.
void remove_unfinished_checkpoints(const std::string& parent);

// Keeps the newest `kept` folders and newest, which the caller has verified.
void prune_checkpoints(const std::string& parent, const std::string& newest, std::size_t kept);
}  // namespace corisco::trainer
