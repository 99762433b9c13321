// Rotation and attention on the CPU over the spans of the plan, in the cache or in the pass itself. Rows that
// follow each other go through the kernels in tiles, which changes no bit of what a row gives.
// The backward shares its work in a way that depends on shapes alone, never on the thread count, so
// gradients are the same bits on every run.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/cpu_ops.h"
#include "model/parallel.h"
#include "model/recorded.h"

namespace corisco::model {
namespace {
using kernels::table;

constexpr std::int64_t kTileQueries = 96;      // queries that meet a key when it is loaded
constexpr std::int64_t kGradientQueries = 48;  // the same in the backward
constexpr std::int64_t kTilesToKeepWhole = 4;  // per thread, from which a task is a tile's every head
constexpr std::int64_t kGradientChunks = 4;    // parts of the rows, each with key gradients of its own

const char* byte_at(const at::Tensor& tensor, std::int64_t element) {
  return static_cast<const char*>(tensor.const_data_ptr()) + element * tensor.element_size();
}
char* mutable_byte_at(const at::Tensor& tensor, std::int64_t element) {
  return static_cast<char*>(tensor.mutable_data_ptr()) + element * tensor.element_size();
}

// Queries and keys, which lie side by side.
void rotate(const HeadShape& heads, const at::Tensor& qkv, const CpuPass& pass, float direction) {
  const std::int64_t rows = qkv.size(0), num_heads = heads.num_heads + heads.num_kv_heads;
  const std::int64_t turned = 2 * static_cast<std::int64_t>(pass.angles.cosines.size()) / rows;
  // Heads that are turned whole lie side by side; of others the fronts do not.
  const bool is_whole = turned == heads.head_dim;
  const auto kernel = table(storage_of(qkv)).rotate;
  parallel_ranges(rows, rows * num_heads * heads.head_dim, [&](auto begin, auto end) {
    for (std::int64_t head = 0; head < (is_whole ? 1 : num_heads); ++head) {
      kernel(mutable_byte_at(qkv, head * heads.head_dim), qkv.size(1), is_whole ? num_heads : 1, turned,
             pass.angles.cosines.data(), pass.angles.sines.data(), direction, begin, end);
    }
  });
}

void write_cache(const HeadShape& heads, const at::Tensor& qkv, const CpuPass& pass, const at::Tensor& keys,
                 const at::Tensor& values) {
  const auto bytes = static_cast<std::size_t>(heads.kv_width() * qkv.element_size());
  for (std::int64_t row = 0; row < qkv.size(0); ++row) {
    const std::int64_t slot = pass.slots[static_cast<std::size_t>(row)] * heads.kv_width();
    const std::int64_t from = row * qkv.size(1) + heads.query_width();
    std::memcpy(mutable_byte_at(keys, slot), byte_at(qkv, from), bytes);
    std::memcpy(mutable_byte_at(values, slot), byte_at(qkv, from + heads.kv_width()), bytes);
  }
}

kernels::Attention attention_call(const HeadShape& heads, const at::Tensor& qkv, const PlannedKeys& keys,
                                  const at::Tensor& output) {
  return {.queries = qkv.const_data_ptr(),
          .keys = byte_at(qkv, heads.query_width()),
          .values = byte_at(qkv, heads.query_width() + heads.kv_width()),
          .query_stride = qkv.size(1),
          .kv_stride = qkv.size(1),
          .begin = keys.plan.begin.data(),
          .spans = keys.plan.spans.data(),
          .first_keys = keys.first_keys.empty() ? nullptr : keys.first_keys.data(),
          .num_heads = heads.num_heads,
          .num_kv_heads = heads.num_kv_heads,
          .head_dim = heads.head_dim,
          .scale = 1.0F / std::sqrt(static_cast<float>(heads.head_dim)),
          .output = output.mutable_data_ptr()};
}

std::int64_t tile_rows_max(const HeadShape& heads, std::int64_t num_queries) {
  return std::max<std::int64_t>(1, num_queries * heads.num_kv_heads / heads.num_heads);
}

// Of the tiles' queries for one key head.
std::int64_t num_queries_max(const HeadShape& heads, const std::vector<RowTile>& tiles) {
  std::int64_t rows = 0;
  for (const RowTile& tile : tiles) rows = std::max(rows, tile.count);
  return rows * heads.num_heads / heads.num_kv_heads;
}

// The last tile first: a sequence's last rows have the most keys, and threads should end together. Where there are
// tiles enough for that, a task goes through all key heads of one: they lie side by side in memory.
void run_attention(const HeadShape& heads, const PlannedKeys& keys, const kernels::Attention& call,
                   kernels::Storage storage) {
  const auto kernel = table(storage).attend;
  const auto tiles = cut_tiles(keys.follows, tile_rows_max(heads, kTileQueries));
  const auto num_tiles = static_cast<std::int64_t>(tiles.size());
  const std::int64_t num_together = num_tiles < kTilesToKeepWhole * parallel_threads() ? 1 : heads.num_kv_heads;
  const std::int64_t num_tasks = num_tiles * heads.num_kv_heads / num_together;
  parallel_tasks(num_tasks, 2 * keys.num_keys * heads.query_width(),
                 kernels::attention_scratch_floats(keys.row_keys_max, num_queries_max(heads, tiles), heads.head_dim),
                 [&](std::int64_t task, float* scratch) {
                   const std::int64_t first = (num_tasks - 1 - task) * num_together;
                   const RowTile& tile = tiles[static_cast<std::size_t>(first / heads.num_kv_heads)];
                   for (std::int64_t i = 0; i < num_together; ++i) {
                     kernel(call, tile, first % heads.num_kv_heads + i, scratch);
                   }
                 });
}

at::Tensor cached_attention(const HeadShape& heads, const at::Tensor& qkv, const CpuPass& pass,
                            KvStore& cache, const AttentionLayer& layer) {
  const PlannedKeys& keys = pass.keys(layer.is_sliding);
  rotate(heads, qkv, pass, 1.0F);
  write_cache(heads, qkv, pass, cache.keys[layer.index], cache.values[layer.index]);
  at::Tensor output = at::empty({qkv.size(0), heads.query_width()}, qkv.options());
  kernels::Attention call = attention_call(heads, qkv, keys, output);
  call.keys = cache.keys[layer.index].const_data_ptr();
  call.values = cache.values[layer.index].const_data_ptr();
  call.kv_stride = heads.kv_width();
  run_attention(heads, keys, call, storage_of(qkv));
  return output;
}

// log_sums: [T, Hq], or undefined where no backward follows.
at::Tensor pass_attention(const HeadShape& heads, const at::Tensor& qkv, const CpuPass& pass, bool is_sliding,
                          const at::Tensor& log_sums) {
  const PlannedKeys& keys = pass.keys(is_sliding);
  rotate(heads, qkv, pass, 1.0F);
  at::Tensor output = at::empty({qkv.size(0), heads.query_width()}, qkv.options());
  kernels::Attention call = attention_call(heads, qkv, keys, output);
  if (log_sums.defined()) call.log_sums = log_sums.mutable_data_ptr<float>();
  run_attention(heads, keys, call, storage_of(qkv));
  return output;
}

// Adds up the chunks' key or value gradients in their order, into columns `first` of the result.
void add_chunks(const at::Tensor& chunks, const at::Tensor& result, std::int64_t first, std::int64_t width) {
  result.narrow(1, first, width)
      .unflatten(1, {chunks.size(1), chunks.size(3)})
      .copy_(chunks.sum(0).transpose(0, 1));
}

// The tiles of each of num_chunks equal parts of the rows.
std::vector<std::vector<RowTile>> cut_chunks(std::vector<bool> follows, std::int64_t num_chunks,
                                             std::int64_t rows_max) {
  const auto rows = static_cast<std::int64_t>(follows.size());
  const auto begin_of = [&](std::int64_t chunk) { return rows * chunk / num_chunks; };
  for (std::int64_t chunk = 1; chunk < num_chunks; ++chunk) follows[static_cast<std::size_t>(begin_of(chunk))] = false;
  std::vector<std::vector<RowTile>> chunks(1);
  for (const RowTile& tile : cut_tiles(follows, rows_max)) {
    if (tile.first == begin_of(static_cast<std::int64_t>(chunks.size()))) chunks.emplace_back();
    chunks.back().push_back(tile);
  }
  return chunks;
}

at::Tensor run_gradient(const HeadShape& heads, const at::Tensor& qkv, const at::Tensor& output,
                        const at::Tensor& log_sums, const at::Tensor& output_gradient, const CpuPass& pass,
                        bool is_sliding) {
  const PlannedKeys& keys = pass.keys(is_sliding);
  const std::int64_t rows = qkv.size(0), dim = heads.head_dim, num_kv = heads.num_kv_heads;
  const std::int64_t num_chunks = rows < 64 ? 1 : kGradientChunks, rows_max = tile_rows_max(heads, kGradientQueries);
  const auto chunks = cut_chunks(keys.follows, num_chunks, rows_max);
  at::Tensor result = at::empty_like(qkv);
  const at::Tensor key_chunks = at::zeros({num_chunks, num_kv, rows, dim}, at::kFloat);
  const at::Tensor value_chunks = at::zeros({num_chunks, num_kv, rows, dim}, at::kFloat);
  kernels::Attention call = attention_call(heads, qkv, keys, output);
  call.log_sums = log_sums.mutable_data_ptr<float>();
  const auto kernel = table(storage_of(qkv)).attend_gradient;
  const std::int64_t num_tasks = num_chunks * num_kv, num_queries = rows_max * heads.num_heads / num_kv;
  parallel_tasks(num_tasks, 4 * keys.num_keys * heads.query_width(),
                 kernels::gradient_scratch_floats(keys.row_keys_max, num_queries, dim),
                 [&](std::int64_t task, float* scratch) {
                   const std::int64_t place = num_tasks - 1 - task;  // the last chunk's rows have the most keys
                   const kernels::AttentionGradient gradient{
                       .output_gradient = output_gradient.const_data_ptr(),
                       .query_gradient = result.mutable_data_ptr(),
                       .key_gradient = key_chunks.mutable_data_ptr<float>() + place * rows * dim,
                       .value_gradient = value_chunks.mutable_data_ptr<float>() + place * rows * dim};
                   for (const RowTile& tile : chunks[static_cast<std::size_t>(place / num_kv)]) {
                     kernel(call, gradient, tile, place % num_kv, scratch);
                   }
                 });
  add_chunks(key_chunks, result, heads.query_width(), heads.kv_width());
  add_chunks(value_chunks, result, heads.query_width() + heads.kv_width(), heads.kv_width());
  rotate(heads, result, pass, -1.0F);
  return result;
}
}  // namespace

at::Tensor cpu_attention(const HeadShape& heads, const at::Tensor& qkv, const std::shared_ptr<CpuPass>& pass,
                         KvStore* cache, const AttentionLayer& layer) {
  if (cache != nullptr) return cached_attention(heads, qkv, *pass, *cache, layer);
  const bool is_sliding = layer.is_sliding;
  if (!at::GradMode::is_enabled()) return pass_attention(heads, qkv, *pass, is_sliding, {});
  // qkv is rotated in place: what made it does not need it for its own backward.
  return record({qkv}, [&]() -> Recorded {
    const at::Tensor log_sums = at::empty({qkv.size(0), heads.num_heads}, at::kFloat);
    at::Tensor output = pass_attention(heads, qkv, *pass, is_sliding, log_sums);
    return {.outputs = {output},
            .saved = {qkv, output, log_sums},
            .backward = [heads, pass, is_sliding](const Tensors& saved, const Tensors& gradients) -> Tensors {
              return {run_gradient(heads, saved[0], saved[1], saved[2], gradients[0].contiguous(), *pass, is_sliding)};
            }};
  })[0];
}
}  // namespace corisco::model
