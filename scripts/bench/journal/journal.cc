// What the journal costs: conversations, each waiting for its call to be kept before it makes the next, in
// each mode of samples.durability. Prints a JSON line per mode and number of conversations.
//   bench_journal FOLDER [CALLS]     FOLDER: on the disk that is to be measured; CALLS: per line, 2000
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "conversation.h"
#include "corisco/base/strings.h"
#include "corisco/samples/journal.h"
#include "../gateway/percentile.h"

namespace corisco::bench {
namespace {
using Steady = std::chrono::steady_clock;
constexpr std::uint32_t kTurns = 50;

// The conversations of one measurement. Each goes on from its last call's completion, as an agent does.
class Load {
 public:
  Load(samples::Journal& journal, std::uint64_t num_conversations, std::uint64_t num_calls)
      : journal_(journal), left_(num_calls), running_(num_conversations) {
    for (std::uint64_t i = 0; i < num_conversations; ++i) lanes_.push_back({.conversation = Conversation(i + 1)});
    next_rollout_ = num_conversations + 1;
  }
  // Seconds that it took.
  double run() {
    const auto begin = Steady::now();
    for (auto& lane : lanes_) {
      open(lane);
      next_call(lane);
    }
    all_done_.get_future().wait();
    return std::chrono::duration<double>(Steady::now() - begin).count();
  }
  std::vector<double> milliseconds() const {
    std::vector<double> all;
    for (const auto& lane : lanes_) all.insert(all.end(), lane.milliseconds.begin(), lane.milliseconds.end());
    return all;
  }

 private:
  struct Lane {
    Conversation conversation;
    std::uint32_t turns = 0;
    Steady::time_point begin{};
    std::vector<double> milliseconds{};
  };
  void open(Lane& lane) { journal_.append(samples::AttemptStarted{lane.conversation.attempt(), 0}, {}); }
  void next_call(Lane& lane) {
    if (left_.fetch_sub(1) <= 0) {
      if (--running_ == 0) all_done_.set_value();
      return;
    }
    if (lane.turns++ == kTurns) {
      lane.conversation = Conversation(next_rollout_++);
      lane.turns = 1;
      open(lane);
    }
    auto call = lane.conversation.next();
    lane.begin = Steady::now();
    journal_.append(samples::CallRecorded{std::move(call)}, [this, &lane](const Result<void>& kept) {
      if (!kept.ok()) std::abort();
      lane.milliseconds.push_back(std::chrono::duration<double, std::milli>(Steady::now() - lane.begin).count());
      next_call(lane);
    });
  }

  samples::Journal& journal_;
  std::vector<Lane> lanes_;
  std::atomic<std::int64_t> left_;
  std::atomic<std::uint64_t> running_;
  std::atomic<std::uint64_t> next_rollout_;
  std::promise<void> all_done_;
};

int measure(const std::string& folder, samples::Durability durability, std::uint64_t conversations,
            std::uint64_t calls) {
  const auto path = folder + "/journal.bin";
  std::filesystem::remove(path);
  samples::JournalOptions options;
  options.durability = durability;
  auto journal = samples::Journal::open(folder, "bench", options);
  if (!journal.ok()) {
    std::fprintf(stderr, "error: %s\n", journal.error().message.c_str());
    return 1;
  }
  auto load = std::make_unique<Load>(*journal.value(), conversations, calls);
  const double seconds = load->run();
  if (!journal.value()->flush().ok()) return 1;
  auto milliseconds = load->milliseconds();
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  const double tokens = static_cast<double>(calls) * (kNewPromptTokens + kReplyTokens);
  std::printf("{\"durability\": \"%s\", \"conversations\": %llu, \"calls_per_second\": %.0f, \"p50_ms\": %.3f, "
              "\"p99_ms\": %.3f, \"bytes_per_token\": %.2f, \"megabytes_per_second\": %.1f}\n",
              durability == samples::Durability::strict ? "strict" : "normal",
              static_cast<unsigned long long>(conversations), static_cast<double>(calls) / seconds,
              percentile(milliseconds, 0.5), percentile(milliseconds, 0.99), bytes / tokens, bytes / seconds / 1e6);
  std::filesystem::remove(path);
  return 0;
}
}  // namespace
}  // namespace corisco::bench

int main(int argc, char** argv) {
  using corisco::samples::Durability;
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [CALLS]\n", argv[0]);
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/corisco-bench-journal";
  std::filesystem::create_directories(folder);
  const std::uint64_t calls = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000;
  for (const auto durability : {Durability::normal, Durability::strict})
    for (const std::uint64_t conversations : {1, 16, 64})
      if (corisco::bench::measure(folder, durability, conversations, calls) != 0) return 1;
  std::filesystem::remove_all(folder);
  return 0;
}
