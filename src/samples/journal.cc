#include "corisco/samples/journal.h"

#include <algorithm>
#include <utility>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/metrics/registry.h"
#include "samples/file_journal.h"
#include "samples/journal_format.h"
#include "samples/record_codec.h"

namespace corisco::samples {
namespace {
constexpr std::size_t kWaitingBytesMax = 64U << 20;
constexpr std::size_t kBatchBytesMax = 4U << 20;
constexpr auto kSyncEvery = std::chrono::milliseconds(100);
}  // namespace

JournalMeters::JournalMeters(metrics::Registry* registry) {
  if (registry == nullptr) return;
  bytes = &registry->counter("corisco_samples_journal_bytes_total");
  waiting_bytes = &registry->gauge("corisco_samples_journal_waiting_bytes");
  sync_seconds = &registry->histogram("corisco_samples_journal_sync_seconds");
}

FileJournal::FileJournal(JournalFile file, const JournalOptions& options)
    : file_(std::move(file)),
      options_(options),
      torn_bytes_(file_.torn_bytes()),
      sequence_(file_.last_sequence()),
      meters_(options.metrics) {
  thread_ = std::thread([this] { run(); });
}

FileJournal::~FileJournal() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_writer_.notify_one();
  thread_.join();
}

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
  const Error full{Code::overloaded, "64 MiB wait for the journal: the disk is too slow or hangs"};
  if (done) done(full);
  else tell_stuck(full.message);
}

void FileJournal::when_kept(std::function<void(Result<void>)> done) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::nullopt, std::move(done), 0});
  ++num_appended_;
  wake_writer_.notify_one();
}

Result<void> FileJournal::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = num_appended_;
  flush_wanted_ = std::max(flush_wanted_, wanted);
  wants_retry_ = wants_retry_ || num_kept_ > 0;
  wake_writer_.notify_one();
  wake_flushers_.wait(lock, [&] { return num_synced_ >= wanted && !wants_retry_; });
  if (!last_sync_.ok()) return last_sync_;
  return std::exchange(failure_, Result<void>{});
}

bool FileJournal::has_work() const {
  const bool is_removal_ready = removal_ && (!removal_->is_started || removal_->rewritten);
  return queue_.size() > num_kept_ || wants_retry_ || num_synced_ < flush_wanted_ || is_removal_ready || is_ending_;
}

// Until there is some, the next sync is due, or what was kept is to be tried again.
void FileJournal::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto is_there = [this] { return has_work(); };
  if (is_dirty_) wake_writer_.wait_until(lock, dirty_since_ + kSyncEvery, is_there);
  else if (num_kept_ > 0) wake_writer_.wait_for(lock, kSyncEvery, is_there);
  else wake_writer_.wait(lock, is_there);
}

void FileJournal::run() {
  std::unique_lock lock(mutex_);
  for (bool is_over = false; !is_over;) {
    wait_for_work(lock);
    const auto num_again = num_kept_;
    auto batch = take_batch();
    const std::uint64_t num_done = num_written_ + batch.size() - (num_again - num_kept_);
    const bool is_retry = wants_retry_;
    const bool must_sync =
        is_ending_ || is_retry || (num_synced_ < flush_wanted_ && flush_wanted_ <= num_done);
    lock.unlock();
    const bool is_strict = options_.durability == Durability::strict;
    const auto written = write(batch);
    if (!is_strict) complete(batch, written);
    const bool is_due = is_dirty_ && (is_strict || Steady::now() - dirty_since_ >= kSyncEvery);
    const auto synced = must_sync || is_due ? sync() : Result<void>{};
    if (is_strict) complete(batch, written.ok() ? synced : written);
    if (!written.ok()) keep(batch, written.error());
    go_on_with_removal();
    lock.lock();
    is_over = is_ending_ && (queue_.empty() || !written.ok());
    num_written_ = num_done;
    if (is_retry && (!written.ok() || num_kept_ == 0)) wants_retry_ = false;
    if (must_sync || is_due) {
      num_synced_ = num_done;
      last_sync_ = synced;
    }
    wake_flushers_.notify_all();
  }
  give_up_rest();
}

