// Folders that are whole, and every way in which one is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <set>
#include <stdexcept>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "golden.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace corisco::model {
namespace {
namespace fs = std::filesystem;

// A tensor of the given values, alive as long as the object.
struct Values {
  explicit Values(std::vector<float> list) : numbers(std::move(list)) {}
  hf::StoredTensor named(const std::string& name, std::vector<std::int64_t> shape) const {
    return {name, hf::ElementType::float32, std::move(shape),
            reinterpret_cast<const std::byte*>(numbers.data()), numbers.size() * sizeof(float)};
  }
  std::vector<float> numbers;
};

void copy_variant(const std::string& variant, const std::string& to) {
  for (const auto& entry : fs::directory_iterator(testing::golden_folder(variant))) {
    fs::copy(entry.path(), to, fs::copy_options::overwrite_existing);
  }
}

Result<std::unique_ptr<Decoder>> load(const std::string& folder, const std::string& dtype = "float32") {
  config::Model options;
  options.dtype = dtype;
  return Decoder::load(folder, options, false);
}

TEST(Safetensors, AFileOfBytesWrittenByHand) {
  const std::string header = R"({"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}} )";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header;
  const float numbers[] = {1.5F, -2.0F};
  bytes.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  const auto parsed = hf::parse(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "x");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed.value().size(), 1U);
  EXPECT_EQ(parsed.value()[0].name, "b");
  EXPECT_EQ(parsed.value()[0].shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(std::memcmp(parsed.value()[0].data, numbers, sizeof numbers), 0);
  // Every shorter prefix of the file is refused.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(hf::parse(reinterpret_cast<const std::byte*>(bytes.data()), size, "x").ok()) << size;
  }
}

TEST(Safetensors, WrongHeadersAreRefused) {
  for (const char* entry :
       {R"({"dtype":"I64","shape":[1],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[-1,2],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[2],"data_offsets":[4,12]})", R"({"dtype":"F32","shape":[2]})", R"(7)"}) {
    const std::string header = std::string("{\"w\":") + entry + "}";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    bytes += header + std::string(8, '\0');
    EXPECT_FALSE(hf::parse(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "x").ok())
        << entry;
  }
}

TEST(Safetensors, ShardsAndTheirIndexComeBack) {
  const support::TemporaryFolder folder;
  const Values a({1, 2, 3, 4}), b({5, 6}), c({7});
  const std::vector<hf::StoredTensor> tensors{a.named("a", {2, 2}), b.named("b", {2}), c.named("c", {1})};
  const hf::ShardOf shard_of{{"a", "model-00001-of-00002.safetensors"},
                             {"b", "model-00002-of-00002.safetensors"},
                             {"c", "model-00002-of-00002.safetensors"},
                             {"left out", "model-00002-of-00002.safetensors"}};
  ASSERT_TRUE(hf::write_checkpoint(folder.path(), tensors, shard_of).ok());
  EXPECT_TRUE(fs::exists(folder.path() + "/model-00001-of-00002.safetensors"));
  EXPECT_FALSE(fs::exists(folder.path() + "/model.safetensors"));
  EXPECT_EQ(hf::read_index(folder.path()).value().size(), 3U);
  const auto checkpoint = hf::open_checkpoint(folder.path()).value();
  ASSERT_EQ(checkpoint.tensors.size(), 3U);
  EXPECT_EQ(checkpoint.tensors[0].name, "a");
  EXPECT_EQ(std::memcmp(checkpoint.tensors[1].data, b.numbers.data(), 8), 0);
  EXPECT_EQ(std::memcmp(checkpoint.tensors[2].data, c.numbers.data(), 4), 0);
}

