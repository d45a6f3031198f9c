// The classes of the errors that pages meet: stands in for js/error-types.ts there (scripts/build-js.mjs), whose whole
// table would be an eighth of what a page loads. A test compares both.
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

/** The number and the HTTP status of each class; 0 is no number. */
export const errorTypeRows = {
  BadRequest: { id: 0, status: 400 },
  StreamChunkError: { id: 7001, status: 500 },
  UserConfigError: { id: 9003, status: 400 },
  ProviderBizError: { id: 8002, status: 471 },
} as Readonly<Record<ErrorType, { id: number; status: number }>>;
