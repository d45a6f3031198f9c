// What the models that Bedrock serves take of Converse: each maker's its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "format/bedrock_converse.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Which demands of `toolChoice` are taken: none, of any tool, of a certain one as well.
enum class BedrockDemand : std::uint8_t { none, any, certain };

// How a model is told to think.
enum class BedrockThinking : std::uint8_t { none, claude, nova, openai, qwen };

// Where `top_k` goes among the maker's own fields.
enum class BedrockTopK : std::uint8_t { nowhere, root, inference_config };

// Which media a result of a tool may hold.
enum class BedrockResults : std::uint8_t { all, images_and_texts, documents, none };

struct BedrockMaker {
  std::string_view name;  // a part of the ids of its models
  format::BedrockTurns turns;
  BedrockDemand demand = BedrockDemand::none;
  bool schemas = false;  // holds answers and arguments of tools to schemas
  BedrockThinking thinking = BedrockThinking::none;
  BedrockTopK top_k = BedrockTopK::nowhere;
  BedrockResults results = BedrockResults::all;
};

// The maker of the model, as it is sent or as the payload names it; one that is not known is asked
// for what most take.
const BedrockMaker& bedrock_maker(std::string_view sent, std::string_view named);
const BedrockMaker& bedrock_maker(const Draft& draft);

// Whether reasoning that the model did not sign may come back to it.
bool bedrock_takes_unsigned_reasoning(std::string_view sent, std::string_view named);

// The messages with the media behind the results that must not hold them.
message::Messages with_bedrock_results(const BedrockMaker& maker,
                                       std::span<const message::Message> messages);

// Whether an answer of the model, and arguments of tools, are held to schemas.
bool bedrock_takes_schemas(const BedrockMaker& maker, Traits traits);

}  // namespace millrace::model
