// Where each encoder writes the members of events. What a protocol has no member for goes as the event itself: AG-UI's
// records are events, LobeHub's stream has them in `data`, a completion in `millrace.events`.

/** The event itself, whose member stands at its own place. */
export const asEvent = 'event ';

const sameEvent = (row) => new RegExp(`^${asEvent}${escaped(row)}(?![A-Za-z])`);

function escaped(row) {
  return row
    .split('.')
    .map((name) => name.replace(/[()]/g, '\\$&'))
    .join('(\\[\\])*(\\{\\})?\\.');
}

const messageIds = /^(TEXT|REASONING)_\w+\.messageId$|^REASONING_ENCRYPTED_VALUE\.entityId$/;
const reported = /^event millrace\.usage\.value\.tokens\./;
const callIds = /^TOOL_CALL_(START|ARGS|END)\.toolCallId$/;

// Rows of events and where they go beside the event itself, `[pattern of rows, pattern of places]`.
const agUi = [
  [/^millrace\.finish\.value\.reason$/, /^event RUN_FINISHED\.metadata\.millrace\.finishReason$/],
  [/^millrace\.usage\.value\.tokens$/, /^event RUN_(FINISHED|ERROR)\.usage\[\]\./],
  [
    /^millrace\.usage\.value\.reported$/,
    /^event RUN_(FINISHED|ERROR)\.metadata\.millrace\.reportedUsage\[\]\./,
  ],
  [/^TOOL_CALL_RESULT\.error$/, /^event millrace\.tool_error\.value\.error/],
];

const lobe = [
  // The signature of a call stands in the call.
  [/^REASONING_ENCRYPTED_VALUE\.entityId$/, /^tool_calls\[\]\.id$/],
  [/^TEXT_MESSAGE_CONTENT\.delta$/, /^(text|content_part\.content)$/],
  [/^REASONING_MESSAGE_CONTENT\.delta$/, /^(reasoning|reasoning_part\.content)$/],
  [messageIds, /^(id|reasoning_response_item\.id)$/],
  [callIds, /^tool_calls\[\]\.id$/],
  // Calls of tools that ran at the vendor go as events, without those that only end.
  [callIds, /^event TOOL_CALL_(START|RESULT)\.toolCallId$/],
  [/^TOOL_CALL_START\.toolCallName$/, /^tool_calls\[\]\.function\.name$/],
  [/^TOOL_CALL_ARGS\.delta$/, /^tool_calls\[\]\.function\.arguments/],
  [
    /^REASONING_ENCRYPTED_VALUE\.encryptedValue$/,
    /^((flagged_)?reasoning_signature|tool_calls\[\]\.thoughtSignature)/,
  ],
  [/^RUN_ERROR\.message$/, /^error\.message$/],
  [/^RUN_ERROR\.metadata\.millrace$/, /^error\.body\.metadata\.millrace\./],
  [/^RUN_\w+\.usage\./, /^usage\.\w+$/],
  [/^RUN_\w+\.usage\./, reported],
  // An image by address is text that shows it; the id of its event is the one it belongs to.
  [
    /^millrace\.provider_state\(image\)\.value\.state$/,
    /^(base64_image|text|content_part\.content)$/,
  ],
  [/^millrace\.provider_state\(image\)\.value\.entityId$/, /^id$/],
  [/^millrace\.provider_state\(part\)\.value\.state$/, /^content_part\./],
  // What a part has beside its image.
  [
    /^millrace\.provider_state\(part\)\.value\.state$/,
    /^event millrace\.provider_state\(members\)\.value\.state/,
  ],
];

const completion = [
  [/^TEXT_MESSAGE_CONTENT\.delta$/, /^choices\[\]\.message\.content$/],
  [/^REASONING_MESSAGE_CONTENT\.delta$/, /^choices\[\]\.message\.reasoning_content$/],
  [/^TEXT_MESSAGE_\w+\.messageId$/, /^event TEXT_MESSAGE_START\.messageId$/],
  [/^REASONING_\w+\.messageId$/, /^event REASONING_MESSAGE_START\.messageId$/],
  [callIds, /^choices\[\]\.message\.tool_calls\[\]\.id$/],
  [/^TOOL_CALL_START\.toolCallName$/, /^choices\[\]\.message\.tool_calls\[\]\.function\.name$/],
  [/^TOOL_CALL_ARGS\.delta$/, /^choices\[\]\.message\.tool_calls\[\]\.function\.arguments/],
  [/^millrace\.finish\.value\.reason$/, /^choices\[\]\.finish_reason$/],
  [/^RUN_ERROR\.message$/, /^error$/],
  [/^RUN_ERROR\.metadata\.millrace$/, /^report\.attempts\[\]\.error\./],
  [/^RUN_ERROR\.usage\./, /^report\.(usage|attempts\[\]\.usage)\./],
  [/^RUN_FINISHED\.usage\./, /^(usage|modelUsage)\./],
  [/^RUN_\w+\.usage\./, reported],
  // A failed run is an error with the run's report.
  [/^TEXT_MESSAGE_\w+\.messageId$/, /^report\.response\.id$/],
  [/^millrace\.usage\.value\.tokens$/, /^report\.(usage|attempts\[\]\.usage)\./],
  [/^millrace\.usage\.value\.reported$/, /^report\.attempts\[\]\.reportedUsage/],
];

const tables = { 'AG-UI 1.0': agUi, 'AG-UI 0.0': agUi, lobe, completion };

/** Whether an encoder is documented to write a member of an event at a place. */
export function isDocumented(way, row, place) {
  const own = tables[way].some(([rows, places]) => rows.test(row) && places.test(place));
  return own || sameEvent(row).test(place);
}
