#include "model/linear.h"

#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "corisco/base/strings.h"
#include "corisco/model/decoder.h"
#include "model/kernels/table.h"
#include "model/parallel.h"

namespace corisco::model {
namespace {
constexpr std::int64_t kPanelsPerTask = 4;
// Up to here bfloat16 weights widened in registers beat the library's native product.
constexpr std::int64_t kOwnRowsMax = 32;

const kernels::Table& kernels_of(const at::Tensor& weight) {
  const bool is_bfloat16 = weight.scalar_type() == at::kBFloat16;
  return kernels::table(is_bfloat16 ? kernels::Storage::bfloat16 : kernels::Storage::float32);
}

bool has_native_bfloat16() {
  static const bool result = cpu_has_native_bfloat16();
  return result;
}

bool goes_through_float32(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 && x.device().is_cpu() && !has_native_bfloat16();
}

// Calls run(begin, end) for runs of panels that cover `outputs`, on all threads.
template <class Run>
void for_panels(std::int64_t outputs, std::int64_t width, std::int64_t work, Run run) {
  const std::int64_t num_panels = (outputs + width - 1) / width;
  const std::int64_t num_tasks = (num_panels + kPanelsPerTask - 1) / kPanelsPerTask;
  parallel_tasks(num_tasks, work, 0, [&](std::int64_t task, float*) {
    run(task * kPanelsPerTask, std::min(num_panels, (task + 1) * kPanelsPerTask));
  });
}

void pack(const at::Tensor& weight, at::Tensor& panels) {
  const kernels::Table& table = kernels_of(weight);
  const std::int64_t outputs = weight.size(0), inputs = weight.size(1), width = table.panel_width;
  if (!panels.defined()) {
    panels = at::empty({(outputs + width - 1) / width, inputs, width}, weight.options().requires_grad(false));
  }
  for_panels(outputs, width, weight.numel(), [&](std::int64_t begin, std::int64_t end) {
    table.pack(weight.const_data_ptr(), outputs, inputs, panels.mutable_data_ptr(), begin, end);
  });
}

at::Tensor packed_product(const at::Tensor& x, const at::Tensor& panels, std::int64_t outputs, bool is_wide) {
  const kernels::Table& table = kernels_of(panels);
  const at::Tensor inputs = x.to(at::kFloat).contiguous();
  at::Tensor result = at::empty({x.size(0), outputs}, is_wide ? at::kFloat : panels.scalar_type());
  const kernels::Product call{.x = inputs.const_data_ptr<float>(),
                              .rows = x.size(0),
                              .inputs = x.size(1),
                              .outputs = outputs,
                              .packed = panels.const_data_ptr(),
                              .result = result.mutable_data_ptr(),
                              .is_wide = is_wide};
  for_panels(outputs, table.panel_width, x.size(0) * panels.numel() / 16,
             [&](std::int64_t begin, std::int64_t end) { table.product(call, begin, end); });
  return result;
}

// Numbers that look like activations, different for every seed, without torch's generator.
at::Tensor test_rows(const at::Tensor& weight, std::int64_t rows, int seed) {
  at::Tensor values = at::empty({rows, weight.size(1)}, at::kFloat);
  float* to = values.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    to[i] = std::sin(static_cast<float>(i % 7919) * 12.9898F + static_cast<float>(seed) * 78.233F);
  }
  return values.to(weight.scalar_type());
}
}  // namespace

bool multiplies_by_own_kernel(at::ScalarType type) {
  return type == at::kFloat || (type == at::kBFloat16 && !has_native_bfloat16());
}

bool Products::is_own(const at::Tensor& weight, std::int64_t rows) const {
  if (multiplies_by_own_kernel(weight.scalar_type())) return true;
  return weight.scalar_type() == at::kBFloat16 && tile_rows_ == 0 && rows <= kOwnRowsMax;
}

at::Tensor Products::operator()(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  at::Tensor result;
  if (is_own(weight, x.size(0))) {
    result = packed_product(x, packed(weight), weight.size(0), /*is_wide=*/false);
  } else if (tile_rows_ > 0) {
    result = tiled_product(x, weight, tile_rows_);
  } else {
    return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
  }
  if (bias.defined()) result.add_(bias);
  return result;
}

at::Tensor Products::wide(const at::Tensor& x, const at::Tensor& weight) {
  if (!is_own(weight, x.size(0))) return (*this)(x, weight, {}).to(at::kFloat);
  return packed_product(x, packed(weight), weight.size(0), /*is_wide=*/true);
}

