#include "app/call_id_secret.h"

#include <algorithm>

#include "corisco/base/files.h"
#include "corisco/base/secret.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
constexpr std::size_t kSecretBytes = 32;

bool is_secret(const std::string& text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 2 * kSecretBytes && std::all_of(text.begin(), text.end(), is_digit);
}
}  // namespace

Result<std::string> call_id_secret(const std::string& run_folder) {
  const std::string path = run_folder + "/call_ids.secret";
  const auto kept = files::read(path);
  if (!kept.ok() && kept.error().code != Code::not_found) return kept.error();
  std::string secret = kept.ok() ? std::string(trim(kept.value())) : new_secret(kSecretBytes);
  if (!kept.ok())
    CORISCO_CHECK(files::write_atomically(path, secret + "\n", 0600));
  else if (!is_secret(secret))
    return Error{Code::invalid_argument,
                 cat(path, " is damaged; without it the run issues other ids for tool calls: delete it to go on so")};
  return secret;
}
}  // namespace corisco::app
