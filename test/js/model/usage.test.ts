// Usage, cost and the books of a run, through the package.
import {
  MillraceError,
  UsageCounter,
  computeChatCost,
  computeCost,
  computeImageCost,
  computeVideoCost,
  estimateTokens,
  modelCard,
  modelCards,
  readModelUsage,
} from 'millrace';

describe('usage and cost', () => {
  it('reads what a vendor reports', () => {
    const reported = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    expect(readModelUsage(reported)).toEqual({
      inputTextTokens: 3,
      outputTextTokens: 4,
      totalInputTokens: 3,
      totalOutputTokens: 4,
      totalTokens: 7,
      source: 'reported',
    });
    expect(readModelUsage({})).toEqual({ source: 'unknown' });
  });

  it('computes the cost of a call by a card', () => {
    const pricing = { units: [{ name: 'textInput', rate: 2.5 }] };
    expect(computeChatCost(pricing, { totalInputTokens: 300 })).toEqual({
      totalCost: 0.00075,
      totalCredits: 750,
      breakdown: [
        {
          unit: { name: 'textInput', unit: 'millionTokens' },
          quantity: 300,
          rate: 2.5,
          credits: 750,
          cost: 0.00075,
        },
      ],
      issues: [],
    });
    const audio = { units: [...pricing.units, { name: 'audioInput', rate: 5 }] };
    const mixed = { inputAudioTokens: 1, inputCachedTokens: 1, inputCacheMissTokens: 1 };
    expect(computeChatCost(audio, mixed)).toBeUndefined();
    const yuan = { ...pricing, currency: 'CNY' } as const;
    expect(computeChatCost(yuan, { totalInputTokens: 300 }, { usdToCnyRate: 2 })).toEqual(
      computeChatCost(yuan, { totalInputTokens: 300 }, { yuanPerDollar: 2 }),
    );
    for (const none of [undefined, null]) {
      expect(computeChatCost(none, { totalInputTokens: 300 })).toBeUndefined();
    }
    let thrown: unknown;
    try {
      computeChatCost(pricing, { inputCachedTokens: 1 });
    } catch (error) {
      thrown = error;
    }
    expect(MillraceError.is(thrown, 'invalid_argument')).toBe(true);
  });

  it('shows the rates within a unit of a card, and what has no price', () => {
    const ttl = { pricingParams: ['ttl', 'tier'], prices: { '5m_fast': 2.5, '1h_fast': 4 } };
    const card = {
      units: [
        { name: 'textOutput', rate: 1 },
        { name: 'textInput_cacheWrite', strategy: 'lookup' as const, lookup: ttl },
        {
          name: 'textInput',
          strategy: 'tiered' as const,
          tiers: [
            { upTo: 10, rate: 1 },
            { upTo: 'infinity' as const, rate: 2.5 },
          ],
        },
      ],
    };
    const usage = {
      ...{ inputCacheMissTokens: 5, totalInputTokens: 35, outputTextTokens: 0 },
      ...{ inputWriteCacheTokens: 30, inputWriteCacheTokens1h: 20, inputWriteCacheTokens5m: 10 },
    };
    const shares = (parameters: Record<string, string>) =>
      computeChatCost(card, usage, { parameters })?.breakdown.map(
        ({ unit, quantity, credits, lookupKey, segments }) => ({
          ...{ name: unit.name, quantity, credits, lookupKey, segments },
        }),
      );
    expect(shares({ tier: 'fast', ttl: '1h' })).toEqual([
      { name: 'textOutput', quantity: 0, credits: 0 },
      {
        ...{ name: 'textInput_cacheWrite', quantity: 30, credits: 105 },
        segments: [
          { quantity: 10, rate: 2.5, credits: 25 },
          { quantity: 20, rate: 4, credits: 80 },
        ],
      },
      {
        ...{ name: 'textInput', quantity: 5, credits: 13 },
        segments: [{ quantity: 5, rate: 2.5, credits: 12.5 }],
      },
    ]);
    expect(shares({ tier: 'slow' })?.[1]).toEqual({
      ...{ name: 'textInput_cacheWrite', quantity: 30, credits: 0, lookupKey: '5m_slow' },
    });
  });

  it('knows the prices of some models and never guesses', () => {
    const usage = { totalInputTokens: 1000, totalOutputTokens: 100, source: 'reported' as const };
    expect(computeCost('openai', 'gpt-4o-2024-08-06', usage)).toBe(0.0035);
    expect(computeCost('openai', 'gpt-unheard-of', usage)).toBeUndefined();
    expect(computeCost('openai', 'gpt-unheard-of', { ...usage, cost: 1 })).toBe(1);
    expect(modelCard('anthropic', 'claude-haiku-4-5-20251001')?.contextWindowTokens).toBe(200_000);
    expect(modelCard('anthropic', 'gpt-4o')).toBeUndefined();
    expect(modelCards().every(({ source }) => source.startsWith('https://'))).toBe(true);
  });

  it('estimates tokens', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens('Hello, world!')).toBeGreaterThan(2);
    expect(estimateTokens('Hello, world!')).toBeLessThan(7);
  });

  it('books a usage as it was told, and says its source only where that was told', () => {
    const modelUsage = { cost: 0.05, totalInputTokens: 100, totalTokens: 100 };
    const call = { provider: 'p', model: 'm' };
    const once = UsageCounter.accumulateLLM({ ...call, modelUsage });
    expect(once.cost?.llm.byModel).toEqual([
      { ...call, id: 'p/m', totalCost: 0.05, usage: modelUsage },
    ]);
    const twice = UsageCounter.accumulateLLM({
      ...call,
      ...once,
      modelUsage: { cost: 0.03, totalOutputTokens: 50, source: 'estimated' },
    });
    expect(twice.cost?.llm.byModel[0]?.usage).toEqual({
      cost: 0.08,
      totalInputTokens: 100,
      totalOutputTokens: 50,
      totalTokens: 100,
      source: 'estimated',
    });
  });

  it('books calls without changing what it is given', () => {
    const first = UsageCounter.accumulateLLM({
      provider: 'p',
      model: 'm',
      modelUsage: { totalTokens: 5, cost: 0.5 },
    });
    const frozen = JSON.stringify(first);
    const second = UsageCounter.accumulateTool({ ...first, toolName: 't', success: true });
    const third = UsageCounter.accumulateHuman({ ...second, kind: 'select', waitingTimeMs: 7 });
    expect(JSON.stringify(first)).toBe(frozen);
    expect(third.usage.llm.tokens.total).toBe(5);
    expect(third.usage.tools.byTool).toEqual([{ name: 't', calls: 1, errors: 0, totalTimeMs: 0 }]);
    expect(third.usage.humanInteraction).toMatchObject({
      selectRequests: 1,
      totalWaitingTimeMs: 7,
    });
    expect(third.cost?.total).toBe(0.5);
    expect(Date.parse(third.cost?.calculatedAt ?? '')).not.toBeNaN();
  });
});

