// The placeholders of harness and reward templates, as far as they can be checked before a task
// is known: {task.KEY} may be anything, the others are a closed list.
#pragma once
#include <string>
#include <vector>

namespace corisco::config {
// Names in braces that are neither task.KEY nor in the list. Braces around anything that is not a
// dotted word, such as JSON, are plain text.
std::vector<std::string> unknown_placeholders(const std::string& text);
std::string placeholder_list();  // for messages
}  // namespace corisco::config