TEST(Load, AllProblemsInOneError) {
  const support::TemporaryFolder folder;
  copy_variant("tied", folder.path());
  auto checkpoint = hf::open_checkpoint(testing::golden_folder("tied")).value();
  const Values stranger({1, 2});
  std::vector<hf::StoredTensor> tensors{stranger.named("model.vision.weight", {2})};
  for (auto& tensor : checkpoint.tensors) {
    if (tensor.name == "model.norm.weight") continue;
    if (tensor.name == "model.layers.1.mlp.up_proj.weight") std::swap(tensor.shape[0], tensor.shape[1]);
    tensors.push_back(tensor);
  }
  ASSERT_TRUE(hf::write(folder.path() + "/model.safetensors", tensors).ok());
  const auto decoder = load(folder.path());
  ASSERT_FALSE(decoder.ok());
  const std::string& message = decoder.error().message;
  EXPECT_NE(message.find("1 missing: model.norm.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("1 unexpected: model.vision.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("model.layers.1.mlp.up_proj.weight is [32, 48] instead of [48, 32]"),
            std::string::npos)
      << message;
}

// The files may hold a tied head too. One that is not the embedding is a head of its own, whatever the config says.
TEST(Load, AHeadThatIsNotTheEmbeddingIsNotTied) {
  const support::TemporaryFolder folder, exported;
  copy_variant("tied", folder.path());
  const auto checkpoint = hf::open_checkpoint(testing::golden_folder("tied")).value();
  auto head = *std::ranges::find(checkpoint.tensors, "model.embed_tokens.weight", &hf::StoredTensor::name);
  head.name = "lm_head.weight";
  const auto with_head = [&] {
    auto tensors = checkpoint.tensors;
    tensors.push_back(head);
    EXPECT_TRUE(hf::write(folder.path() + "/model.safetensors", tensors).ok());
    return load(folder.path()).value();
  };
  const auto tied = with_head();
  EXPECT_TRUE(tied->config().tie_embeddings);
  std::vector<std::byte> bytes(head.data, head.data + head.bytes);
  bytes[1] ^= std::byte{0x80};             // the first number's sign
  head.data = bytes.data();
  const auto apart = with_head();
  EXPECT_FALSE(apart->config().tie_embeddings);
  EXPECT_EQ(apart->parameters().size(), tied->parameters().size() + 1);
  const auto input = testing::one_sequence({5, 17, 80, 3, 41});
  const at::Tensor hidden = tied->hidden(input), logits = tied->logits(hidden), own = apart->logits(hidden);
  EXPECT_TRUE(apart->hidden(input).equal(hidden));
  EXPECT_FALSE(own.select(1, 0).equal(logits.select(1, 0)));
  EXPECT_TRUE(own.narrow(1, 1, 95).equal(logits.narrow(1, 1, 95)));
  ASSERT_TRUE(export_hugging_face(*apart, folder.path(), exported.path()).ok());
  EXPECT_FALSE(load(exported.path()).value()->config().tie_embeddings);
}

TEST(Load, AFolderWithoutAModelSaysWhatIsMissing) {
  const support::TemporaryFolder folder;
  const auto decoder = load(folder.path());
  ASSERT_FALSE(decoder.ok());
  EXPECT_NE(decoder.error().message.find("config.json"), std::string::npos);
}

TEST(Load, CudaWithoutAGpuIsRefused) {
  config::Model options;
  options.device = "cuda";
  if (device_problem("cuda").empty()) GTEST_SKIP() << "this machine has a GPU";
  const auto decoder = Decoder::load(testing::golden_folder("tied"), options, false);
  ASSERT_FALSE(decoder.ok());
  EXPECT_NE(decoder.error().message.find("model.device is cuda"), std::string::npos)
      << decoder.error().message;
}

std::set<std::string> names(const hf::Checkpoint& checkpoint) {
  std::set<std::string> result;
  for (const auto& tensor : checkpoint.tensors) result.insert(tensor.name);
  return result;
}

// The tensors of a folder by the names of a checkpoint that also sees: experts stacked by layer, the language model
// one level deeper, and parts of which only the names and bytes matter here.
struct Multimodal {
  explicit Multimodal(const std::string& folder) : checkpoint(hf::open_checkpoint(folder).value()) {
    for (const auto& tensor : checkpoint.tensors) {
      const auto expert = tensor.name.find(".experts.");
      if (expert == std::string::npos) add(tensor);
    }
    for (const std::string layer : {"0", "1"}) {
      stack(layer, "gate_up_proj", {"gate_proj", "up_proj"}, {6, 24, 32});
      stack(layer, "down_proj", {"down_proj"}, {6, 32, 12});
    }
    for (const char* name : {"model.visual.patch_embed.proj.weight", "mtp.fc.weight"}) {
      tensors.push_back({name, hf::ElementType::float32, {2}, other.data(), other.size()});
    }
  }
  void add(hf::StoredTensor tensor) {
    if (starts_with(tensor.name, "model.")) tensor.name.replace(0, 6, "model.language_model.");
    tensors.push_back(std::move(tensor));
  }
  void stack(const std::string& layer, const std::string& name, const std::vector<std::string>& parts,
             std::vector<std::int64_t> shape) {
    const std::string prefix = cat("model.layers.", layer, ".mlp.experts.");
    auto& bytes = stacks.emplace_back();
    hf::StoredTensor made{prefix + name, hf::ElementType::bfloat16, std::move(shape), nullptr, 0};
    for (int expert = 0; expert < 6; ++expert) {
      for (const auto& part : parts) {
        const auto& from = named(cat(prefix, expert, ".", part, ".weight"));
        bytes.insert(bytes.end(), from.data, from.data + from.bytes);
      }
    }
    made.data = bytes.data();
    made.bytes = bytes.size();
    add(made);
  }
  const hf::StoredTensor& named(const std::string& name) const {
    for (const auto& tensor : checkpoint.tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::out_of_range(name);
  }

  hf::Checkpoint checkpoint;
  std::list<std::vector<std::byte>> stacks;
  std::vector<std::byte> other = std::vector<std::byte>(8, std::byte{0x3f});
  std::vector<hf::StoredTensor> tensors;
};

TEST(Load, TheLanguageModelOfACheckpointThatAlsoSees) {
  const support::TemporaryFolder folder, exported;
  copy_variant("qwen3_5_moe", folder.path());
  const Multimodal multimodal(testing::golden_folder("qwen3_5_moe"));
  ASSERT_TRUE(hf::write(folder.path() + "/model.safetensors", multimodal.tensors).ok());
  const auto decoder = load(folder.path()), plain = load(testing::golden_folder("qwen3_5_moe"));
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  const auto input = testing::one_sequence({5, 17, 80, 3, 41});
  EXPECT_TRUE(decoder.value()->hidden(input).equal(plain.value()->hidden(input)));
  ASSERT_TRUE(export_hugging_face(*decoder.value(), folder.path(), exported.path()).ok());
  const auto written = hf::open_checkpoint(exported.path()).value();
  EXPECT_EQ(names(written), names(hf::open_checkpoint(folder.path()).value()));
  for (const auto& tensor : written.tensors) {
    if (!hf::is_kept_apart(tensor.name)) continue;
    EXPECT_EQ(tensor.bytes, 8U);
    EXPECT_EQ(std::memcmp(tensor.data, multimodal.other.data(), 8), 0) << tensor.name;
  }
}

TEST(Export, ComesBackWithNamesValuesAndType) {
  for (const char* variant : {"tied", "untied_biased", "mistral_window", "qwen2", "qwen3_biased", "qwen3_moe",
                              "qwen3_next", "qwen3_5", "qwen3_5_moe"}) {
    for (const char* dtype : {"float32", "bfloat16"}) {
      const support::TemporaryFolder folder;
      const auto decoder = load(testing::golden_folder(variant), dtype).value().release();
      const std::unique_ptr<Decoder> owner(decoder);
      for (const auto& parameter : decoder->hugging_face_tensors()) parameter.tensor.add_(0.5);
      ASSERT_TRUE(export_hugging_face(*decoder, testing::golden_folder(variant), folder.path()).ok());
      EXPECT_EQ(read_config(folder.path()).value().dtype, dtype);
      const auto checkpoint = hf::open_checkpoint(folder.path()).value();
      const auto original = hf::open_checkpoint(testing::golden_folder(variant)).value();
      EXPECT_EQ(names(checkpoint), names(original));
      const auto again = load(folder.path(), dtype);
      ASSERT_TRUE(again.ok()) << again.error().message;
      const auto before = decoder->hugging_face_tensors(), after = again.value()->hugging_face_tensors();
      for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_TRUE(before[i].tensor.equal(after[i].tensor)) << before[i].name;
      }
    }
  }
}

// What else loads the folder: of a processor older folders have the first file, newer ones the second.
TEST(Export, TakesItsSourcesCompanions) {
  const support::TemporaryFolder folder, exported;
  copy_variant("qwen2", folder.path());
  for (const char* name : {"preprocessor_config.json", "processor_config.json", "chat_template.jinja"}) {
    ASSERT_TRUE(files::write_atomically(folder.path() + "/" + name, name).ok());
  }
  const auto decoder = load(folder.path());
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  ASSERT_TRUE(export_hugging_face(*decoder.value(), folder.path(), exported.path()).ok());
  for (const char* name : {"preprocessor_config.json", "processor_config.json", "chat_template.jinja"}) {
    const auto copied = files::read(exported.path() + "/" + name);
    EXPECT_TRUE(copied.ok() && copied.value() == name) << name;
  }
}

// Every third tensor in the second of two files, and so it is after the export, in another type.
TEST(Export, ComesBackInTheFilesOfItsSource) {
  const support::TemporaryFolder folder, exported;
  copy_variant("qwen2", folder.path());
  fs::remove(folder.path() + "/model.safetensors");
  const auto original = hf::open_checkpoint(testing::golden_folder("qwen2")).value();
  hf::ShardOf shard_of;
  for (std::size_t i = 0; i < original.tensors.size(); ++i) {
    shard_of[original.tensors[i].name] = i % 3 == 2 ? "model-00002-of-00002.safetensors" : "first.safetensors";
  }
  ASSERT_TRUE(hf::write_checkpoint(folder.path(), original.tensors, shard_of).ok());
  const auto decoder = load(folder.path());
  ASSERT_TRUE(decoder.ok()) << decoder.error().message;
  ASSERT_TRUE(export_hugging_face(*decoder.value(), folder.path(), exported.path()).ok());
  EXPECT_EQ(hf::read_index(exported.path()).value(), shard_of);
  EXPECT_FALSE(fs::exists(exported.path() + "/model.safetensors"));
  EXPECT_TRUE(load(exported.path()).ok());
}
}  // namespace
}  // namespace corisco::model
