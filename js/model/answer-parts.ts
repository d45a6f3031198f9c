// Whether an answer comes in parts: the rule by which lib/encoder/lobe_content.cpp writes LobeHub's stream.
import type { ModelHooks } from '../../types/model';

// Models whose answers have parts from their first word on: "-image" is in the name of each that draws.
const modelsOfParts = ['gemini-3', '-image'];

/** What comes of an answer, each asked about in its order; true for a part. */
export class AnswerParts {
  #isGemini = false;
  #always = false;
  #inParts = false;
  #hasPlain = false;

  /** The hooks of a call, with one that sees whose API is asked: each attempt may ask another. */
  watching<T extends ModelHooks>(hooks: T): T {
    const { handlePayload } = hooks;
    return {
      ...hooks,
      handlePayload: (body, call) => {
        this.#ask(body, call.model);
        return handlePayload?.(body, call);
      },
    };
  }

  /** What came so far is void. */
  reset(): void {
    this.#inParts = this.#always;
    this.#hasPlain = false;
  }

  text(): boolean {
    return this.#content();
  }

  image(): boolean {
    return this.#content();
  }

  // Gemini's reasoning is a part of its answer, and so is what follows it; not behind a text, which readers would
  // drop for the parts.
  reasoning(): boolean {
    this.#inParts ||= this.#isGemini && !this.#hasPlain;
    return this.#inParts;
  }

  /** An image of the reasoning is always a part. */
  reasoningImage(): void {
    this.#inParts ||= !this.#hasPlain;
  }

  // Only the request of Gemini's API has a list of this name.
  #ask(body: Record<string, unknown>, model: string): void {
    this.#isGemini = Array.isArray(body['contents']);
    this.#always = this.#isGemini && modelsOfParts.some((name) => model.includes(name));
    this.#inParts = this.#always;
  }

  #content(): boolean {
    this.#hasPlain ||= !this.#inParts;
    return this.#inParts;
  }
}
