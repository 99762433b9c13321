// A run's folder: made anew with the next free number, or continued.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corisco/base/result.h"
#include "corisco/config/config.h"

namespace corisco::app {
struct RunFolder {
  std::string path;                      // absolute
  std::string name;                      // "quickstart" or "quickstart-2"
  bool is_resumed = false;
  std::string checkpoints() const { return path + "/checkpoints"; }
  std::string log_file() const { return path + "/corisco.log"; }
};

// Without resume: run.folder/run.name, or with -2, -3, ... appended, the next number after the newest one's.
// With resume: the newest of those; not_found if there is none.
Result<RunFolder> open_run_folder(const config::Run& run, bool resume);

// Of a start that failed: deletes a folder that was made for it, so that a later resume does not take it for
// the newest run.
void remove_unused(const RunFolder& folder);

// The path of the newest one; not_found if there is none.
Result<std::string> newest_run_folder(const config::Run& run);

// manifest.json: what this run is made of, so that it can be told from another one: the config in
// force, hashes of program, model and data, the seed, versions of code and packages, the hardware.
Result<void> write_manifest(const RunFolder& folder, const config::Config& config,
                            const std::string& capability, const std::string& tasks_sha256,
                            const std::string& heldout_sha256);
bool has_manifest(const RunFolder& folder);
// Of the program that runs; empty if its file cannot be read.
const std::string& binary_sha256();
// {name: {bytes, sha256}} of a model folder's files.
nlohmann::ordered_json model_files(const std::string& folder);
// Whether the files of model_folder are those that the run's manifest lists; conflict names the first
// that is not.
Result<void> check_model_files(const std::string& run_folder, const std::string& model_folder);
}  // namespace corisco::app
