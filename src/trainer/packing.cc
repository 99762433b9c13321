#include "trainer/packing.h"

#include <algorithm>
#include <span>

#include "trainer/prefix_tree.h"

namespace corisco::trainer {
namespace {
// How many micro-batches a row may look at for room; bounds the planning, not the result's truth.
constexpr std::size_t kOpenBins = 32;

struct Bin {
  std::vector<std::size_t> rows;
  std::size_t num_tokens = 0;
  float temperature = 1.0F;
};

TokenRow forwarded(const TrainRow& row, const PackingOptions& options) {
  const Sample& sample = *row.sample;
  TokenRow result{std::span(sample.token_ids).first(row.forward_length)};
  if (!options.replays_routing || sample.routed_experts.empty()) return result;
  const std::size_t width = sample.routed_experts.size() / (sample.token_ids.size() - 1);
  result.experts = std::span(sample.routed_experts).first(row.forward_length * width);
  return result;
}

float temperature_of(const TrainRow& row) {
  // Greedy draws record logprobs at temperature 1.
  return row.sample->temperature < kGreedyBelow ? 1.0F : row.sample->temperature;
}

class Planner {
 public:
  Planner(const Assembly& assembly, const PackingOptions& options) : assembly_(assembly), options_(options) {}

  void place(std::size_t row) {
    Bin* best = nullptr;
    std::size_t best_added = 0;
    for (Bin& bin : open_bins()) {
      if (bin.temperature != temperature_of(assembly_.rows[row])) continue;
      const std::size_t added = tokens_added(bin, row);
      if (bin.num_tokens + added > options_.tokens_max || (best && added >= best_added)) continue;
      best = &bin;
      best_added = added;
    }
    if (!best) {
      best = &bins_.emplace_back();
      best->temperature = temperature_of(assembly_.rows[row]);
      best_added = assembly_.rows[row].forward_length;
    }
    best->rows.push_back(row);
    best->num_tokens += best_added;
  }
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  std::span<Bin> open_bins() { return std::span(bins_).last(std::min(bins_.size(), kOpenBins)); }
  std::size_t tokens_added(const Bin& bin, std::size_t row) const {
    const TokenRow tokens = forwarded(assembly_.rows[row], options_);
    std::size_t shared = 0;
    if (options_.share_prefixes)
      for (const std::size_t other : bin.rows)
        shared = std::max(shared, common_length(tokens, forwarded(assembly_.rows[other], options_)));
    return tokens.size() - shared;
  }

  const Assembly& assembly_;
  const PackingOptions& options_;
  std::vector<Bin> bins_;
};

void add_targets(MicroBatch& batch, const Assembly& assembly, const TrainRow& row,
                 const std::vector<std::int32_t>& places) {
  std::size_t token = row.first_token;
  for (std::size_t t = 0; t < row.sample->loss_mask.size(); ++t) {
    if (!row.sample->loss_mask[t]) continue;
    batch.hidden_rows.push_back(places[t - 1]);
    batch.target_ids.push_back(assembly.tokens[token].id);
    batch.tokens.push_back(token++);
  }
}

MicroBatch micro_batch(const Assembly& assembly, const Bin& bin, const PackingOptions& options) {
  std::vector<TokenRow> rows;
  for (const std::size_t row : bin.rows) rows.push_back(forwarded(assembly.rows[row], options));
  Layout layout = lay_out(rows, options.share_prefixes);
  MicroBatch batch;
  batch.input = std::move(layout.input);
  batch.temperature = bin.temperature;
  for (std::size_t i = 0; i < bin.rows.size(); ++i)
    add_targets(batch, assembly, assembly.rows[bin.rows[i]], layout.places[i]);
  return batch;
}
}  // namespace

std::vector<MicroBatch> pack(const Assembly& assembly, const PackingOptions& options) {
  Planner planner(assembly, options);
  for (std::size_t row = 0; row < assembly.rows.size(); ++row) planner.place(row);
  std::vector<MicroBatch> batches;
  for (const Bin& bin : planner.bins()) batches.push_back(micro_batch(assembly, bin, options));
  return batches;
}
}  // namespace corisco::trainer
