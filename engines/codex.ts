import type { Access, Engine, EngineEvent, Json } from '../src/engine/engine.ts'

/** OpenAI Codex, headless: `codex exec --json`, the prompt on stdin. It tells no dollars: its tokens are priced. */
const codex: Engine = {
  name: 'codex',
  cli: 'codex',
  install: 'Install Codex with "npm install -g @openai/codex", or name its path as "cli".',
  output: 'json',
  env: ['OPENAI_*', 'CODEX_HOME', 'CODEX_API_KEY'],
  checkedAgainst: '0.171.0',
  provider: 'openai',

  command: ({ cli: [file = 'codex', ...leading], args, prompt, model, access, instructions = '' }) => {
    const onArgv = instructions.length <= argvLimitChars
    return {
      file,
      args: [
        ...[...leading, 'exec', '--json', '--skip-git-repo-check'],
        // A login shell builds PATH anew, and `errand` is then found no more.
        ...['-c', 'allow_login_shell=false'],
        ...(model === undefined ? [] : ['-m', model]),
        ...(access === undefined ? [] : ['-s', sandboxes[access]]),
        ...(instructions !== '' && onArgv ? ['-c', `developer_instructions=${tomlString(instructions)}`] : []),
        ...args,
        '-',
      ],
      stdin: onArgv ? prompt : `<instructions>\n${instructions}\n</instructions>\n\n${prompt}`,
    }
  },

  decode: ({ json: record = null }) => {
    switch (get(record, 'type')) {
      case 'thread.started':
        return [{ kind: 'session', id: text(get(record, 'thread_id')) }]
      case 'item.started':
        return tool(get(record, 'item'))
      case 'item.completed':
        return item(get(record, 'item'))
      case 'error':
        // A notice, also where it is the last one: only `turn.failed` says that the turn failed.
        return [retry(text(get(record, 'message')))]
      case 'turn.completed':
        // The answer is the last message, which was told before.
        return [...usage(get(record, 'usage')), { kind: 'result', ok: true, text: '' }]
      case 'turn.failed':
        return [failed(text(get(get(record, 'error'), 'message')))]
      default:
        return []
    }
  },

  classify: ({ result }) => ({ code: 'engine_cli', sentence: result?.error ?? '' }),
}

export default codex

// Linux takes 128 KiB per argument; a character may need 3 bytes, or 6 once it is escaped.
const argvLimitChars = 20_000

const sandboxes: Readonly<Record<Access, string>> = {
  read: 'read-only',
  write: 'workspace-write',
  full: 'danger-full-access',
}

// A JSON string is a TOML string, but for DEL.
const tomlString = (value: string): string => JSON.stringify(value.toWellFormed()).replaceAll('\x7f', '\\u007f')

const item = (json: Json | undefined): readonly EngineEvent[] => {
  switch (get(json, 'type')) {
    case 'agent_message':
      return [{ kind: 'text', text: text(get(json, 'text')) }]
    case 'command_execution':
    case 'file_change':
      return denied(json)
    default:
      // An item of type `error` is a warning: it stands in successful turns too.
      return []
  }
}

const tool = (json: Json | undefined): readonly EngineEvent[] => {
  const type = text(get(json, 'type'))
  return /^(?:command_execution|file_change|mcp_tool_call|web_search|todo_list)$/.test(type)
    ? [{ kind: 'tool', name: type }]
    : []
}

const denied = (json: Json | undefined): readonly EngineEvent[] => {
  const isFailed = /^(?:failed|declined)$/.test(text(get(json, 'status')))
  const isChange = get(json, 'type') === 'file_change'
  const isReadOnly = /read-only file system/i.test(text(get(json, 'aggregated_output')))
  if (!isFailed || !(isChange || isReadOnly)) return []
  return [{ kind: 'denied', what: isChange ? 'a change of files' : text(get(json, 'command')) }]
}

// `input_tokens` holds what came from the cache, `output_tokens` the reasoning; all are totals of the thread.
const usage = (json: Json | undefined): readonly EngineEvent[] => {
  if (json === undefined) return []
  return [
    {
      kind: 'usage',
      scope: 'session',
      usage: {
        inputTokens: count(json, 'input_tokens'),
        outputTokens: count(json, 'output_tokens'),
        cachedInputTokens: count(json, 'cached_input_tokens'),
        cacheWriteTokens: count(json, 'cache_write_input_tokens'),
        reasoningTokens: count(json, 'reasoning_output_tokens'),
      },
    },
  ]
}

const retry = (reason: string): EngineEvent => ({ kind: 'retry', reason, ...status(reason) })

// An API's refusal arrives as its JSON body, in a string.
const failed = (message: string): EngineEvent => {
  const [, type = ''] = /"type"\s*:\s*"([^"]*)"/.exec(message) ?? []
  const [, inner] = message.startsWith('{') ? (/"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(message) ?? []) : []
  return { kind: 'result', ok: false, error: inner?.replace(/\\(["\\/])/g, '$1') ?? message, type, ...status(message) }
}

const status = (message: string): { readonly status?: number } => {
  const told = /\bstatus:? (\d{3})\b/.exec(message)?.[1]
  return told === undefined ? {} : { status: Number(told) }
}

const get = (json: Json | undefined, key: string): Json | undefined =>
  isObject(json) && Object.hasOwn(json, key) ? json[key] : undefined

const isObject = (json: Json | undefined): json is { readonly [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

const text = (json: Json | undefined): string => (typeof json === 'string' ? json : '')

// Left out is 0; what is no number is left to the core to refuse.
const count = (json: Json | undefined, key: string): number => {
  const value = get(json, key) ?? 0
  return typeof value === 'number' ? value : Number.NaN
}
