import type { Json } from '../protocol/decode.ts'
import type { Failure } from '../protocol/failure.ts'
import type { MicroUsd } from '../protocol/money.ts'
import type { EngineEvent, Usage } from './event.ts'
import type { JsonView } from './json-view.ts'
import type { LoggedRun, SessionLog } from './session-log.ts'

export type { EngineEvent, Failure, Json, JsonView, LoggedRun, MicroUsd, SessionLog, Usage }

/** What an instance may do to files; each engine maps it onto its CLI's own sandbox or permission mode. */
export type Access = 'read' | 'write' | 'full'

/** The MCP server by which the agent of a turn delegates. */
export interface McpServer {
  /** Its name among the servers of a CLI. */
  readonly name: string
  /** The program; absolute. */
  readonly command: string
  readonly args: readonly string[]
  /** The variables of the turn that it needs, by name: a CLI passes them on, and no value stands in a flag or a file. */
  readonly env: readonly string[]
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
  /**
   * The text of the instance's `instructions` file, where it fits into one argument. What does not, and all of it for a CLI
   * that has no flag for it (`instructions: 'prompt'`), stands in `prompt` already.
   */
  readonly instructions?: string
  /** The provider's session that goes on; absent, a new one begins. */
  readonly session?: string
  /** To be handed to the CLI, so that its agent can delegate; absent where it must not. */
  readonly mcp?: McpServer
  /** A folder of this turn alone, absolute, mode 0700; it is there from before the start until the turn is judged. */
  readonly folder: string
  /** What this turn may cost, where it is limited: for CLIs that have a cap of their own. */
  readonly capMicroUsd?: MicroUsd
}

/** What to start. `env` is added to the allow-listed environment. The prompt never stands in `args`. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly stdin: string
  readonly env?: Readonly<Record<string, string>>
  /** Files that are written before it starts, by name, into the turn's `folder`; mode 0600. */
  readonly files?: Readonly<Record<string, string>>
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

/** How `errand doctor` learns, at no cost, whether a CLI is logged in; the first that says yes counts. */
export interface Login {
  /** Variables, any of which holds a key. */
  readonly keys: readonly string[]
  /** Arguments by which the CLI tells it: exit status 0 means yes. It must not open anything nor ask the model. */
  readonly status?: readonly string[]
  /** Files, any of which holds a login; `~/` is the home folder. */
  readonly files?: readonly string[]
  /** What to do otherwise: a command, such as `codex login`. */
  readonly how: string
}

/**
 * The adapter of one provider CLI: one file, one default export, no import but types. Adding one touches nothing else.
 *
 * Contract: every function is pure and must not throw; a turn whose engine throws, or returns another shape, is answered
 * with `invalid_handler_response`.
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
  /**
   * Variables of the CLI itself (keys, base addresses, homes) that pass the allow-list; `*` at the end is a prefix. A CLI that
   * speaks to several providers names those of the model's own alone: `{provider}` are those of `provider/model`.
   */
  readonly env?: readonly string[] | ((model: string | undefined) => readonly string[])
  /** The CLI obeys slash commands on stdin, so a prompt that begins with `/` gets a line before it. */
  readonly slashCommands?: boolean
  /** `prompt`: it has no flag for instructions, so they go before the prompt; `flag` unless told. */
  readonly instructions?: 'flag' | 'prompt'
  /** The CLI version that this file was checked against. */
  readonly checkedAgainst?: string
  /** The provider, as price lists name it; `*` where the model's name alone tells. */
  readonly provider?: string
  /** The CLI says by itself what a turn cost in dollars, so a model without a price is no worry. */
  readonly tellsUsd?: boolean
  /** `command` obeys `session`. */
  readonly resumes?: boolean
  /** `command` hands `mcp` over. */
  readonly takesMcp?: boolean
  /** For doctor. */
  readonly login?: Login
  /** What nobody can learn of this CLI from outside: whole sentences, for the table in docs/engines.md. */
  readonly cannotTell?: readonly string[]
  /** What to start for this task. */
  command(task: EngineTask): Command
  /** One record of stdout; `[]` when it says nothing to us. Never called for `text` engines. */
  decode(record: JsonView): readonly EngineEvent[]
  /** One line of stderr, without control bytes: for CLIs that tell retries or refusals only there. */
  decodeError?(line: string): readonly EngineEvent[]
  /**
   * Why it failed: `auth`, `rate_limited`, `quota_exhausted`, `session_state`, `write_permission`, `budget_exhausted`, `engine_cli`.
   * Only what is peculiar to this CLI needs to be told: for `engine_cli` the core looks at statuses and common phrases itself
   * (`cause.ts`), and finds a sentence where this one is empty.
   */
  classify(end: EngineEnd): Failure
  /** Micro-dollars for a usage that came without a price; absent, the shipped price list is asked. */
  price?(usage: Usage, model?: string): MicroUsd | 'unknown'
  /** Where the CLI keeps its own account, if it does. */
  readonly log?: SessionLog
}

/** What a turn answered; `denied` names what the CLI was refused under `access: "read"`. */
export interface Answer {
  readonly text: string
  readonly denied?: readonly string[]
}
