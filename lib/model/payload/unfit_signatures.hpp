// Signatures of what a user changed by now: the provider rejects them, or takes words for the
// model's that it never wrote.
#pragma once

#include <vector>

#include "message/shared_messages.hpp"
#include "model/payload/request.hpp"

namespace millrace::model {

// Takes out the signatures of another model's reasoning, where Claude is asked.
void drop_foreign_signatures(message::SharedMessages& messages, std::vector<Note>& notes);

// Takes out the encrypted values of reasoning, texts and calls that no longer show what they showed
// (message/shown_hash.hpp), and what belongs to them alone. Adds a note that counts them.
void drop_unfit_signatures(message::SharedMessages& messages, std::vector<Note>& notes);

}  // namespace millrace::model
