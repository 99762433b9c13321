#include "app/replay.h"

#include <cstdio>
#include <filesystem>

#include "app/exit_codes.h"
#include "app/find_run.h"
#include "app/replay_groups.h"
#include "app/run_folder.h"
#include "app/train_batch.h"
#include "app/inspect/update_history.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/model/runtime.h"
#include "corisco/trainer/trainer.h"

namespace corisco::app {
namespace fs = std::filesystem;
namespace {
class Replay {
 public:
  explicit Replay(const ReplayOptions& options) : options_(options) {}

  Result<void> prepare() {
    CORISCO_TRY(run_, find_run(options_.run, options_.overrides));
    CORISCO_CHECK(check_config());
    CORISCO_CHECK(check_out());
    CORISCO_TRY(const samples::ReadReport read,
                source()([this](const samples::Record& record) { history_.add(record); }));
    if (read.num_records == 0) return Error{Code::not_found, cat("the journal of ", run_.folder, " is empty")};
    CORISCO_TRY(last_, history_.maker_of(options_.version));
    CORISCO_CHECK(check_model_files(run_.folder, config().model.path));
    CORISCO_CHECK(load());
    made_ = history_.made_after(num_updates_, last_);
    CORISCO_CHECK(check_first());
    std::set<GroupId> wanted;
    for (const auto index : made_) {
      const auto& groups = history_.updates()[index].record.groups;
      wanted.insert(groups.begin(), groups.end());
    }
    CORISCO_TRY(groups_, read_groups(source(), wanted));
    return {};
  }

  // Every update from the loaded weights to the wanted one; whether the last came out bit-equal.
  Result<bool> make() {
    std::printf("from version %llu: %s\n", as_printed(trainer_->version()), from_.c_str());
    bool is_same = true;
    for (const auto index : made_) {
      const auto& record = history_.updates()[index].record;
      const auto report = make_again(record);
      is_same = compare(record, report);
      if (report.was_skipped != record.was_skipped)
        return Error{Code::conflict, cat("here this update ", report.was_skipped ? "was skipped" : "was made",
                                         ", in the run it was not: what follows cannot be replayed")};
    }
    return is_same;
  }

  Result<void> save() {
    if (options_.out.empty()) return {};
    CORISCO_TRY(const std::string written, trainer_->save(options_.out, config().model.path, extra_json_));
    std::printf("checkpoint  %s\n", written.c_str());
    return {};
  }

 private:
  const config::Config& config() const { return run_.loaded.config; }
  static unsigned long long as_printed(PolicyVersion version) { return version.value; }

  samples::RecordSource source() const {
    return [folder = run_.folder](const std::function<void(const samples::Record&)>& for_each) {
      return samples::read_journal(folder, for_each);
    };
  }

  Result<void> check_config() const {
    const auto& problems = run_.loaded.problems;
    if (problems.empty()) return {};
    std::string all;
    for (const auto& problem : problems) all += "\n" + config::to_string(problem, config().file);
    return Error{Code::invalid_argument, cat("the run's config does not hold:", all)};
  }

  // Saving prunes its folder, which must not be one that others use.
  Result<void> check_out() const {
    std::error_code unknown;
    if (options_.out.empty() || !fs::exists(options_.out, unknown)) return {};
    if (fs::is_directory(options_.out, unknown) && fs::is_empty(options_.out, unknown)) return {};
    return Error{Code::conflict, cat("--out ", options_.out, " exists: name a new or empty folder")};
  }

  // As the device thread loads them, without an engine.
  Result<void> load() {
    model::use_threads(config().model.threads);
    CORISCO_TRY(decoder_, model::load_decoder(config().model, config().engine.deterministic));
    CORISCO_TRY(trainer_, trainer::Trainer::create(*decoder_, config().trainer, config().run.updates));
    const auto restored =
        trainer_->restore_up_to(run_.folder + "/checkpoints", PolicyVersion{options_.version.value - 1});
    if (restored.ok()) {
      from_ = restored.value().folder;
      extra_json_ = restored.value().extra_json;
      num_updates_ = restored.value().num_updates;
    } else if (restored.error().code != Code::not_found) {
      return restored.error();
    }
    return {};
  }

  // A journal that could not be written for a while lacks updates that a checkpoint has.
  Result<void> check_first() const {
    const auto version = trainer_->version();
    if (!made_.empty()) {
      const auto& first = history_.updates()[made_.front()].record;
      if (first.policy_version.value == version.value + (first.was_skipped ? 0 : 1)) return {};
    }
    return Error{Code::conflict, cat("the journal does not have the update after version ", version, ", of ", from_)};
  }

  UpdateReport make_again(const samples::UpdatePublished& record) {
    std::vector<std::unique_ptr<Group>> groups;
    for (const auto id : record.groups) groups.push_back(std::move(groups_.at(id)));
    trainer_->begin(make_train_batch(groups, config().samples, metrics_), trainer_->version());
    while (trainer_->advance()) {
    }
    return trainer_->publish();
  }

  static bool compare(const samples::UpdatePublished& record, const UpdateReport& report) {
    std::printf("version %llu  loss %.9g  grad norm %.9g  kl %.6g  clipped %.6g  reward %.6f  tokens %llu%s\n",
                as_printed(report.policy_version), report.loss, report.grad_norm, report.kl_sampled,
                report.clipped_fraction, report.reward_mean, static_cast<unsigned long long>(report.num_trained_tokens),
                report.was_skipped ? "  skipped" : "");
    if (record.weights_checksum == 0 || report.was_skipped) {
      if (!report.was_skipped)
        std::printf("  weights %s; the journal has no checksum of them\n", hex(report.weights_checksum).c_str());
      return true;
    }
    const bool is_same = record.weights_checksum == report.weights_checksum;
    std::printf("  %s: %s%s\n", is_same ? "the same weights" : "other weights", hex(report.weights_checksum).c_str(),
                is_same ? "" : cat(", in the run ", hex(record.weights_checksum)).c_str());
    std::fflush(stdout);
    return is_same;
  }

  const ReplayOptions options_;
  FoundRun run_;
  UpdateHistory history_;
  std::size_t last_ = 0;
  std::uint64_t num_updates_ = 0;        // that the loaded weights have learnt from
  std::vector<std::size_t> made_;        // to be made, up to last_
  Groups groups_;
  metrics::Registry metrics_;            // what the batch counts, shown to nobody
  std::shared_ptr<model::Decoder> decoder_;
  std::unique_ptr<trainer::Trainer> trainer_;
  std::string from_ = "the initial weights", extra_json_;
};

int refuse(const Error& error, ExitCode code) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return code;
}
}  // namespace

int replay(const ReplayOptions& options) {
  log::set_level(log::Level::warn);
  Replay run(options);
  if (const auto prepared = run.prepare(); !prepared.ok()) return refuse(prepared.error(), kExitBadStart);
  const auto is_same = run.make();
  if (!is_same.ok()) return refuse(is_same.error(), kExitFailed);
  if (const auto saved = run.save(); !saved.ok()) return refuse(saved.error(), kExitFailed);
  return is_same.value() || !options.overrides.empty() ? kExitDone : kExitFailed;
}
}  // namespace corisco::app
