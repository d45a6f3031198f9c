// A model provider of our own for trying everything without a key: it has the OpenAI chat wire
// over loopback HTTP, so that its answers take the same way as a real model's.
#pragma once

#include "http/router.hpp"
#include "os/event_loop.hpp"

namespace millrace::app {

// The route that answers model calls. Words in the last user message choose what is shown: "reason"
// or "think" reasons, "tool" or "weather" calls a tool, "fail" breaks off with an error, "refuse"
// answers with an error status.
// Lifetime: `loop` outlives the router.
http::Router demo_provider(os::EventLoop& loop);

}  // namespace millrace::app
