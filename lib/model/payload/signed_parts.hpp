// Parts of an answer as LobeHub's client sends them again: texts and images, where Gemini signed
// them with their signatures.
#pragma once

#include "base/ids.hpp"
#include "base/json.hpp"
#include "message/message.hpp"
#include "message/shared_messages.hpp"

namespace millrace::model {

// Reads the texts and images of an assistant message's `content` at their places, where one has a
// `googleThoughtSignature`. What comes before the last of them goes to `out`, the rest is the
// message's own. Nothing is changed where a part has another type.
// Source: lobehub/lobehub, `packages/context-engine/src/processors/MessageContent.ts` (2026-11).
void read_signed_parts(message::Messages& out, message::Message& message,
                       const json::Value& content, IdSource& ids);

// The same of answers with images that nothing signed, for Gemini: its API takes images in an
// answer, and others have the list as it came.
// Source: Gemini API reference, "Content"; LobeHub's model-runtime, google (2026-11).
void read_unsigned_images(message::SharedMessages& messages, IdSource& ids);

}  // namespace millrace::model
