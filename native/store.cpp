// storeCommand: what the command line does with a store, on a thread of libuv's pool.
#include "app/store_commands.hpp"

#include <exception>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "base/json_tree.hpp"
#include "exports.hpp"
#include "guard.hpp"

namespace millrace::native {
namespace {

using ProgressWorker = Napi::AsyncProgressWorker<std::uint64_t>;

class StoreWork final : public ProgressWorker {
 public:
  StoreWork(json::Tree options, const Napi::Function& callback)
      : ProgressWorker(callback, "millrace.storeCommand"), options_(std::move(options)) {}

 protected:
  // Files and foreign data: nothing may leave this thread as an exception.
  void Execute(const ExecutionProgress& progress) override {
    try {
      result_ =
          app::run_store_command(options_, [&](std::uint64_t rows) { progress.Send(&rows, 1); });
    } catch (const std::exception& exception) {
      result_ = make_error(Errc::internal, exception.what());
    }
  }
  void OnProgress(const std::uint64_t* rows, std::size_t count) override {
    if (count == 0) return;
    const Napi::HandleScope scope(Env());
    Callback().Call({Napi::Number::New(Env(), static_cast<double>(*rows))});
  }
  void OnOK() override {
    const Napi::HandleScope scope(Env());
    const Napi::Value none = Env().Undefined();
    if (result_) {
      Callback().Call({none, to_text(Env(), result_.value())});
    } else {
      Callback().Call({none, none, to_text(Env(), millrace::error_json(result_.error()))});
    }
  }

 private:
  json::Tree options_;
  Result<std::string> result_{std::string()};
};

// storeCommand(optionsJson, callback(rows?, resultJson?, errorJson?)): see app/store_commands.hpp
Napi::Value store_command(const Napi::CallbackInfo& info) {
  const auto text = text_at(info, 0);
  if (!text) return raise(info.Env(), text.error());
  if (info.Length() < 2 || !info[1].IsFunction()) {
    return raise(info.Env(),
                 make_error(Errc::invalid_argument, "storeCommand() takes a function."));
  }
  auto options = json::Tree::parse(text.value());
  if (!options) return raise(info.Env(), options.error());
  // Ends by itself when its work is done.
  (new StoreWork(std::move(options).value(), info[1].As<Napi::Function>()))->Queue();
  return info.Env().Undefined();
}

}  // namespace

void export_store(Napi::Env env, Napi::Object exports) {
  set_function<store_command>(env, exports, "storeCommand");
}

}  // namespace millrace::native
