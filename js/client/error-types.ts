// The classes and fixes of the errors that pages meet: stands in for js/error-types.ts there (scripts/build-js.mjs),
// whose whole table would be much of what a page loads. A test compares both.
import type { ErrorCode, ErrorType } from '../../types/errors';

const badRequest = 'BadRequest';
const broken = 'StreamChunkError';

/** The class of each code. */
export const errorTypes = {
  event_too_large: broken,
  invalid_argument: badRequest,
  invalid_json: badRequest,
  invalid_option: 'UserConfigError',
  line_too_long: broken,
  provider_error: 'ProviderBizError',
  response_used: badRequest,
} as Readonly<Record<ErrorCode, ErrorType>>;

/** What to do about each code. */
export const errorFixes = {
  event_too_large:
    'Raise `limits.eventBytes` of the adapter, or have the peer send smaller events.',
  invalid_argument: 'Pass the type and range that the message names.',
  invalid_json: 'Correct the JSON at the position that the message names.',
  invalid_option: 'Correct the option that the message names, or leave it out.',
  line_too_long: 'Raise `limits.lineBytes` of the adapter, or check that the address is a stream.',
  provider_error: 'Read the message of the provider, and send the request again later.',
  response_used: 'Parse each Response once, or parse a `clone()` of it.',
} as Readonly<Record<ErrorCode, string>>;

/** The number and the HTTP status of each class; 0 is no number. */
export const errorTypeRows = {
  BadRequest: { id: 0, status: 400 },
  StreamChunkError: { id: 7001, status: 500 },
  UserConfigError: { id: 9003, status: 400 },
  ProviderBizError: { id: 8002, status: 471 },
} as Readonly<Record<ErrorType, { id: number; status: number }>>;