// Under the mutex: as many records as make a batch.
std::vector<FileJournal::Waiting> FileJournal::take_batch() {
  std::vector<Waiting> batch;
  for (std::size_t bytes = 0; !queue_.empty() && bytes < kBatchBytesMax; queue_.pop_front()) {
    bytes += queue_.front().bytes;
    waiting_bytes_ -= queue_.front().bytes;
    batch.push_back(std::move(queue_.front()));
    num_kept_ -= std::min<std::size_t>(num_kept_, 1);
  }
  if (meters_.waiting_bytes != nullptr) meters_.waiting_bytes->set(static_cast<double>(waiting_bytes_));
  return batch;
}

// All of the batch is written or none of it; sequences count what is in the file.
Result<void> FileJournal::write(std::vector<Waiting>& batch) {
  if (batch.empty()) return {};
  std::string frames;
  RecordStamp stamp{sequence_, static_cast<std::uint32_t>(options_.clock->unix_seconds())};
  for (auto& waiting : batch) {
    if (!waiting.record) continue;
    bases_.forget(*waiting.record);
    if (auto* recorded = std::get_if<CallRecorded>(&*waiting.record)) bases_.check(*recorded);
    ++stamp.sequence;
    frames += framed(type_of(*waiting.record), stamp, encode(*waiting.record));
  }
  auto written = file_.write(frames);
  if (frames.empty()) return written;    // which says nothing about the disk
  note_write(written);
  if (!written.ok()) return written;
  for (const auto& waiting : batch)
    if (waiting.record) bases_.see(*waiting.record);
  sequence_ = stamp.sequence;
  if (!is_dirty_) dirty_since_ = Steady::now();
  is_dirty_ = true;
  if (meters_.bytes != nullptr) meters_.bytes->add(static_cast<double>(frames.size()));
  return written;
}

// A full disk is said once, and once that it is over.
void FileJournal::note_write(const Result<void>& written) {
  if (!written.ok()) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = written;
  }
  if (is_failing_ == !written.ok()) return;
  is_failing_ = !written.ok();
  failing_since_ = Steady::now();
  if (is_failing_) log::error(cat("calls are refused until the journal can be written: ", written.error().message));
  else log::info("the journal can be written again");
}

// What nobody waits for goes back to the queue's front.
void FileJournal::keep(std::vector<Waiting>& batch, const Error& error) {
  const std::chrono::duration<double> failing = Steady::now() - failing_since_;
  bool has_kept = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto waiting = batch.rbegin(); waiting != batch.rend(); ++waiting) {
      if (waiting->done) continue;
      waiting_bytes_ += waiting->bytes;
      queue_.push_front(std::move(*waiting));
      ++num_kept_;
    }
    has_kept = num_kept_ > 0;
  }
  if (has_kept && failing.count() > options_.kept_seconds_max) tell_stuck(error.message);
}

void FileJournal::tell_stuck(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stuck_, true)) return;
  }
  log::error(cat("the journal cannot keep what the run did: ", why));
  if (options_.on_stuck) options_.on_stuck(why);
}

// The journal closes while it cannot be written. Under the mutex.
void FileJournal::give_up_rest() {
  if (queue_.empty()) return;
  log::error(cat("the journal closes without ", queue_.size(), " records that could not be written"));
  for (auto& waiting : queue_)
    if (waiting.done) waiting.done(Error{Code::cancelled, "the journal closes, and could not be written"});
}

void FileJournal::complete(std::vector<Waiting>& batch, const Result<void>& result) {
  for (auto& waiting : batch) {
    if (waiting.done) waiting.done(result);
  }
}

Result<void> FileJournal::sync() {
  is_dirty_ = false;
  const auto start = Steady::now();
  auto synced = file_.sync();
  if (meters_.sync_seconds != nullptr) {
    meters_.sync_seconds->observe(std::chrono::duration<double>(Steady::now() - start).count());
  }
  if (!synced.ok()) tell_stuck(cat("it takes no more records: ", synced.error().message));
  return synced;
}

Result<std::unique_ptr<Journal>> Journal::open(const std::string& folder, const std::string& run_id,
                                               const JournalOptions& options) {
  CORISCO_TRY(JournalFile file, JournalFile::open(folder, run_id));
  return std::unique_ptr<Journal>(std::make_unique<FileJournal>(std::move(file), options));
}
}  // namespace corisco::samples
