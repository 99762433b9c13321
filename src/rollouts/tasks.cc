#include "corisco/rollouts/tasks.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <unordered_map>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/random.h"
#include "corisco/base/strings.h"

namespace corisco::rollouts {
namespace {
Error bad_line(const std::string& path, std::size_t line, const std::string& why) {
  return Error{Code::invalid_argument, cat(path, ":", line, ": ", why)};
}

// Splits into lines; the last line may end without a line feed, an empty rest is none.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    if (ends_with(line, "\r")) line.remove_suffix(1);
    lines.push_back(line);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}
}  // namespace

Result<Task> parse_task(std::string json, std::string id_without) {
  const auto parsed = parse_json(json);
  if (parsed.is_discarded()) return Error{Code::invalid_argument, "a task must be valid JSON"};
  if (!parsed.is_object()) {
    return Error{Code::invalid_argument,
                 cat("a task must be a JSON object, not a JSON ", parsed.type_name())};
  }
  const auto id = parsed.find("id");
  if (id == parsed.end()) return Task{std::move(id_without), std::move(json)};
  if (id->is_string() && !id->get_ref<const std::string&>().empty()) {
    return Task{id->get<std::string>(), std::move(json)};
  }
  if (id->is_number_integer()) return Task{json_text(*id), std::move(json)};
  return Error{Code::invalid_argument, "the field \"id\" must be a non-empty string or an integer"};
}

Result<Tasks> Tasks::load(const std::string& path, bool shuffle, std::uint64_t seed) {
  CORISCO_TRY(const std::string content, files::read(path));
  std::vector<Task> tasks;
  std::unordered_map<std::string, std::size_t> line_of_id;
  const auto lines = lines_of(content);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto task = parse_task(std::string(lines[i]), std::to_string(i + 1));
    if (!task.ok()) return bad_line(path, i + 1, task.error().message);
    const auto [first, is_new] = line_of_id.emplace(task.value().id, i + 1);
    if (!is_new) {
      return bad_line(path, i + 1,
                      cat("the id \"", task.value().id, "\" is that of line ", first->second, " too"));
    }
    tasks.push_back(std::move(task).value());
  }
  if (tasks.empty()) return Error{Code::invalid_argument, cat(path, ": has no tasks")};
  Tasks loaded = of(std::move(tasks), shuffle, seed);
  loaded.sha256_ = files::sha256(content);
  return loaded;
}

Tasks Tasks::of(std::vector<Task> tasks, bool shuffle, std::uint64_t seed) {
  Tasks made;
  made.tasks_ = std::move(tasks);
  made.shuffle_ = shuffle;
  made.seed_ = seed;
  return made;
}

const Task& Tasks::at(std::uint64_t occurrence) const {
  CORISCO_ASSERT(!tasks_.empty(), std::string("a draw from no tasks"));
  const std::uint64_t pass = occurrence / tasks_.size();
  const std::uint64_t index = occurrence % tasks_.size();
  if (!shuffle_) return tasks_[index];
  if (order_.empty() || order_pass_ != pass) {
    order_.resize(tasks_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    corisco::shuffle(std::span(order_), hash_words({seed_, hash_text("task order"), pass}));
    order_pass_ = pass;
  }
  return tasks_[order_[index]];
}
}  // namespace corisco::rollouts
