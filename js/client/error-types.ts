// The classes and fixes of the errors that pages meet: stands in for js/error-types.ts there (scripts/build-js.mjs),
// whose whole table would be much of what a page loads. A test compares both.
import type { ErrorCode, ErrorType } from '../../types/errors';

<<<<<<< HEAD
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

/** The number and the HTTP status of each class; 0 is no number. */
export const errorTypeRows = {
  BadRequest: { id: 0, status: 400 },
  StreamChunkError: { id: 7001, status: 500 },
  UserConfigError: { id: 9003, status: 400 },
  ProviderBizError: { id: 8002, status: 471 },
} as Readonly<Record<ErrorType, { id: number; status: number }>>;
=======
type Class = [type: ErrorType, id: number, status: number];

const badRequest: Class = ['BadRequest', 0, 400];
const broken: Class = ['StreamChunkError', 7001, 500];
const rows: Readonly<Partial<Record<ErrorCode, [Class, fix: string]>>> = {
  event_too_large: [
    broken,
    'Raise `limits.eventBytes` of the adapter, or have the peer send smaller events.',
  ],
  invalid_argument: [badRequest, 'Pass the type and range that the message names.'],
  invalid_json: [badRequest, 'Correct the JSON at the position that the message names.'],
  invalid_option: [
    ['UserConfigError', 9003, 400],
    'Correct the option that the message names, or leave it out.',
  ],
  line_too_long: [
    broken,
    'Raise `limits.lineBytes` of the adapter, or check that the address is a stream.',
  ],
  provider_error: [
    ['ProviderBizError', 8002, 471],
    'Read the message of the provider, and send the request again later.',
  ],
  response_used: [badRequest, 'Parse each Response once, or parse a `clone()` of it.'],
};

const all = Object.entries(rows) as [ErrorCode, [Class, string]][];
/** The class of each code. */
export const errorTypes = Object.fromEntries(
  all.map(([code, [[type]]]) => [code, type]),
) as Readonly<Record<ErrorCode, ErrorType>>;
/** What to do about each code. */
export const errorFixes = Object.fromEntries(all.map(([code, [, fix]]) => [code, fix])) as Readonly<
  Record<ErrorCode, string>
>;
/** The number and the HTTP status of each class; 0 is no number. */
export const errorTypeRows = Object.fromEntries(
  all.map(([, [[type, id, status]]]) => [type, { id, status }]),
) as Readonly<Record<ErrorType, { id: number; status: number }>>;
>>>>>>> c79c4f04 (Give each error code a fix)
