import type { Engine, EngineEvent, EngineTask, JsonView } from '../src/engine/engine.ts'

/** pi, headless: `pi -p --mode json`, the prompt on stdin. It has no sandbox, and exits 0 whatever its provider said. */
const pi: Engine = {
  name: 'pi',
  cli: 'pi',
  install: 'Install pi with "npm install -g @earendil-works/pi-coding-agent", or name its path as "cli".',
  output: 'json',
  env: ['PI_*', '{provider}'],
  slashCommands: true,
  checkedAgainst: '1.6.0',
  provider: '*',
  resumes: true,
  takesMcp: true,
  login: {
    keys: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY'],
    files: ['~/.pi/agent/auth.json'],
    how: 'pi auth login PROVIDER',
  },
  cannotTell: ['Whether a file that it wrote lies below `cwd`: it has no sandbox, and asks nobody.'],

  command: ({ cli: [file = 'pi', ...leading], args, prompt, model, session, instructions, ...task }) => ({
    file,
    args: [
      ...[...leading, '-p', '--mode', 'json'],
      ...(model === undefined ? [] : ['--model', model]),
      ...(session === undefined ? [] : ['--session', session]),
      ...(instructions === undefined ? [] : ['--append-system-prompt', `${task.folder}/instructions.md`]),
      ...(task.mcp === undefined ? [] : ['-e', `${task.folder}/mcp.mjs`]),
      ...toolsOf(task),
      ...args,
    ],
    stdin: prompt,
    files: {
      ...(instructions === undefined ? {} : { 'instructions.md': instructions }),
      ...(task.mcp === undefined ? {} : { 'mcp.mjs': extensionOf(task.mcp) }),
    },
    env: { PI_OFFLINE: '1', PI_TELEMETRY: '0' },
  }),

  decode: record => {
    switch (record.text('type')) {
      case 'session':
        return [{ kind: 'session', id: record.text('id') }]
      case 'message_end':
        return record.text('message', 'role') === 'assistant' ? assistant(record.at('message')) : []
      case 'tool_execution_end':
        return denied(record)
      case 'auto_retry_start':
      case 'summarization_retry_scheduled': {
        const { error: reason, status } = causeIn(record.text('errorMessage'))
        return [{ kind: 'retry', status, reason, retryAfterMs: record.number('delayMs') }]
      }
      case 'compaction_end':
        return spent(record.at('result', 'usage'))
      case 'agent_end':
        return record.flag('willRetry') ? [] : [end(record.list('messages').at(-1))]
      default:
        return []
    }
  },

  classify: ({ result, noise, stderr }) => {
    const noKey = /^No API key found for .*/m.exec(stderr)?.[0]
    if (noKey !== undefined) return { code: 'auth', sentence: `${noKey} Start pi and use /login, or set a key.` }
    // It asks whether to fork it, and takes the prompt for the answer.
    return noise.includes('Session found in different project')
      ? { code: 'session_state', sentence: 'The session belongs to another folder: pi resumes it only there.' }
      : { code: 'engine_cli', sentence: result?.error ?? '' }
  },

  log: {
    files: ({ session, environment }) => {
      const agent = environment['PI_CODING_AGENT_DIR'] || `${environment['HOME']}/.pi/agent`
      const folder = environment['PI_CODING_AGENT_SESSION_DIR'] || `${agent}/sessions`
      const name = `*_${session}.jsonl`
      return session === undefined ? [] : [[folder, '*', name].join('/'), [folder, name].join('/')]
    },
    decode: (record, { startedAtMs }) => {
      if (!(Date.parse(record.text('timestamp')) >= startedAtMs)) return []
      const message = record.at('message')
      const role = message.text('role')
      // Of an answer that was cut it keeps what had been told of it until then, and never learns the rest.
      const isCut = message.text('stopReason') === 'aborted'
      if (role === 'assistant')
        return [...modelOf(message), ...spent(message.at('usage')), ...(isCut ? [{ kind: 'asked' } as const] : [])]
      return role === 'user' || role === 'toolResult' ? [{ kind: 'asked' }] : spent(record.at('usage'))
    },
  },
}

