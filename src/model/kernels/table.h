// The CPU kernels' entry points, one table per instruction set and storage type.
// Kernels are serial over the range that they are given, allocate nothing, call no library but
// logf, sum in float32 in an order that depends on the row alone, and know neither torch nor threads.
#pragma once
#include <cstdint>

#include "corisco/model/attention_plan.h"
#include "model/row_tiles.h"

namespace corisco::model::kernels {
enum class Storage : std::uint8_t { float32, bfloat16 };

constexpr std::int64_t kTileQueriesMax = 96;  // also of query heads per key head; the decoder refuses more
constexpr std::int64_t kKeyBlock = 128;       // keys by which attention goes on; another number gives other bits
constexpr std::int64_t kGradientBlock = 64;   // the same of its backward, where no bit depends on it

// Rows of heads. A stride counts elements between rows. queries, keys and values may lie in one
// tensor or in different ones; output [T, Hq, D]; log_sums [T, Hq] may be null.
struct Attention {
  const void* queries = nullptr;
  const void* keys = nullptr;
  const void* values = nullptr;
  std::int64_t query_stride = 0, kv_stride = 0;
  const std::int32_t* begin = nullptr;
  const KeySpan* spans = nullptr;
  const std::int32_t* first_keys = nullptr;  // [T] positions of the rows' first keys; null: all 0
  std::int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  float scale = 1;
  void* output = nullptr;
  float* log_sums = nullptr;
};

// output_gradient [T, Hq, D]; query_gradient with query_stride; key and value gradients are float32
// [T, D] of one key head, added to.
struct AttentionGradient {
  const void* output_gradient = nullptr;
  void* query_gradient = nullptr;
  float* key_gradient = nullptr;
  float* value_gradient = nullptr;
};

struct Norm {
  const void* input = nullptr;   // [T, width]
  const void* addend = nullptr;  // [T, width] or null: sum = input + addend
  const void* weight = nullptr;  // [width]
  void* sum = nullptr;           // may be input; unused without addend
  void* output = nullptr;        // [T, width]
  float* inverse_rms = nullptr;  // [T]
  std::int64_t width = 0;
  float epsilon = 0;
  float weight_offset = 0;       // added to the weight
};

struct NormGradient {
  const void* sum = nullptr;  // what was normalised
  const void* weight = nullptr;
  const float* inverse_rms = nullptr;
  const void* output_gradient = nullptr;
  const void* sum_gradient = nullptr;  // or null
  void* input_gradient = nullptr;
  float* weight_gradient = nullptr;  // [width], added to
  std::int64_t num_rows = 0, width = 0;
  float weight_offset = 0;
};

// One row of one value head; float32 alone.
struct DeltaStep {
  float* state = nullptr;        // [key_dim, value_dim], before and after
  const float* query = nullptr;  // [key_dim]
  const float* key = nullptr;
  const float* value = nullptr;  // [value_dim]
  float decay = 1, rate = 0;
  float* decayed = nullptr;      // [key_dim, value_dim] or null: the state after its decay
  float* error = nullptr;        // [value_dim]: the value less what the decayed state has at the key
  float* output = nullptr;       // [value_dim]
  std::int64_t key_dim = 0, value_dim = 0;
};

// The step's own decayed and error are those that it left.
struct DeltaStepGradient {
  const float* output_gradient = nullptr;  // [value_dim]
  float* state_gradient = nullptr;         // of the state after, becomes that of the one before
  float* query_gradient = nullptr;         // [key_dim], added to
  float* key_gradient = nullptr;
  float* value_gradient = nullptr;         // [value_dim]
  float* rate_gradient = nullptr;
  float* log_decay_gradient = nullptr;
};

struct SigmoidGate {
  const void* x = nullptr;     // [T, width]
  const void* gate = nullptr;  // [T, gate_width]: width, or 1 for the whole row
  void* output = nullptr;      // [T, width]
  std::int64_t width = 0, gate_width = 0;
};

// x is float32 whatever the storage. packed: the weight in the storage's type, in panels of panel_width
// outputs, each [inputs, panel_width], the last one filled up with zeros.
struct Product {
  const float* x = nullptr;  // [rows, inputs]
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  const void* packed = nullptr;
  void* result = nullptr;  // [rows, outputs] of the storage's type, or float32 if is_wide
  bool is_wide = false;
};

struct Table {
  const char* instruction_set;
  std::int64_t panel_width;
  // Panels begin .. end - 1 of all rows.
  void (*product)(const Product&, std::int64_t begin, std::int64_t end);
  // weight [outputs, inputs] -> panels begin .. end - 1.
  void (*pack)(const void* weight, std::int64_t outputs, std::int64_t inputs, void* packed,
               std::int64_t begin, std::int64_t end);
  // Rows begin .. end - 1 of each.
  void (*norm)(const Norm&, std::int64_t begin, std::int64_t end);
  void (*norm_input_gradient)(const NormGradient&, std::int64_t begin, std::int64_t end);
  // Columns begin .. end - 1, over all rows in order.
  void (*norm_weight_gradient)(const NormGradient&, std::int64_t begin, std::int64_t end);
  // gate_up [T, 2 width] -> output [T, width] = silu(gate) * up.
  void (*swiglu)(const void* gate_up, void* output, std::int64_t width, std::int64_t begin, std::int64_t end);
  void (*swiglu_gradient)(const void* gate_up, const void* output_gradient, void* gradient,
                          std::int64_t width, std::int64_t begin, std::int64_t end);
  // Turns num_heads heads at the front of each row; direction -1 turns back.
  void (*rotate)(void* rows, std::int64_t stride, std::int64_t num_heads, std::int64_t head_dim,
                 const float* cosines, const float* sines, float direction, std::int64_t begin,
                 std::int64_t end);
  // A tile: rows that follow each other (row_tiles.h) and all query heads of one key head, at most
  // kTileQueriesMax together. How rows are cut into tiles changes no bit of their outputs and log-sums.
  // scratch: attention_scratch_floats(...).
  void (*attend)(const Attention&, const RowTile&, std::int64_t kv_head, float* scratch);
  // scratch: gradient_scratch_floats(...).
  void (*attend_gradient)(const Attention&, const AttentionGradient&, const RowTile&, std::int64_t kv_head,
                          float* scratch);
  // log(sum(exp(logits * inverse_temperature))).
  float (*log_sum_exp)(const float* logits, std::int64_t count, float inverse_temperature);
  // In place: d (logprob of target) / d logits, times gradient.
  void (*logprob_gradient)(float* logits, std::int64_t count, float inverse_temperature, float log_sum,
                           std::int64_t target, float gradient);
  void (*silu)(const float* x, float* output, std::int64_t count);
  void (*delta_step)(const DeltaStep&);
  void (*delta_step_gradient)(const DeltaStep&, const DeltaStepGradient&);
  // Rows begin .. end - 1 of each.
  void (*gate)(const SigmoidGate&, std::int64_t begin, std::int64_t end);
  void (*gate_gradient)(const SigmoidGate&, const void* output_gradient, void* x_gradient, void* gate_gradient,
                        std::int64_t begin, std::int64_t end);
};

// Room for tiles of at most num_queries queries (rows times query heads of a key head), whose rows have at
// most num_keys keys each. A whole vector and a cache line may be lost at the end of each part.
constexpr std::int64_t attention_scratch_floats(std::int64_t num_keys, std::int64_t num_queries,
                                                std::int64_t head_dim) {
  const std::int64_t room = head_dim + 16, width = num_queries + 16, keys = num_keys + num_queries + kKeyBlock + 32;
  return 16 + (num_queries + 2 * kKeyBlock + width) * room + (kKeyBlock + 16) * width + keys;
}
constexpr std::int64_t gradient_scratch_floats(std::int64_t num_keys, std::int64_t num_queries,
                                               std::int64_t head_dim) {
  const std::int64_t room = head_dim + 16, keys = num_keys + num_queries + 32;
  return 16 + (3 * num_queries + 4 * kGradientBlock) * room + 2 * num_queries * kGradientBlock + keys;
}

// The best that this CPU runs, chosen once.
const Table& table(Storage storage);
// A named one, for tests: baseline, avx2, avx512; null if this CPU does not run it.
const Table* table(const char* instruction_set, Storage storage);

namespace baseline {
const Table& table(Storage storage);
}
namespace avx2 {
const Table& table(Storage storage);
}
namespace avx512 {
const Table& table(Storage storage);
}
}  // namespace corisco::model::kernels
