// The journal's writer thread. It consumes the queue of appended records, waits for one, for a
// flush or for the next sync to be due, produces bytes on disk and completions, and is unblocked
// by append(), flush() and the destructor.
#include "corisco/samples/journal.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/metrics/registry.h"
#include "samples/journal_file.h"
#include "samples/journal_format.h"
#include "samples/mapped_file.h"
#include "samples/record_codec.h"

namespace corisco::samples {
namespace {
using Steady = std::chrono::steady_clock;
constexpr std::size_t kWaitingBytesMax = 64U << 20;
constexpr std::size_t kBatchBytesMax = 4U << 20;
constexpr auto kSyncEvery = std::chrono::milliseconds(100);

struct Waiting {
  Record record;
  std::function<void(Result<void>)> done;
  std::size_t bytes = 0;
};

// What the writer tells /metrics; all null without a registry.
struct Meters {
  metrics::Counter* bytes = nullptr;
  metrics::Gauge* waiting_bytes = nullptr;
  metrics::Histogram* sync_seconds = nullptr;
  explicit Meters(metrics::Registry* registry) {
    if (registry == nullptr) return;
    bytes = &registry->counter("corisco_samples_journal_bytes_total");
    waiting_bytes = &registry->gauge("corisco_samples_journal_waiting_bytes");
    sync_seconds = &registry->histogram("corisco_samples_journal_sync_seconds");
  }
};

class FileJournal final : public Journal {
 public:
  FileJournal(JournalFile file, metrics::Registry* registry)
      : file_(std::move(file)),
        torn_bytes_(file_.torn_bytes()),
        sequence_(file_.last_sequence()),
        meters_(registry) {
    thread_ = std::thread([this] { run(); });
  }
  ~FileJournal() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    wake_writer_.notify_one();
    thread_.join();
  }
  void append(Record record, std::function<void(Result<void>)> done) override;
  Result<void> flush() override;
  std::uint64_t torn_bytes() const override { return torn_bytes_; }

 private:
  void run();
  bool has_work() const { return !queue_.empty() || num_synced_ < flush_wanted_ || is_ending_; }
  std::vector<Waiting> take_batch();
  void write(std::vector<Waiting>& batch);
  Result<void> sync();

  // Owned by the writer thread after construction.
  JournalFile file_;
  const std::uint64_t torn_bytes_;
  std::uint64_t sequence_;
  bool is_dirty_ = false;
  Steady::time_point dirty_since_;
  Meters meters_;

  std::mutex mutex_;
  std::condition_variable wake_writer_, wake_flushers_;
  // Under mutex_. Counts are of records appended since opening.
  std::deque<Waiting> queue_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t num_appended_ = 0, num_written_ = 0, num_synced_ = 0, flush_wanted_ = 0;
  Result<void> last_sync_;
  Result<void> failure_;  // of the first write that failed since the last flush
  bool is_ending_ = false;

  std::thread thread_;  // last: it uses all of the above
};

void FileJournal::append(Record record, std::function<void(Result<void>)> done) {
  const std::size_t bytes = encoded_bytes(record);
  {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ + bytes <= kWaitingBytesMax || queue_.empty()) {
      queue_.push_back({std::move(record), std::move(done), bytes});
      waiting_bytes_ += bytes;
      ++num_appended_;
      wake_writer_.notify_one();
      return;
    }
  }
  if (done) done(Error{Code::overloaded, "64 MiB wait for the journal: the disk is too slow or hangs"});
}

Result<void> FileJournal::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = num_appended_;
  flush_wanted_ = std::max(flush_wanted_, wanted);
  wake_writer_.notify_one();
  wake_flushers_.wait(lock, [&] { return num_synced_ >= wanted; });
  if (!last_sync_.ok()) return last_sync_;
  return std::exchange(failure_, Result<void>{});
}

