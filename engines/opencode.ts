import type { Access, Engine, EngineEvent, EngineTask, JsonView } from '../src/engine/engine.ts'

/** opencode, headless: `opencode run --format json`, the prompt on stdin. */
const opencode: Engine = {
  name: 'opencode',
  cli: 'opencode',
  install: 'Install opencode with "npm install -g opencode-ai", or name its path as "cli".',
  output: 'json',
  env: ['OPENCODE_*', '{provider}'],
  checkedAgainst: '1.18.33',
  provider: '*',
  resumes: true,
  takesMcp: true,
  login: {
    keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'OPENCODE_API_KEY'],
    files: ['~/.local/share/opencode/auth.json'],
    how: 'opencode auth login',
  },
  cannotTell: [
    'Which model answered: it never says. Name a `model`.',
    'What its subagents cost: a turn that used one is of unknown cost, and one whose dollars are limited gets none.',
  ],

  command: ({ cli: [file = 'opencode', ...leading], args, prompt, model, access, session, capMicroUsd, ...task }) => {
    const files = filesOf(task)
    const permission = { ...(access && permissions[access]), ...(capMicroUsd === undefined ? {} : { task: 'deny' }) }
    return {
      file,
      args: [
        // An empty title is taken from the prompt; without one the model is asked for it, and no account tells of that.
        ...[...leading, 'run', '--format', 'json', '--title='],
        // Retries, and the cause behind "Unexpected server error", stand in its log alone.
        ...['--print-logs', '--log-level', 'ERROR'],
        ...(model === undefined ? [] : [`--model=${model}`]),
        ...(session === undefined ? [] : [`--session=${session}`]),
        ...(access === 'full' ? ['--auto'] : []),
        ...args,
      ],
      stdin: prompt,
      files,
      env: {
        ...{ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
        OPENCODE_DISABLE_SHARE: '1',
        ...(Object.keys(permission).length === 0 ? {} : { OPENCODE_PERMISSION: JSON.stringify(permission) }),
        ...('opencode.json' in files ? { OPENCODE_CONFIG: `${task.folder}/opencode.json` } : {}),
      },
    }
  },

  decode: record => {
    const part = record.at('part')
    switch (record.text('type')) {
      case 'step_start':
        return [{ kind: 'session', id: record.text('sessionID') }]
      case 'text':
        // Its own words to the model, after it has shortened the context.
        return part.flag('synthetic')
          ? [{ kind: 'tool', name: 'compaction' }]
          : [{ kind: 'text', text: part.text('text'), message: part.text('messageID') }]
      case 'tool_use':
        return tool(part)
      case 'step_finish':
        return [...spent(part.at('tokens'), part.at('cost').json), ...finished(part.text('reason'))]
      case 'error':
        if (record.text('error', 'name') === '') return []
        return [{ kind: 'session', id: record.text('sessionID') }, ...failed(record.at('error'))]
      default:
        return []
    }
  },

  decodeError: line => {
    const reason = /message="stream error".* error\.error="(?:\w+: )?((?:[^"\\]|\\.)*)"/.exec(line)?.[1]
    return reason === undefined ? [] : [{ kind: 'retry', reason: reason.replace(/\\(["\\])/g, '$1') }]
  },

  classify: ({ result, stderr }) => {
    const [sentence, provider, model = '', near = ''] = unknownModel.exec(stderr) ?? []
    // What it names as near is in its catalogue: if it is this very model, its provider has no login.
    if (near.split(', ').includes(model) && model !== '')
      return { code: 'auth', sentence: `opencode has no login for ${provider}. Run "opencode auth login".` }
    if (result?.type === 'UnknownError' && !stderr.includes('level=ERROR')) return noCause
    if (result?.type === 'ProviderAuthError') return { code: 'auth', sentence: result.error }
    if (stderr.startsWith('opencode run [message..]')) return badFlag
    return { code: 'engine_cli', sentence: sentence ?? result?.error ?? '' }
  },
}

export default opencode

// What is not allowed is denied, not asked: a question that nobody answers ends the turn without a word.
const permissions: Readonly<Record<Access, Readonly<Record<string, string>>>> = {
  read: { edit: 'deny', bash: 'deny', external_directory: 'deny' },
  write: { edit: 'allow', external_directory: 'deny' },
  full: {},
}

// It is merged with the person's own configuration.
const filesOf = ({ mcp, instructions, folder }: Pick<EngineTask, 'mcp' | 'instructions' | 'folder'>) => {
  if (mcp === undefined && instructions === undefined) return {}
  const server = mcp && {
    mcp: { [mcp.name]: { type: 'local', command: [mcp.command, ...mcp.args], enabled: true } },
    permission: { [`${mcp.name}_*`]: 'allow' },
  }
  if (instructions === undefined) return { 'opencode.json': JSON.stringify(server) }
  const config = { ...server, instructions: [`${folder}/instructions.md`] }
  return { 'opencode.json': JSON.stringify(config), 'instructions.md': instructions }
}

const tool = (part: JsonView): readonly EngineEvent[] => {
  const [name, error] = [part.text('tool'), part.text('state', 'error')]
  const what = `${name} ${part.text('state', 'input', 'filePath') || part.text('state', 'input', 'command')}`.trim()
  const output = name === 'bash' ? part.text('state', 'metadata', 'output') : ''
  const isRefused = (isWriting.test(name) && isRefusedWrite.test(error)) || /read-only file system/i.test(output)
  const isEnd = isRejected.test(error)
  return [
    { kind: 'tool', name },
    ...(isRefused || isEnd ? [{ kind: 'denied', what } as const] : []),
    ...(isEnd ? [ended] : []),
    ...(name === 'task' ? untold : []),
  ]
}

// A rejected question ends the turn, whatever it was about. Of what a rule denies only the writes are missed.
const isRejected = /^The user rejected permission/
const isWriting = /^(?:write|edit|multiedit|patch|apply_patch)$/
const isRefusedWrite =
  /^The user has specified a rule|^(?:Unknown|PermissionDenied): FileSystem|EROFS|EACCES|read-only file system/i

const ended: EngineEvent = { kind: 'result', ok: true, text: '', mayGoOn: true }

const untold: readonly EngineEvent[] = [
  { kind: 'usage', scope: 'step', usage: { inputTokens: Number.NaN, outputTokens: Number.NaN } },
  { kind: 'cost', scope: 'step', usd: Number.NaN },
]

// A model without a price in its table costs 0 there, which is no price.
const spent = (tokens: JsonView, usd: unknown): readonly EngineEvent[] => {
  const usage = {
    inputTokens: tokens.count('input'),
    outputTokens: tokens.count('output'),
    cachedInputTokens: tokens.count('cache', 'read'),
    cacheWriteTokens: tokens.count('cache', 'write'),
    reasoningTokens: tokens.count('reasoning'),
  }
  const used = { kind: 'usage', scope: 'step', usage, cacheApart: true, reasoningApart: true } as const
  return usd === 0 ? [used] : [used, { kind: 'cost', scope: 'step', usd }]
}

// After an empty stream, or a page of HTML, it asks again for ever. A compaction stops too, and the turn goes on.
const finished = (reason: string): readonly EngineEvent[] => {
  if (reason === 'tool-calls') return []
  if (reason === 'unknown' || reason === '')
    return [{ kind: 'retry', reason: 'The provider sent no answer of a model.' }]
  if (reason === 'stop') return [ended]
  return [{ kind: 'result', ok: false, error: `The model ended its answer early: ${reason}.`, mayGoOn: true }]
}

const failed = (error: JsonView): readonly EngineEvent[] => {
  const [name, data] = [error.text('name'), error.at('data')]
  const [, type = name] = /"(?:type|code)":"(?!error")([^"]+)"/.exec(data.text('responseBody')) ?? []
  const [status, message] = [data.number('statusCode'), data.text('message') || name]
  const seconds = Number.parseFloat(data.text('responseHeaders', 'retry-after'))
  const mayGoOn = name === 'ContextOverflowError'
  return [
    ...(seconds > 0 ? [{ kind: 'retry', status, reason: message, retryAfterMs: seconds * 1000 } as const] : []),
    { kind: 'result', ok: false, error: message, status, type, mayGoOn },
  ]
}

const unknownModel = /Model not found: ([^/\s"]+)\/([^\s"]+)\.(?: Did you mean: ([^?"]*)\?)?/

const noCause = {
  code: 'auth',
  sentence: 'opencode has no login for the provider of this model, or does not know it. Run "opencode auth login".',
} as const
const badFlag = { code: 'engine_cli', sentence: 'opencode does not know one of its flags. Mend "args".' } as const
