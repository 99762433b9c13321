// POST /admin/checkpoint: has one written of the weights in force, and waits for that. Io thread.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "corisco/gateway/server.h"
#include "gateway/peer.h"
#include "gateway/reply_writer.h"

namespace corisco::gateway {
// {"state": "written"|"existed"|"pending", "policy_version", "checkpoint": its folder, null while pending (202)}.
// A peer that leaves ends the wait, not the writing.
boost::asio::awaitable<OrApiError<Reply>> write_checkpoint(const ServerParts& parts, Peer& peer);
}  // namespace corisco::gateway
