// The journal without its old content: rewritten by a thread of its own, and put in place by the writer
// between two batches, which takes as long as copying what was appended meanwhile.
#include <utility>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "samples/file_journal.h"

namespace corisco::samples {
void FileJournal::remove_old(Retention retention, std::function<void(Result<Removed>)> done) {
  {
    const std::lock_guard lock(mutex_);
    if (!removal_) {
      removal_.emplace(Removal{retention, std::move(done), std::nullopt, false});
      wake_writer_.notify_one();
      return;
    }
  }
  if (done) done(Error{Code::conflict, "old content is being removed already"});
}

// On the writer's thread, between two batches.
void FileJournal::go_on_with_removal() {
  std::unique_lock lock(mutex_);
  if (!removal_) return;
  if (!removal_->is_started && !is_ending_) {
    removal_->is_started = true;
    rewriter_ = std::jthread([this, end = file_.size(), retention = removal_->retention](const std::stop_token& stop) {
      rewrite(stop, end, retention);
    });
    return;
  }
  if (is_ending_ && removal_->is_started && !removal_->rewritten) {
    lock.unlock();
    rewriter_.request_stop();
    rewriter_.join();                    // at most a record later; it has left its result
    lock.lock();
  }
  if (!removal_->rewritten && !is_ending_) return;
  auto removal = std::move(*removal_);
  removal_.reset();
  lock.unlock();
  if (rewriter_.joinable()) rewriter_.join();
  Result<Removed> removed = Error{Code::cancelled, "the journal closes"};
  if (removal.rewritten) removed = put_in_place(std::move(*removal.rewritten));
  if (removal.done) removal.done(std::move(removed));
}

void FileJournal::rewrite(const std::stop_token& stop, std::uint64_t end, const Retention& retention) {
  auto rewritten = rewrite_without_old(file_.path(), end, retention, stop);
  const std::lock_guard lock(mutex_);
  removal_->rewritten.emplace(std::move(rewritten));
  wake_writer_.notify_one();
}

Result<Removed> FileJournal::put_in_place(Result<std::optional<Rewritten>> rewritten) {
  if (!rewritten.ok()) return rewritten.error();
  auto& found = rewritten.value();
  if (!found) return Removed{};
  const Removed removed = found->removed;
  CORISCO_CHECK(file_.replace_with(std::move(found->file), found->covered_bytes));
  is_dirty_ = false;                     // put in place synced
  return removed;
}
}  // namespace corisco::samples
