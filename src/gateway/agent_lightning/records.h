// What Agent Lightning's API was told of rollouts beyond what the daemon itself knows: their callers'
// names for them, their configs, jobs and events. Owned by the API; io thread; pure.
//
// Each attempt is a rollout of its own there, since its controllers run each rollout once: attempt 1 of
// rollout 7 is "7", attempt 2 is "7-2", unless its caller chose a name. Their only attempt is "0".
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "corisco/types/rollout.h"

namespace corisco::gateway::lightning {
struct PostedEvent {
  std::string type;
  std::string data_json;                 // an object
  double unix_seconds = 0;
};

struct Record {
  std::string name;                      // that its caller chose; empty: the daemon's own
  std::string config_json, metadata_json;  // objects; empty: none
  std::optional<std::string> k8s_job_name, last_attempt, error_message;
  std::uint32_t num_patches = 0;
  double patched_unix_seconds = 0;
  bool is_started_here = false;          // by a call, or a controller that said so
  std::vector<PostedEvent> events;
  std::size_t bytes = 0;                 // of its texts, its input's too
};

class Records {
 public:
  struct Limits {
    std::size_t records_max = 20000;
    std::size_t bytes_max = 256U << 20;
  };
  Records() : Records(Limits{}) {}
  explicit Records(Limits limits) : limits_(limits) {}

  // Null: the name names nothing. attempt: "0", or the daemon's number of it.
  std::optional<AttemptKey> resolve(std::string_view name, std::string_view attempt = "0") const;
  std::string name_of(AttemptKey attempt) const;
  // Whether a caller may choose it: it can't be taken for one of the daemon's own.
  static bool is_free_form(std::string_view name);

  const Record* find(AttemptKey attempt) const;
  // Made if there is none yet.
  Record& at(AttemptKey attempt);
  // A caller's own rollout, under the name that it chose, if any.
  void add(AttemptKey attempt, Record record);
  // Counts texts that a record is about to get. False: there is no room.
  bool take_room(AttemptKey attempt, std::size_t bytes);
  void forget(AttemptKey attempt);
  // Makes room for so many more records and bytes, by what the daemon no longer knows. False: there is none.
  bool make_room(std::size_t records, std::size_t bytes, const std::function<bool(AttemptKey)>& is_known);

 private:
  bool has_room(std::size_t records, std::size_t bytes) const {
    return records_.size() + records <= limits_.records_max && bytes_ + bytes <= limits_.bytes_max;
  }

  Limits limits_;
  std::size_t bytes_ = 0;
  std::map<AttemptKey, Record> records_;
  std::unordered_map<std::string, AttemptKey> by_name_;
};
}  // namespace corisco::gateway::lightning
