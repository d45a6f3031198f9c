// AG-UI events as server-sent events -> the same events as frames of protobuf.
// Source: AG-UI protocol 1.0, its protobuf schema; @ag-ui/proto 1.0.0.
#pragma once

#include <string>
#include <string_view>

namespace millrace::encoder {

// A client reads frames only where the content type is exactly this.
inline constexpr std::string_view ag_ui_proto_type = "application/vnd.ag-ui.event+proto";

// True when the header `Accept` names the type, no less than `text/event-stream`, and the client
// uses AG-UI 1.0: older ones fail on half of the events. A wildcard is no wish.
bool wants_ag_ui_proto(std::string_view accept, std::string_view client_version);

// Appends whole frames of AgUiEncoder. Comments and the numbers of records have no place in
// protobuf. An event that the schema does not have becomes RAW.
// Shape of a frame: its length in 32 bits, the highest byte first, then the message `Event`.
void append_ag_ui_proto(std::string& out, std::string_view frames);

// A frame that keeps proxies from closing an idle stream, which comments do for server-sent events:
// the event CUSTOM `millrace.keep_alive`. A client takes it anywhere behind the start of a run.
std::string ag_ui_proto_keep_alive();

}  // namespace millrace::encoder
