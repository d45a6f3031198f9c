// What a payload gives the maker of a model on Bedrock beside the settings that all vendors know.
#pragma once

#include <string>

#include "message/json_builder.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Writes Claude's `anthropic_beta`: that of the payload and of its additionalModelRequestFields.
void write_bedrock_betas(message::JsonBuilder& out, const Draft& draft);

// The fields with the payload's additionalModelRequestFields: what is made of the payload's
// settings holds, at the root and one level below it.
// Source: Amazon Bedrock API reference, Converse, `additionalModelRequestFields` (2026).
std::string with_given_fields(std::string made, const Draft& draft);

}  // namespace millrace::model
