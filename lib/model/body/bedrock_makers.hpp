// What the models that Bedrock serves take of Converse: each maker's its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "format/bedrock_converse.hpp"
#include "model/dialects.hpp"

namespace millrace::model {

struct BedrockMaker {
  std::string_view name;  // a part of the ids of its models
  format::BedrockTurns turns;
};

// The maker of the draft's model; one that is not known is asked for all.
const BedrockMaker& bedrock_maker(const Draft& draft);

}  // namespace millrace::model
