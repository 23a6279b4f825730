/**
 * Tokens that a provider counted. `inputTokens` includes cache reads and cache writes, `outputTokens` includes reasoning;
 * the others are parts of them. Integers, 0 or more.
 */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens?: number
  readonly cacheWriteTokens?: number
  readonly reasoningTokens?: number
}

/**
 * What one record of a CLI says. Numbers come as the CLI printed them; the core judges them, and takes what is no number
 * (negative, NaN, text) for unknown. An empty id, model or text, and a usage of nothing but zeros, say nothing.
 *
 * `scope` of usage and cost: `step` = to be added up (with `id`, the last one of an id counts), `turn` = of this run as a
 * whole, `session` = a running total of the provider's session. A wider scope outweighs a narrower one.
 *
 * A `result` that is ok and has an empty `text` means what the `text` events said since the last `tool`: some CLIs do not
 * repeat their answer at the end.
 *
 * A `result` with `mayGoOn` is the end of a step after which some CLIs go on by themselves, such as with a compaction: the
 * CLI is not hurried, and it counts as the end only where the CLI has then ended without a signal.
 */
export type EngineEvent =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'model'; readonly model: string }
  /**
   * Something that was said: a whole message, or with `delta` a piece that goes on with the one before. Where a CLI tells a
   * message part by part, those of one `message` are one answer.
   */
  | { readonly kind: 'text'; readonly text: string; readonly delta?: boolean; readonly message?: string }
  | {
      readonly kind: 'usage'
      readonly scope: 'step' | 'turn' | 'session'
      readonly usage: Usage
      /** What the cache gave and took is not in `inputTokens`, as the CLI counts; the core adds it. */
      readonly cacheApart?: boolean
      /** `reasoningTokens` are not in `outputTokens`, as the CLI counts; the core adds them. */
      readonly reasoningApart?: boolean
      readonly id?: string | undefined
      readonly model?: string | undefined
    }
  | {
      readonly kind: 'cost'
      readonly scope: 'step' | 'turn' | 'session'
      readonly usd: unknown
      readonly id?: string | undefined
    }
  /** The model was asked: until a usage follows, something is spent that nobody has told. For session logs. */
  | { readonly kind: 'asked' }
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'denied'; readonly what: string }
  /** It tries again, or says that it met an error which it may get over. `retryAfterMs`: how long it means to wait. */
  | {
      readonly kind: 'retry'
      readonly status?: number | undefined
      readonly retryAfterMs?: number | undefined
      readonly reason?: string | undefined
    }
  /** The end of the turn. Without a text of its own (`''`), the answer is what was said last. */
  | { readonly kind: 'result'; readonly ok: true; readonly text: string; readonly mayGoOn?: boolean }
  | {
      readonly kind: 'result'
      readonly ok: false
      readonly error: string
      readonly status?: number | undefined
      readonly type?: string | undefined
      readonly mayGoOn?: boolean
    }