void FileJournal::run() {
  std::unique_lock lock(mutex_);
  for (bool is_over = false; !is_over;) {
    if (is_dirty_) {
      wake_writer_.wait_until(lock, dirty_since_ + kSyncEvery, [this] { return has_work(); });
    } else {
      wake_writer_.wait(lock, [this] { return has_work(); });
    }
    auto batch = take_batch();
    const std::uint64_t num_done = num_written_ + batch.size();
    is_over = is_ending_ && queue_.empty();
    const bool must_sync = is_over || (num_synced_ < flush_wanted_ && flush_wanted_ <= num_done);
    lock.unlock();
    write(batch);
    const bool is_due = is_dirty_ && Steady::now() - dirty_since_ >= kSyncEvery;
    const auto synced = must_sync || is_due ? sync() : Result<void>{};
    lock.lock();
    num_written_ = num_done;
    if (!must_sync && !is_due) continue;
    num_synced_ = num_done;
    last_sync_ = synced;
    wake_flushers_.notify_all();
  }
}

// Under the mutex: as many records as make a batch.
std::vector<Waiting> FileJournal::take_batch() {
  std::vector<Waiting> batch;
  for (std::size_t bytes = 0; !queue_.empty() && bytes < kBatchBytesMax; queue_.pop_front()) {
    bytes += queue_.front().bytes;
    waiting_bytes_ -= queue_.front().bytes;
    batch.push_back(std::move(queue_.front()));
  }
  if (meters_.waiting_bytes != nullptr) meters_.waiting_bytes->set(static_cast<double>(waiting_bytes_));
  return batch;
}

// All of the batch is written or none of it; sequences count what is in the file.
void FileJournal::write(std::vector<Waiting>& batch) {
  if (batch.empty()) return;
  std::string frames;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    frames += framed(type_of(batch[i].record), sequence_ + 1 + i, encode(batch[i].record));
  }
  const auto written = file_.write(frames);
  if (written.ok()) {
    sequence_ += batch.size();
    if (!is_dirty_) dirty_since_ = Steady::now();
    is_dirty_ = true;
    if (meters_.bytes != nullptr) meters_.bytes->add(static_cast<double>(frames.size()));
  } else {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = written;
  }
  for (auto& waiting : batch) {
    if (waiting.done) waiting.done(written);
  }
}

Result<void> FileJournal::sync() {
  is_dirty_ = false;
  const auto start = Steady::now();
  auto synced = file_.sync();
  if (meters_.sync_seconds != nullptr) {
    meters_.sync_seconds->observe(std::chrono::duration<double>(Steady::now() - start).count());
  }
  if (!synced.ok()) log::error(cat("the journal takes no more records: ", synced.error().message));
  return synced;
}
}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& folder, const std::string& run_id,
                                               metrics::Registry* metrics) {
  CORISCO_TRY(JournalFile file, JournalFile::open(folder, run_id));
  return std::unique_ptr<Journal>(std::make_unique<FileJournal>(std::move(file), metrics));
}

Result<ReadReport> read_journal(const std::string& folder,
                                const std::function<void(const Record&)>& for_each) {
  const std::string path = cat(folder, "/", kJournalName);
  CORISCO_TRY(const MappedFile mapped, MappedFile::open(path));
  const auto bytes = mapped.bytes();
  const auto refused = [&](const Error& error) { return Error{error.code, cat(path, ": ", error.message)}; };
  const auto head = read_head(bytes);
  if (!head.ok()) return refused(head.error());
  ReadReport report{head.value().run_id, 0, bytes.size()};
  if (head.value().length == 0) return report;
  const auto frames = read_frames(bytes, head.value().length, [&](const Frame& frame) -> Result<void> {
    CORISCO_TRY(const Record record, decode(frame.type, frame.payload));
    for_each(record);
    return {};
  });
  if (!frames.ok()) return refused(frames.error());
  report.num_records = frames.value().last_sequence;
  report.torn_bytes = bytes.size() - frames.value().end;
  return report;
}
}  // namespace corisco::samples
