// Record <-> the bytes of its payload, format 2. The order of the fields is the order in which
// fields_of() names them in record_codec.cc, the same code for writing and reading. A call with a base
// is coded as what it adds to it: CallBases says which calls may be, and puts them together again.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "corisco/base/result.h"
#include "corisco/samples/journal.h"

namespace corisco::samples {
// GroupOpened is 1, and so on in the order of Record.
std::uint8_t type_of(const Record& record);
std::string encode(const Record& record);
// prompt_ids and request_json of a call with a base are what follows the base's. The error names the
// type, and what the payload has too little or too much of, or which value is unknown.
Result<Record> decode(std::uint8_t type, std::string_view payload);
// About how many bytes encode() will make, without making them.
std::size_t encoded_bytes(const Record& record);
}  // namespace corisco::samples
