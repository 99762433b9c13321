#include "corisco/text/tokenizer.h"

#include <utility>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "text/rust_call.h"
#include "text/utf8.h"

namespace corisco::text {
namespace {
struct Free {
  void operator()(corisco_text_tokenizer* tokenizer) const { corisco_text_tokenizer_free(tokenizer); }
};
using Handle = std::unique_ptr<corisco_text_tokenizer, Free>;

std::vector<TokenId> take_ids(corisco_text_ids ids) {
  std::vector<TokenId> result(ids.data, ids.data + ids.size);
  corisco_text_ids_free(ids);
  return result;
}

class RustTokenizer final : public Tokenizer {
 public:
  explicit RustTokenizer(Handle handle)
      : handle_(std::move(handle)), vocabulary_(corisco_text_tokenizer_vocabulary(handle_.get())) {}

  Result<std::vector<TokenId>> encode(std::string_view text, bool with_special) const override {
    corisco_text_ids ids{};
    corisco_text_buffer message{};
    const auto code = corisco_text_tokenizer_encode(handle_.get(), rust_bytes(text), text.size(),
                                                    with_special, &ids, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, "could not encode text");
    return take_ids(ids);
  }

  Result<std::vector<TokenId>> encode_rendering(std::string_view text,
                                                std::span<const TextRange> literals) const override {
    std::vector<corisco_text_range> ranges;
    for (const auto& literal : literals) ranges.push_back({literal.begin, literal.end});
    corisco_text_ids ids{};
    corisco_text_buffer message{};
    const auto code = corisco_text_tokenizer_encode_literals(handle_.get(), rust_bytes(text), text.size(),
                                                             ranges.data(), ranges.size(), &ids, &message);
    if (code != CORISCO_TEXT_OK) return rust_error(code, message, "could not encode text");
    return take_ids(ids);
  }

  std::vector<TokenId> own_prefix() const override {
    return take_ids(corisco_text_tokenizer_own_prefix(handle_.get()));
  }

  std::string decode(std::span<const TokenId> ids, bool keep_special) const override {
    std::string bytes;
    for (const TokenId id : ids)
      if (keep_special || !is_special(id)) bytes += entry(id);
    std::string_view rest = bytes;
    if (vocabulary_.strips_first_space && starts_with(rest, " ")) rest.remove_prefix(1);
    std::string text;
    append_all_characters(rest, text);
    return text;
  }

  std::string token_bytes(TokenId id) const override {
    return is_special(id) ? std::string() : std::string(entry(id));
  }
  bool is_special(TokenId id) const override {
    return is_known(id) && vocabulary_.is_special[static_cast<std::size_t>(id)] != 0;
  }
  bool strips_first_space() const override { return vocabulary_.strips_first_space; }
  std::size_t vocabulary_size() const override { return vocabulary_.size; }

  std::optional<TokenId> id_of(std::string_view token) const override {
    std::int32_t id = 0;
    const auto code = corisco_text_tokenizer_id_of(handle_.get(), rust_bytes(token), token.size(), &id);
    return code == CORISCO_TEXT_OK ? std::optional<TokenId>(id) : std::nullopt;
  }

 private:
  bool is_known(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) < vocabulary_.size; }
  std::string_view entry(TokenId id) const {
    if (!is_known(id)) return {};
    const std::uint32_t* offset = vocabulary_.offsets + id;
    return {reinterpret_cast<const char*>(vocabulary_.bytes) + offset[0], offset[1] - offset[0]};
  }

  Handle handle_;
  corisco_text_vocabulary vocabulary_;  // borrowed from handle_
};
}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(const std::string& model_folder) {
  const std::string path = model_folder + "/tokenizer.json";
  auto json = files::read(path);
  if (!json.ok()) {
    return Error{json.error().code,
                 cat(json.error().message, "; model.path must be a Hugging Face model folder with a "
                     "tokenizer.json (a model that has only tokenizer.model must be saved again by "
                     "transformers)")};
  }
  corisco_text_tokenizer* handle = nullptr;
  corisco_text_buffer message{};
  const auto& text = json.value();
  const auto code = corisco_text_tokenizer_new(rust_bytes(text), text.size(), &handle, &message);
  if (code != CORISCO_TEXT_OK) {
    Error error = rust_error(code, message, cat("could not use ", path));
    error.message += "; fetch the model again, or save its tokenizer again with transformers";
    return error;
  }
  return std::shared_ptr<const Tokenizer>(std::make_shared<RustTokenizer>(Handle(handle)));
}
}  // namespace corisco::text
