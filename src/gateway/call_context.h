// What the handlers of model requests share: the daemon's parts, the text worker, the counters that
// number requests and calls. Owned by the server; io thread only.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "corisco/base/random.h"
#include "corisco/base/strings.h"
#include "corisco/gateway/server.h"
#include "gateway/api_error.h"
#include "gateway/call_ids.h"
#include "gateway/gateway_metrics.h"
#include "gateway/literal_text.h"
#include "gateway/reply_grammar.h"
#include "gateway/system_folding.h"
#include "gateway/text_worker.h"

namespace corisco::gateway {
struct CallContext {
  CallContext(const ServerParts& server_parts, std::uint64_t process_number)
      : parts(server_parts), worker(*server_parts.io), metrics(*server_parts.metrics),
        folding(*server_parts.chat_template), literal_text(*server_parts.tokenizer),
        grammars(server_parts.tokenizer, server_parts.end_ids),
        call_ids(server_parts.call_id_secret), next_call(server_parts.first_call_id), process(process_number) {
    for (const auto id : parts.end_ids) end_texts.push_back(parts.tokenizer->decode({&id, 1}, true));
    if (!parts.reply_syntax.has_channels()) return;
    end_texts.push_back("<|end|>");      // of each message; templates end a turn that is history by it
    turn_goes_on = "<|start|>assistant";
  }

  // Once in the process; the state of each such call says it too.
  void warn_of_several_models(const std::vector<std::string>& names, AttemptKey attempt);

  RequestId new_sequence() { return RequestId{next_sequence++}; }
  CallId new_call() { return CallId{next_call++}; }
  // Differs between processes, so that ids in clients' logs stay apart over a restart.
  std::string new_request_id() { return hex(hash_words({process, next_request++})); }

  const ServerParts& parts;
  TextWorker worker;
  GatewayMetrics metrics;
  SystemFolding folding;                 // of what the chat template takes
  LiteralText literal_text;              // special tokens' texts within messages
  ReplyGrammars grammars;                // the worker's thread
  std::vector<std::string> end_texts;    // of the tokens that end a turn
  std::string turn_goes_on;              // after one of them: another message of the same turn
  CallIds call_ids;
  std::uint64_t next_sequence = 1;       // in the engine
  std::uint64_t next_call;
  std::uint64_t next_request = 1;        // over HTTP
  std::uint64_t num_unseeded = 0;        // calls outside any rollout without a seed
  std::uint64_t process;
  bool has_warned_of_models = false;
  // Of each running call, by its number: tells its client at once that the server ends.
  std::map<std::uint64_t, std::function<void(const ApiError&)>> farewells;
};
}  // namespace corisco::gateway
