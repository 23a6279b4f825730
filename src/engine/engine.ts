import type { Json } from '../protocol/decode.ts'
import type { Failure } from '../protocol/failure.ts'
import type { MicroUsd } from '../protocol/money.ts'

export type { Failure, Json, MicroUsd }

/** What an instance may do to files; each engine maps it onto its CLI's own sandbox or permission mode. */
export type Access = 'read' | 'write' | 'full'

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

/** One talk, as an engine sees it. */
export interface EngineTask {
  /** What to say to the CLI, byte for byte what belongs on its stdin. */
  readonly prompt: string
  /** The program and its leading arguments: `cli` of the instance, else `[engine.cli]`. Never empty. */
  readonly cli: readonly string[]
  /** Further flags of the instance (`args`), to be put where the CLI takes flags. */
  readonly args: readonly string[]
  /** Absolute; the process starts there. */
  readonly cwd: string
  readonly model?: string
  readonly access?: Access
  /** The text of the instance's `instructions` file. */
  readonly instructions?: string
  /** What this turn may cost, where it is limited: for CLIs that have a cap of their own. */
  readonly capMicroUsd?: MicroUsd
}

/** What to start. `env` is added to the allow-listed environment. The prompt never stands in `args`. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly stdin: string
  readonly env?: Readonly<Record<string, string>>
}

/**
 * What one record of a CLI says. Numbers come as the CLI printed them; the core judges them, and takes what is no number
 * (negative, NaN, text) for unknown.
 *
 * `scope` of usage and cost: `step` = to be added up (with `id`, the last one of an id counts), `turn` = of this run as a
 * whole, `session` = a running total of the provider's session. A wider scope outweighs a narrower one.
 *
 * A `result` that is ok and has an empty `text` means what the `text` events said since the last `tool`: some CLIs do not
 * repeat their answer at the end.
 */
export type EngineEvent =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'model'; readonly model: string }
  /** Something that was said: a whole message, or with `delta` a piece that goes on with the one before. */
  | { readonly kind: 'text'; readonly text: string; readonly delta?: boolean }
  | {
      readonly kind: 'usage'
      readonly scope: 'step' | 'turn' | 'session'
      readonly usage: Usage
      readonly id?: string
      readonly model?: string
    }
  | { readonly kind: 'cost'; readonly scope: 'step' | 'turn' | 'session'; readonly usd: unknown; readonly id?: string }
  | { readonly kind: 'tool'; readonly name: string }
  | { readonly kind: 'denied'; readonly what: string }
  | { readonly kind: 'retry'; readonly status?: number; readonly retryAfterMs?: number; readonly reason?: string }
  /** The end of the turn. Without a text of its own (`''`), the answer is what was said last. */
  | { readonly kind: 'result'; readonly ok: true; readonly text: string }
  | {
      readonly kind: 'result'
      readonly ok: false
      readonly error: string
      readonly status?: number
      readonly type?: string
    }

/** How a run that gave no answer ended: what a classifier may look at, in order of reliability. */
export interface EngineEnd {
  /** The failed result that the CLI itself reported, if any. */
  readonly result?: Extract<EngineEvent, { kind: 'result'; ok: false }>
  /** The last retry that it announced. */
  readonly retry?: Extract<EngineEvent, { kind: 'retry' }>
  readonly exitCode?: number
  readonly signal?: string
  /** Lines on stdout that were no records (for CLIs that refuse in plain text); at most 16 KiB, without control bytes. */
  readonly noise: string
  /** The tail of stderr; at most 16 KiB, without control bytes. */
  readonly stderr: string
}

/**
 * The adapter of one provider CLI: one file, one default export, no import but types. Adding one touches nothing else.
 *
 * Contract: `command`, `decode` and `classify` are pure and must not throw; a turn whose engine throws, or returns another
 * shape, is answered with `invalid_handler_response`.
 */
export interface Engine {
  /** As `budgets.json` names it. */
  readonly name: string
  /** The program that is looked for on PATH when the instance names no `cli`; none for `command`. */
  readonly cli?: string
  /** How to get it: the sentence that a missing CLI is answered with. */
  readonly install?: string
  /** `json`: stdout is records, an answer needs a final `result`. `text`: stdout is the answer, exit 0 is success. */
  readonly output: 'json' | 'text'
  /** Variables of the CLI itself (keys, base addresses, homes) that pass the allow-list; `*` at the end is a prefix. */
  readonly env?: readonly string[]
  /** The CLI obeys slash commands on stdin, so a prompt that begins with `/` gets a line before it. */
  readonly slashCommands?: boolean
  /** The CLI version that this file was checked against. */
  readonly checkedAgainst?: string
  /** The provider, as price lists name it. */
  readonly provider?: string
  /** The CLI says by itself what a turn cost in dollars, so a model without a price is no worry. */
  readonly tellsUsd?: boolean
  /** What to start for this task. */
  command(task: EngineTask): Command
  /** One record of stdout; `[]` when it says nothing to us. Never called for `text` engines. */
  decode(record: Json): readonly EngineEvent[]
  /**
   * Why it failed: `auth`, `rate_limited`, `quota_exhausted`, `session_state`, `write_permission`, `budget_exhausted`, `engine_cli`.
   * Only what is peculiar to this CLI needs to be told: for `engine_cli` the core looks at statuses and common phrases itself
   * (`cause.ts`), and finds a sentence where this one is empty.
   */
  classify(end: EngineEnd): Failure
  /** Micro-dollars for a usage that came without a price; absent, the shipped price list is asked. */
  price?(usage: Usage, model?: string): MicroUsd | 'unknown'
}

/** What a turn answered; `denied` names what the CLI was refused under `access: "read"`. */
export interface Answer {
  readonly text: string
  readonly denied?: readonly string[]
}
