#include "host/input_reading.hpp"

#include <memory>
#include <string>
#include <utility>

#include "agent/state_messages.hpp"
#include "base/json_tree.hpp"
#include "os/random_ids.hpp"

namespace millrace::host {
namespace {

Result<run::AgentInput> read_whole(std::string_view json, const run::InputOptions& read_as) {
  os::RandomIds ids;
  auto read = run::read_agent_input(json, read_as, ids);
  // Of these no rows are made: a host gets the text.
  if (!read || read_as.verbatim) return read;
  run::AgentInput& input = read.value();
  auto rows = agent::state_messages_of(input.messages_json);
  if (!rows) return std::move(rows).error();
  input.state_messages = std::move(rows).value();
  if (input.tools_json.empty()) return read;
  auto tools = json::Tree::parse(input.tools_json);
  if (!tools) return std::move(tools).error();
  input.tools = std::move(tools).value();
  return read;
}

}  // namespace

ReadInput input_reader(std::string_view json, const run::InputOptions& read_as) {
  return [text = std::make_shared<const std::string>(json), read_as,
          format = std::string(read_as.format)] {
    run::InputOptions own = read_as;
    own.format = format;
    return read_whole(*text, own);
  };
}

void read_beside(os::BlockingPool& pool, ReadInput read,
                 std::function<void(Result<run::AgentInput>)> done) {
  using Input = Result<run::AgentInput>;
  const auto work = std::make_shared<ReadInput>(std::move(read));
  const auto ticket = pool.run([work, done]() -> os::BlockingPool::Done {
    auto input = std::make_shared<Input>((*work)());
    *work = nullptr;  // and the text with it
    return [input, done] { done(std::move(*input)); };
  });
  if (!ticket) done((*work)());
}

void read_in_order(const std::shared_ptr<OpeningOrder>& order, const std::string& principal,
                   os::BlockingPool& pool, ReadInput read, std::function<void(ReadInOrder)> done) {
  const auto place = order->enter(principal);
  if (!read) return order->open(place, [done = std::move(done)] { done(std::nullopt); });
  read_beside(pool, std::move(read),
              [order, place, done = std::move(done)](Result<run::AgentInput> input) {
                const auto given = std::make_shared<Result<run::AgentInput>>(std::move(input));
                order->open(place, [given, done] { done(std::move(*given)); });
              });
}

}  // namespace millrace::host
