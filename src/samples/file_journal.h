// The journal's writer. Its thread consumes the queue of appended records, waits for one, for a flush, for
// a rewritten file or for the next sync to be due, produces bytes on disk and completions, and is unblocked
// by append(), flush(), remove_old() and the destructor. Private to journal.cc and journal_removal.cc.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "corisco/samples/journal.h"
#include "samples/call_bases.h"
#include "samples/journal_file.h"
#include "samples/retention.h"

namespace corisco::metrics {
class Counter;
class Gauge;
class Histogram;
}  // namespace corisco::metrics

namespace corisco::samples {
// What the writer tells /metrics; all null without a registry.
struct JournalMeters {
  metrics::Counter* bytes = nullptr;
  metrics::Gauge* waiting_bytes = nullptr;
  metrics::Histogram* sync_seconds = nullptr;
  explicit JournalMeters(metrics::Registry* registry);
};

class FileJournal final : public Journal {
 public:
  FileJournal(JournalFile file, const JournalOptions& options);
  ~FileJournal() override;
  void append(Record record, std::function<void(Result<void>)> done) override;
  void when_kept(std::function<void(Result<void>)> done) override;
  Result<void> flush() override;
  void remove_old(Retention retention, std::function<void(Result<Removed>)> done) override;
  std::uint64_t torn_bytes() const override { return torn_bytes_; }

 private:
  using Steady = std::chrono::steady_clock;
  struct Waiting {
    std::optional<Record> record;          // none: it waits for those before it
    std::function<void(Result<void>)> done;
    std::size_t bytes = 0;
  };
  // A removal of old content: asked for, then rewritten by its own thread, then put in place.
  struct Removal {
    Retention retention;
    std::function<void(Result<Removed>)> done;
    std::optional<Result<std::optional<Rewritten>>> rewritten;
    bool is_started = false;
  };

  void run();
  bool has_work() const;
  std::vector<Waiting> take_batch();
  Result<void> write(std::vector<Waiting>& batch);
  static void complete(std::vector<Waiting>& batch, const Result<void>& result);
  Result<void> sync();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void note_write(const Result<void>& written);
  void keep(std::vector<Waiting>& batch, const Error& error);
  void tell_stuck(const std::string& why);
  void give_up_rest();
  void go_on_with_removal();
  void rewrite(const std::stop_token& stop, std::uint64_t end, const Retention& retention);
  Result<Removed> put_in_place(Result<std::optional<Rewritten>> rewritten);

  // Owned by the writer thread after construction.
  JournalFile file_;
  const JournalOptions options_;
  const std::uint64_t torn_bytes_;
  std::uint64_t sequence_;
  CallBases bases_;
  bool is_dirty_ = false, is_failing_ = false;
  Steady::time_point dirty_since_, failing_since_;
  JournalMeters meters_;

  std::mutex mutex_;
  std::condition_variable wake_writer_, wake_flushers_;
  // Under mutex_. Counts are of records appended since opening.
  std::deque<Waiting> queue_;
  std::size_t num_kept_ = 0;  // at the queue's front: counted as written, though their write failed
  bool wants_retry_ = false;  // of those, by a flush
  bool is_stuck_ = false;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t num_appended_ = 0, num_written_ = 0, num_synced_ = 0, flush_wanted_ = 0;
  Result<void> last_sync_;
  Result<void> failure_;  // of the first write that failed since the last flush
  std::optional<Removal> removal_;
  bool is_ending_ = false;

  std::jthread rewriter_;  // of the removal; the writer starts it
  std::thread thread_;     // last: it uses all of the above
};
}  // namespace corisco::samples
