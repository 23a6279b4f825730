import type { Access, Engine, EngineEvent, Json } from '../src/engine/engine.ts'

/** Claude Code, headless: `claude -p --output-format stream-json`, the prompt on stdin. */
const claude: Engine = {
  name: 'claude',
  cli: 'claude',
  install: 'Install Claude Code with "npm install -g @anthropic-ai/claude-code", or name its path as "cli".',
  output: 'json',
  env: ['ANTHROPIC_*', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_*', 'IS_SANDBOX'],
  slashCommands: true,
  checkedAgainst: '2.1.332',
  provider: 'anthropic',
  tellsUsd: true,

  command: ({ cli: [file = 'claude', ...leading], args, prompt, model, access, instructions = '', capMicroUsd }) => {
    const onArgv = instructions.length <= argvLimitChars
    return {
      file,
      args: [
        ...[...leading, '-p', '--output-format', 'stream-json', '--verbose'],
        ...(model === undefined ? [] : ['--model', model]),
        ...(access === undefined ? [] : accessFlags[access]),
        ...(instructions !== '' && onArgv ? ['--append-system-prompt', instructions] : []),
        ...(capMicroUsd === undefined ? [] : ['--max-budget-usd', (capMicroUsd / 1e6).toFixed(6)]),
        '--allowedTools=Bash(errand talk:*)',
        ...args,
      ],
      stdin: onArgv ? prompt : `<instructions>\n${instructions}\n</instructions>\n\n${prompt}`,
      // Without a bound on retries a refused key is tried for 190 s.
      env: { CLAUDE_CODE_MAX_RETRIES: '2', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
    }
  },

  decode: ({ json: record = null }) => {
    switch (text(record, 'type')) {
      case 'system':
        return system(record)
      case 'assistant':
        return [...session(record), ...assistant(record)]
      case 'user':
        return list(get(record, 'message'), 'content').flatMap(toolResult)
      case 'rate_limit_event':
        return rateLimit(get(record, 'rate_limit_info'))
      case 'result':
        return [
          ...session(record),
          ...totals(record),
          ...list(record, 'permission_denials').flatMap(denial),
          end(record),
        ]
      default:
        return []
    }
  },

  classify: ({ result }) =>
    result?.type === 'error_max_budget_usd'
      ? { code: 'budget_exhausted', sentence: `Claude Code stopped at what was left for this turn: ${result.error}.` }
      : { code: 'engine_cli', sentence: result?.error ?? '' },
}

export default claude

// Linux takes 128 KiB per argument, and UTF-8 needs up to 3 bytes for a character of a JavaScript string.
const argvLimitChars = 40_000

// `dontAsk` refuses what the person's own settings do not allow; the tools that write are taken away on top of that.
const accessFlags: Readonly<Record<Access, readonly string[]>> = {
  read: ['--permission-mode', 'dontAsk', '--disallowedTools=Write,Edit,NotebookEdit'],
  write: ['--permission-mode', 'acceptEdits'],
  full: ['--permission-mode', 'bypassPermissions'],
}

const system = (record: Json): readonly EngineEvent[] => {
  if (text(record, 'subtype') === 'init') return [...session(record), ...model(text(record, 'model'))]
  if (text(record, 'subtype') !== 'api_retry') return []
  return [{ kind: 'retry', ...status(record, 'error_status'), reason: text(record, 'error') }]
}

// What the CLI says by itself, such as an API error, comes from a model named `<synthetic>`: nothing was asked or paid.
// What a helper inside the turn says (`parent_tool_use_id`) is no answer, but it is paid.
const assistant = (record: Json): readonly EngineEvent[] => {
  const message = get(record, 'message')
  const [id, name] = [text(message, 'id'), text(message, 'model')]
  if (name === '<synthetic>') return []
  const said = list(message, 'content').flatMap((block): readonly EngineEvent[] => {
    if (text(block, 'type') === 'tool_use') return [{ kind: 'tool', name: text(block, 'name') }]
    const isAnswer = text(block, 'type') === 'text' && text(record, 'parent_tool_use_id') === ''
    return isAnswer ? [{ kind: 'text', text: text(block, 'text') }] : []
  })
  return [...model(name), ...usage('step', get(message, 'usage'), { id, model: name }), ...said]
}

const toolResult = (block: Json): readonly EngineEvent[] => {
  const what = text(block, 'content')
  return get(block, 'is_error') === true && /EROFS|read-only file system/i.test(what) ? [{ kind: 'denied', what }] : []
}

const rateLimit = (info: Json | undefined): readonly EngineEvent[] =>
  text(info, 'status') === 'rejected'
    ? [{ kind: 'retry', status: 429, reason: `usage limit reached|${get(info, 'resetsAt') ?? ''}` }]
    : []

// `usage` is of this run, and all 0 after a stop at the cap; `modelUsage` and the dollars are of the whole session.
const totals = (record: Json): readonly EngineEvent[] => {
  const byModel = Object.entries(get(record, 'modelUsage') ?? {})
  const [dearest] = byModel.toSorted(([, a], [, b]) => count(b, 'costUSD') - count(a, 'costUSD'))
  const sum = (key: string): number => byModel.reduce((total, [, one]) => total + count(one, key), 0)
  const ofSession = {
    input_tokens: sum('inputTokens'),
    output_tokens: sum('outputTokens'),
    cache_read_input_tokens: sum('cacheReadInputTokens'),
    cache_creation_input_tokens: sum('cacheCreationInputTokens'),
  }
  return [
    ...model(dearest?.[0] ?? ''),
    ...usage('turn', get(record, 'usage')),
    ...usage('session', ofSession),
    { kind: 'cost', scope: 'session', usd: get(record, 'total_cost_usd') },
  ]
}

// A refused reading or a refused command is no refused write.
const denial = (refused: Json): readonly EngineEvent[] => {
  const tool = text(refused, 'tool_name')
  const what = `${tool} ${text(get(refused, 'tool_input'), 'file_path')}`.trim()
  return /^(?:Write|Edit|MultiEdit|NotebookEdit)$/.test(tool) ? [{ kind: 'denied', what }] : []
}

// `is_error` decides, never `subtype`: that says "success" around API errors.
const end = (record: Json): EngineEvent => {
  const answer = get(record, 'result')
  if (typeof answer === 'string' && get(record, 'is_error') !== true) return { kind: 'result', ok: true, text: answer }
  const subtype = text(record, 'subtype')
  const error = text(record, 'result') || list(record, 'errors').filter(isText).join('; ') || subtype
  const type = subtype.startsWith('error') ? subtype : text(record, 'api_error_type')
  return { kind: 'result', ok: false, error, type, ...status(record, 'api_error_status') }
}

// Anthropic counts what the cache did apart from `input_tokens`.
const usage = (
  scope: 'step' | 'turn' | 'session',
  json: Json | undefined,
  of: { readonly id?: string; readonly model?: string } = {},
): readonly EngineEvent[] => {
  const cachedInputTokens = count(json, 'cache_read_input_tokens')
  const cacheWriteTokens = count(json, 'cache_creation_input_tokens')
  const inputTokens = count(json, 'input_tokens') + cachedInputTokens + cacheWriteTokens
  const outputTokens = count(json, 'output_tokens')
  if (inputTokens === 0 && outputTokens === 0) return []
  return [{ kind: 'usage', scope, usage: { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens }, ...of }]
}

const session = (record: Json): readonly EngineEvent[] => {
  const id = get(record, 'session_id')
  return isText(id) ? [{ kind: 'session', id }] : []
}

const model = (name: string): readonly EngineEvent[] => (name === '' ? [] : [{ kind: 'model', model: name }])

const status = (json: Json, key: string): { readonly status?: number } => {
  const told = get(json, key)
  return typeof told === 'number' ? { status: told } : {}
}

// Of what is missing or of another type, there is nothing.
const get = (json: Json | undefined, key: string): Json | undefined =>
  isObject(json) && Object.hasOwn(json, key) ? json[key] : undefined

const text = (json: Json | undefined, key: string): string => {
  const value = get(json, key)
  return isText(value) ? value : ''
}

const list = (json: Json | undefined, key: string): readonly Json[] => {
  const value = get(json, key)
  return Array.isArray(value) ? value : []
}

// Left out is 0; what is no number is left to the core to refuse.
const count = (json: Json | undefined, key: string): number => {
  const value = get(json, key) ?? 0
  return typeof value === 'number' ? value : Number.NaN
}

const isText = (json: Json | undefined): json is string => typeof json === 'string'

const isObject = (json: Json | undefined): json is { readonly [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
