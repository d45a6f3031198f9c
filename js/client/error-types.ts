// The classes of the errors that pages meet: stands in for js/error-types.ts there (scripts/build-js.mjs), whose whole
// table would be an eighth of what a page loads. A test compares both.
import type { ErrorCode, ErrorType } from '../../types/errors';

type Row = [type: ErrorType, id: number, status: number];

const badRequest: Row = ['BadRequest', 0, 400];
const broken: Row = ['StreamChunkError', 7001, 500];
const rows: Readonly<Partial<Record<ErrorCode, Row>>> = {
  event_too_large: broken,
  invalid_argument: badRequest,
  invalid_json: badRequest,
  invalid_option: ['UserConfigError', 9003, 400],
  line_too_long: broken,
  provider_error: ['ProviderBizError', 8002, 471],
  response_used: badRequest,
};

const all = Object.entries(rows) as [ErrorCode, Row][];
/** The class of each code. */
export const errorTypes = Object.fromEntries(all.map(([code, [type]]) => [code, type])) as Readonly<
  Record<ErrorCode, ErrorType>
>;
/** The number and the HTTP status of each class; 0 is no number. */
export const errorTypeRows = Object.fromEntries(
  all.map(([, [type, id, status]]) => [type, { id, status }]),
) as Readonly<Record<ErrorType, { id: number; status: number }>>;