describe('prices of media', () => {
  const fixed = (name: string, unit: string, rate: number) => ({
    name,
    unit,
    strategy: 'fixed' as const,
    rate,
  });
  const lookup = {
    name: 'imageGeneration',
    unit: 'image',
    strategy: 'lookup' as const,
    lookup: { pricingParams: ['quality', 'size'], prices: { hd_1024x1024: 0.08 } },
  };

  it.each([
    ['by the piece', { units: [fixed('imageGeneration', 'image', 0.04)] }, {}, 3, 0.12],
    [
      'by its size',
      { units: [fixed('imageGeneration', 'megapixel', 0.05)] },
      { size: '2000x1000' },
      2,
      0.2,
    ],
    [
      'by width and height',
      { units: [fixed('imageGeneration', 'megapixel', 0.05)] },
      { width: 1000, height: 1000 },
      1,
      0.05,
    ],
    ['by a lookup', { units: [lookup] }, { quality: 'hd', size: '1024x1024' }, 1, 0.08],
    [
      'with images sent along',
      { units: [fixed('imageGeneration', 'image', 0.04), fixed('imageInput', 'image', 0.01)] },
      { imageUrls: ['a', 'b'] },
      2,
      0.12,
    ],
    [
      'in yuan',
      { currency: 'CNY' as const, units: [fixed('imageGeneration', 'image', 7.12)] },
      {},
      1,
      1,
    ],
  ])('an image is paid %s', (_, pricing, params, count, cost) => {
    const paid = computeImageCost(pricing, params, count);
    expect(paid?.totalCost).toBeCloseTo(cost, 9);
    expect(paid?.totalCredits).toBe(Math.round(cost * 1e6));
  });

  it.each([
    ['by the second', fixed('videoGeneration', 'second', 0.1), { duration: 5 }, undefined, 0.5],
    ['by the piece', fixed('videoGeneration', 'video', 0.3), {}, undefined, 0.3],
    ['by its tokens', fixed('videoGeneration', 'millionTokens', 2), {}, 500_000, 1],
  ])('a video is paid %s', (_, unit, params, tokens, cost) => {
    expect(computeVideoCost({ units: [unit] }, params, tokens)?.totalCost).toBeCloseTo(cost, 9);
  });

  it('says nothing where it cannot know', () => {
    expect(
      computeImageCost({ units: [fixed('textInput', 'millionTokens', 1)] }, {}),
    ).toBeUndefined();
    expect(computeImageCost({ units: [lookup] }, { quality: 'hd' })).toBeUndefined();
    expect(
      computeImageCost({ units: [fixed('imageGeneration', 'megapixel', 1)] }, {}),
    ).toBeUndefined();
    expect(
      computeVideoCost({ units: [fixed('videoGeneration', 'second', 1)] }, {}),
    ).toBeUndefined();
  });
});
