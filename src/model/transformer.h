// The decoder of every supported architecture, by what its config says: weights and the operations of
// one device, put together.
#pragma once
#include <memory>

#include "corisco/model/decoder.h"
#include "model/experts.h"
#include "model/ops.h"
#include "model/weights.h"

namespace corisco::model {
enum class OpsKind : std::uint8_t { own_kernels, aten };

class Transformer final : public Decoder {
 public:
  Transformer(DecoderConfig config, DecoderWeights weights, OpsKind kind, bool deterministic);

  at::Tensor hidden(const ForwardInput& input) override;
  void set_between_layers(std::function<void()> call) override { between_layers_ = std::move(call); }
  at::Tensor logits(const at::Tensor& hidden) override;
  at::Tensor selected_logprobs(const at::Tensor& hidden, const std::vector<std::int64_t>& targets,
                               float temperature) override;
  const DecoderConfig& config() const override { return config_; }
  std::vector<NamedTensor> parameters() override { return fused_parameters(weights_); }
  std::vector<NamedTensor> hugging_face_tensors() override { return hugging_face_views(config_, weights_); }
  KvStore make_kv_store(std::int64_t rows, std::int64_t num_states) const override;
  std::int64_t kv_bytes_per_token() const override;
  std::int64_t state_bytes() const override;
  void refresh_derived() override;
  std::unique_ptr<Decoder> frozen_copy() override;

 private:
  at::Tensor layer(std::size_t index, at::Tensor& stream, const at::Tensor& addend, const ForwardInput& input,
                   const std::shared_ptr<Pass>& pass) const;
  at::Tensor attention(std::size_t index, const at::Tensor& x, const ForwardInput& input,
                       const std::shared_ptr<Pass>& pass) const;
  at::Tensor delta_net(std::size_t index, const at::Tensor& x, const ForwardInput& input,
                       const std::shared_ptr<Pass>& pass) const;
  std::size_t place_in_cache(std::size_t index) const;
  at::Tensor mlp(std::size_t index, const at::Tensor& x, const ForwardInput& input) const;
  void pause_after(const at::Tensor& layer_output) const;
  LayerRouting routing(std::size_t index, const ForwardInput& input) const;
  void check(const ForwardInput& input) const;
  void check_experts(const ForwardInput& input) const;

  const DecoderConfig config_;
  const DecoderWeights weights_;
  const OpsKind kind_;
  const bool deterministic_;
  const std::unique_ptr<Ops> ops_;
  std::function<void()> between_layers_;
};
}  // namespace corisco::model