export default pi

const reading = ['read', 'grep', 'find', 'ls']

// It knows tools, not permissions: what an agent must not do, it is not given. A shell may do anything.
const toolsOf = ({ access, mcp }: Pick<EngineTask, 'access' | 'mcp'>): readonly string[] => {
  if (access === undefined || access === 'full') return []
  const own = access === 'read' ? reading : [...reading, 'edit', 'write']
  return ['--tools', [...own, ...(mcp === undefined ? [] : [`mcp__${mcp.name}__*`])].join(',')]
}

// For this run alone, beside what the person has configured; the server inherits the environment.
const extensionOf = ({ name, command, args }: NonNullable<EngineTask['mcp']>): string =>
  `export default pi => pi.registerMcpServer(${JSON.stringify(name)}, ${JSON.stringify({ command, args, exposure: 'direct' })})\n`

const assistant = (message: JsonView): readonly EngineEvent[] => {
  const isBroken = /^(?:error|aborted)$/.test(message.text('stopReason'))
  const said = message.list('content').flatMap((block): readonly EngineEvent[] => {
    if (block.text('type') === 'toolCall') return [{ kind: 'tool', name: block.text('name') }]
    return block.text('type') === 'text' && !isBroken ? [{ kind: 'text', text: block.text('text') }] : []
  })
  return [...modelOf(message), ...spent(message.at('usage')), ...said]
}

const modelOf = (message: JsonView): readonly EngineEvent[] => {
  const model = [message.text('provider'), message.text('model')].filter(name => name !== '').join('/')
  return [{ kind: 'model', model }]
}

// A model without a price in its table costs 0 there, which is no price.
const spent = (used: JsonView): readonly EngineEvent[] => {
  if (used.json === undefined) return []
  const usage = {
    inputTokens: used.count('input'),
    outputTokens: used.count('output'),
    cachedInputTokens: used.count('cacheRead'),
    cacheWriteTokens: used.count('cacheWrite'),
    reasoningTokens: used.count('reasoning'),
  }
  const tokens = { kind: 'usage', scope: 'step', usage, cacheApart: true } as const
  const usd = used.at('cost', 'total').json
  return usd === 0 ? [tokens] : [tokens, { kind: 'cost', scope: 'step', usd }]
}

const denied = (record: JsonView): readonly EngineEvent[] => {
  const what = record
    .list('result', 'content')
    .map(block => block.text('text'))
    .join(' ')
    .trim()
  const isRefused = record.flag('isError') && /EROFS|EACCES|EPERM|read-only file system|^Tool \S+ not found/i.test(what)
  return isRefused && /^(?:write|edit|bash)$/.test(record.text('toolName')) ? [{ kind: 'denied', what }] : []
}

// After a full context it goes on with a shorter one, and after an answer it may compact what it has.
const end = (message: JsonView | undefined): EngineEvent => {
  const [stop, told] = [message?.text('stopReason') ?? '', message?.text('errorMessage') ?? '']
  const said = message?.list('content').filter(block => block.text('type') === 'text') ?? []
  const text = said.map(block => block.text('text')).join('\n')
  if (stop === 'stop') return { kind: 'result', ok: true, text, mayGoOn: true }
  const { error, status, type } = causeIn(told || `The model ended its answer early: ${stop || 'it said nothing'}.`)
  return { kind: 'result', ok: false, error, status, type, mayGoOn: true }
}

/** `401: {"message":"…","type":"…"}`, or plain words. */
const causeIn = (told: string) => {
  const status = /^(\d{3})\b/.exec(told)?.[1]
  const [, type] = /"(?:type|code)"\s*:\s*"(?!error")([^"]+)"/.exec(told) ?? []
  const [, inner] = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(told) ?? []
  return {
    error: inner?.replace(/\\(["\\/])/g, '$1') ?? told,
    status: status === undefined ? status : Number(status),
    type,
  }
}