const at::Tensor& Products::packed(const at::Tensor& weight) {
  Packed& entry = packed_[weight.const_data_ptr()];
  if (!entry.panels.defined() || entry.version != weight._version()) pack_now(weight, entry);
  return entry.panels;
}

void Products::refresh(const at::Tensor& weight) {
  if (is_own(weight, /*rows=*/1)) pack_now(weight, packed_[weight.const_data_ptr()]);
}

void Products::pack_now(const at::Tensor& weight, Packed& entry) {
  pack(weight.contiguous(), entry.panels);
  entry.version = weight._version();
}

at::Tensor tiled_product(const at::Tensor& x, const at::Tensor& weight, std::int64_t tile_rows) {
  const std::int64_t rows = x.size(0);
  const at::Tensor transposed = weight.t();
  at::Tensor result = at::empty({rows, weight.size(0)}, x.options());
  for (std::int64_t row = 0; row < rows; row += tile_rows) {
    const std::int64_t count = std::min(tile_rows, rows - row);
    at::Tensor to = result.narrow(0, row, count);
    const at::Tensor from = x.narrow(0, row, count);
    if (count == tile_rows) {
      at::mm_out(to, from, transposed);
    } else {
      at::Tensor tile = at::zeros({tile_rows, x.size(1)}, x.options());
      tile.narrow(0, 0, count).copy_(from);
      to.copy_(at::mm(tile, transposed).narrow(0, 0, count));
    }
  }
  return result;
}

at::Tensor plain_product(const at::Tensor& a, const at::Tensor& b) {
  if (!goes_through_float32(a)) return at::mm(a, b);
  return at::mm(a.to(at::kFloat), b.to(at::kFloat)).to(at::kBFloat16);
}

at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& gradient, const at::Tensor& x) {
  at::Tensor& sum = weight.mutable_grad();
  if (!weight.is_leaf() || !sum.defined()) return pass_gradient(weight, plain_product(gradient.t(), x));
  if (goes_through_float32(x)) sum.add_(at::mm(gradient.to(at::kFloat).t(), x.to(at::kFloat)));
  else at::addmm_out(sum, sum, gradient.t(), x);
  return {};
}

void GradientSum::add(const at::Tensor& gradient, const at::Tensor& x) {
  if (weight_.scalar_type() == at::kFloat) {
    const at::Tensor part = weight_gradient(weight_, gradient, x);
    if (part.defined()) sum_ = sum_.defined() ? sum_.add_(part) : part;
  } else {
    const at::Tensor part = plain_product(gradient.t(), x).to(at::kFloat);
    wide_ = wide_.defined() ? wide_.add_(part) : part;
  }
}

at::Tensor GradientSum::take() {
  return wide_.defined() ? pass_gradient(weight_, wide_.to(weight_.scalar_type())) : sum_;
}

at::Tensor pass_gradient(const at::Tensor& parameter, const at::Tensor& gradient) {
  if (!parameter.is_leaf()) return gradient;
  at::Tensor& sum = parameter.mutable_grad();
  if (sum.defined()) sum.add_(gradient);
  else sum = gradient;
  return {};
}

std::string tile_problem(const at::Tensor& weight, std::int64_t tile_rows) {
  const at::Tensor rows = test_rows(weight, tile_rows, 1);
  const at::Tensor expected = tiled_product(rows, weight, tile_rows);
  for (const std::int64_t shift : {std::int64_t{1}, std::int64_t{7}, tile_rows / 2 + 1, tile_rows - 1}) {
    // Row i moves to place (i + shift), the places before it are filled with other numbers.
    at::Tensor moved = test_rows(weight, tile_rows, 2);
    moved.narrow(0, shift, tile_rows - shift).copy_(rows.narrow(0, 0, tile_rows - shift));
    const at::Tensor result = tiled_product(moved, weight, tile_rows);
    if (!at::equal(result.narrow(0, shift, tile_rows - shift), expected.narrow(0, 0, tile_rows - shift))) {
      return cat("a row's product with a ", weight.size(0), " x ", weight.size(1),
                 " weight changes with its place among ", tile_rows, " rows");
    }
    const at::Tensor few = tiled_product(rows.narrow(0, 0, shift), weight, tile_rows);
    if (!at::equal(few, expected.narrow(0, 0, shift))) {
      return cat("a row's product with a ", weight.size(0), " x ", weight.size(1),
                 " weight changes with the number of rows");
    }
  }
  return "";
}
}  // namespace corisco::model
