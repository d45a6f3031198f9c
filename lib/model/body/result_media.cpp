#include "model/body/result_media.hpp"

#include <string>
#include <utility>

#include "message/parts.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Role;

// Moves the media of a tool result to `media`, JSON text of parts; texts stay and what shall.
void take_media(Message& result, JsonBuilder& media, bool& any, const StaysInResult& stays) {
  if (result.content.kind != Content::Kind::parts) return;
  JsonBuilder texts;
  bool moved = false;
  texts.open_array();
  const message::Parts parts(result.content);
  for (const json::Value part : parts.items()) {
    Media found;
    if (!message::read_media(found, part) || (stays && stays(found))) {
      texts.value(part);
      continue;
    }
    media.value(part);
    moved = true;
  }
  texts.close_array();
  if (!moved) return;
  any = true;
  std::string text = texts.take();
  result.content = text == "[]" ? Content::of_text("(The result follows as a medium.)")
                                : Content::of_parts(std::move(text));
}

}  // namespace

TurnResults add_results(std::span<const Message> messages, std::size_t at, message::Messages& out,
                        const StaysInResult& stays) {
  JsonBuilder media;
  bool any = false;
  media.open_array();
  for (; at < messages.size(); ++at) {
    const Message& message = messages[at];
    if (message.role != Role::tool && message.role != Role::activity) break;
    if (message.role == Role::activity) continue;
    out.push_back(message);
    take_media(out.back(), media, any, stays);
  }
  media.close_array();
  TurnResults results{at, std::nullopt};
  if (!any) return results;
  results.carrier.emplace();
  results.carrier->role = Role::user;
  results.carrier->content = Content::of_parts(media.take());
  return results;
}

message::Messages with_media_behind(std::span<const Message> messages, const StaysInResult& stays) {
  message::Messages out;
  for (std::size_t at = 0; at < messages.size();) {
    if (messages[at].role != Role::tool) {
      out.push_back(messages[at++]);
      continue;
    }
    TurnResults results = add_results(messages, at, out, stays);
    at = results.end;
    if (results.carrier) out.push_back(std::move(*results.carrier));
  }
  return out;
}

}  // namespace millrace::model
