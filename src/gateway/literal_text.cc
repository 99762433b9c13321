#include "gateway/literal_text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
constexpr std::string_view kMark = "\xF4\x8F\xBF\xBF";
constexpr std::string_view kEscapedMark = "\\udbff\\udfff";   // as templates print it that ask for ASCII

// Where a mark goes: behind the first character.
std::size_t first_character_bytes(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) ++bytes;
  return bytes;
}

std::string in_json(const std::string& text) {
  const auto quoted = json_text(nlohmann::json(text));
  return quoted.substr(1, quoted.size() - 2);
}

std::string common_beginning(const std::vector<std::string>& texts) {
  std::string common = texts.front();
  for (const auto& text : texts) {
    const auto [end, ignored] = std::mismatch(common.begin(), common.end(), text.begin(), text.end());
    common.erase(end, common.end());
  }
  return common;
}
}  // namespace

LiteralText::LiteralText(const text::Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (TokenId id = 0; static_cast<std::size_t>(id) < tokenizer.vocabulary_size(); ++id) {
    if (!tokenizer.is_special(id)) continue;
    auto text = tokenizer.decode({&id, 1}, true);
    // A mark would keep templates from trimming blanks.
    if (!trim(text).empty()) texts.push_back(std::move(text));
  }
  std::vector<std::string> json_texts;
  for (const auto& text : texts) json_texts.push_back(in_json(text));
  groups_ = grouped(std::move(texts));
  in_json_ = grouped(std::move(json_texts));
}

LiteralText::Groups LiteralText::grouped(std::vector<std::string> texts) {
  std::map<char, std::vector<std::string>> by_first;
  for (auto& text : texts) by_first[text.front()].push_back(std::move(text));
  Groups groups;
  for (auto& [first, members] : by_first) {
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    auto common = common_beginning(members);
    groups.push_back({std::move(common), std::move(members)});
  }
  return groups;
}

// The first; of those that begin at one place, the longest.
LiteralText::Found LiteralText::next(std::string_view text, std::size_t from, const Groups& groups) {
  Found first;
  for (const auto& group : groups) {
    for (auto at = text.find(group.common, from); at < first.at; at = text.find(group.common, at + 1)) {
      const auto is_here = [rest = text.substr(at)](const auto& special) { return starts_with(rest, special); };
      const auto found = std::find_if(group.texts.begin(), group.texts.end(), is_here);
      if (found == group.texts.end()) continue;
      first = {at, found->size()};
      break;
    }
  }
  return first;
}

std::string LiteralText::mark_text(std::string_view text) const {
  std::string marked;
  std::size_t done = 0;
  for (auto found = next(text, 0, groups_); found.bytes > 0; found = next(text, done, groups_)) {
    const auto mark_at = found.at + first_character_bytes(text.substr(found.at, found.bytes));
    const auto end = found.at + found.bytes;
    marked += text.substr(done, mark_at - done);
    marked += kMark;
    marked += text.substr(mark_at, end - mark_at);
    done = end;
  }
  return marked.append(text.substr(done));
}

// Names of members too: tools have them.
template <class Json>
void LiteralText::mark_strings(Json& value) const {
  if (value.is_string()) {
    value = mark_text(value.template get_ref<const std::string&>());
  } else if (value.is_array()) {
    for (auto& item : value) mark_strings(item);
  } else if (value.is_object()) {
    Json marked = Json::object();
    for (auto& [name, member] : value.items()) {
      mark_strings(member);
      marked[mark_text(name)] = std::move(member);
    }
    value = std::move(marked);
  }
}

std::string LiteralText::mark_messages(const std::string& messages_json) const {
  auto messages = parse_ordered_json(messages_json);
  for (auto& message : messages) {
    const auto role = message.is_object() ? message.find("role") : message.end();
    const bool is_assistant = role != message.end() && *role == "assistant";
    if (!is_assistant) mark_strings(message);
  }
  return json_text(messages);
}

text::ChatInput LiteralText::marked(text::ChatInput input) const {
  if (next(input.messages_json, 0, in_json_).bytes > 0) input.messages_json = mark_messages(input.messages_json);
  if (next(input.tools_json, 0, in_json_).bytes > 0) {
    auto tools = parse_ordered_json(input.tools_json);
    mark_strings(tools);
    input.tools_json = json_text(tools);
  }
  return input;
}

LiteralText::Found LiteralText::before_mark(std::string_view text, std::size_t mark_at,
                                            std::size_t mark_bytes) const {
  auto begin = mark_at;
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xC0) == 0x80) {}
  const auto first = text.substr(begin, mark_at - begin);
  const auto rest = text.substr(mark_at + mark_bytes);
  for (const auto& group : groups_)
    for (const auto& special : group.texts)
      if (!first.empty() && starts_with(special, first) && first.size() == first_character_bytes(special) &&
          starts_with(rest, std::string_view(special).substr(first.size())))
        return {begin, special.size()};
  return {};
}

LiteralText::Unmarked LiteralText::unmarked(std::string rendering) const {
  const std::string_view text = rendering;
  auto mark = text.find(kMark), escaped = text.find(kEscapedMark);
  if (mark == escaped) return {std::move(rendering), {}};   // neither is there
  Unmarked result;
  std::size_t done = 0;
  while (mark != escaped) {
    const auto at = std::min(mark, escaped);
    const auto bytes = mark < escaped ? kMark.size() : kEscapedMark.size();
    if (const auto found = before_mark(text, at, bytes); found.bytes > 0) {
      result.text += text.substr(done, at - done);
      const auto begin = result.text.size() - (at - found.at);
      result.literals.push_back({begin, begin + found.bytes});
      done = at + bytes;
    }
    if (mark == at) mark = text.find(kMark, at + bytes);
    else escaped = text.find(kEscapedMark, at + bytes);
  }
  result.text += text.substr(done);
  return result;
}
}  // namespace corisco::gateway
