// The store of durable runs, which nothing in JavaScript opens yet.
import type { Rows } from './row';

export const storeRows: Rows = {
  store_damaged: { native: ['journal/codec_test.cpp', 'JournalCodec.RejectsMalformedFields'] },
};
