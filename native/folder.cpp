// class Folder: events in, canonical messages out.
#include "message/fold.hpp"

#include "arguments.hpp"
#include "exports.hpp"
#include "object.hpp"
#include "os/random_ids.hpp"

namespace millrace::native {
namespace {

struct FolderObject {
  os::RandomIds ids;
  message::Folder folder{ids};
};

}  // namespace

template <>
struct ObjectTraits<FolderObject> {
  static constexpr const char* name = "Folder";
  static constexpr napi_type_tag tag{0x6d696c6c72616365, 0x0001666f6c646572};
  // new Folder()
  static Result<std::unique_ptr<FolderObject>> make(const Napi::CallbackInfo&) {
    return std::make_unique<FolderObject>();
  }
};

namespace {

// feed(eventsJson)
Napi::Value feed(FolderObject& self, const Napi::CallbackInfo& info) {
  const auto events = text_at(info, 0);
  if (!events) return raise(info.Env(), events.error());
  const auto result = self.folder.feed(events.value());
  if (!result) return raise(info.Env(), result.error());
  return info.Env().Undefined();
}

// messages() -> JSON text
Napi::Value messages(FolderObject& self, const Napi::CallbackInfo& info) {
  return to_text(info.Env(), self.folder.messages_json());
}

}  // namespace

void export_folder(Napi::Env env, Napi::Object exports) {
  set_class<FolderObject>(
      env, exports,
      {{"feed", method<FolderObject, feed>}, {"messages", method<FolderObject, messages>}});
}

}  // namespace millrace::native
