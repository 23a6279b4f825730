import type { Access, Engine, EngineEvent, JsonView } from '../src/engine/engine.ts'

/** Qwen Code, headless: `qwen -o stream-json`, the prompt on stdin. It tells no dollars: its tokens are priced. */
const qwen: Engine = {
  name: 'qwen',
  cli: 'qwen',
  install: 'Install Qwen Code with "npm install -g @qwen-code/qwen-code", or name its path as "cli".',
  output: 'json',
  env: model => ['QWEN_HOME', 'QWEN_RUNTIME_DIR', 'QWEN_MODEL', 'QWEN_OAUTH', ...keysFor(model)],
  slashCommands: true,
  checkedAgainst: '0.24.4',
  provider: '*',
  resumes: true,
  takesMcp: true,
  login: {
    keys: ['OPENAI_API_KEY', 'DASHSCOPE_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY'],
    files: ['~/.qwen/oauth_creds.json', '~/.qwen/settings.json'],
    how: 'qwen',
  },
  cannotTell: [
    'Qwen Code says nothing while its provider refuses it: that stands in its session log alone, and is read there.',
  ],

  command: ({ cli: [file = 'qwen', ...leading], args, prompt, model, access, instructions, session, folder, mcp }) => ({
    file,
    args: [
      ...[...leading, '-o', 'stream-json'],
      ...(model === undefined ? [] : ['-m', model]),
      ...(access === undefined ? [] : accessFlags[access]),
      ...(instructions === undefined ? [] : [`--append-system-prompt=${instructions}`]),
      ...(session === undefined ? [] : ['--resume', session]),
      ...(mcp === undefined ? [] : ['--mcp-config', mcpConfig(mcp)]),
      ...args,
    ],
    stdin: prompt,
    env: {
      // One process less: a launcher would leave it behind.
      QWEN_CODE_NO_RELAUNCH: 'true',
      QWEN_CODE_SUPPRESS_YOLO_WARNING: '1',
      QWEN_CODE_SYSTEM_DEFAULTS_PATH: `${folder}/defaults.json`,
    },
    files: { 'defaults.json': defaults },
  }),

  decode: record => {
    const session: EngineEvent = { kind: 'session', id: record.text('session_id') }
    switch (record.text('type')) {
      case 'system':
        if (record.text('subtype') === 'init') return [session, { kind: 'model', model: record.text('model') }]
        return record.text('subtype') === 'retry' ? [{ kind: 'retry' }] : []
      case 'assistant':
        return [session, ...assistant(record)]
      case 'user':
        return record.list('message', 'content').flatMap(refused)
      case 'result':
        return [
          session,
          ...usage('session', record.at('usage')),
          ...record.list('permission_denials').flatMap(denial),
          end(record),
        ]
      default:
        return []
    }
  },

  decodeError: line => {
    const [, seconds, reason] = /^Retrying in (\d+)s \(attempt \d+\/\d+\)(?:: (.*))?/.exec(line) ?? []
    if (seconds === undefined) return []
    const { error, status } = failed(reason ?? '')
    return [{ kind: 'retry', status, reason: error, retryAfterMs: Number(seconds) * 1000 }]
  },

  classify: ({ result, stderr }) => {
    const isLogin = /^(?:No auth type is selected|Missing API key|Qwen OAuth free tier has been discontinued)/im
    const { error: sentence } = result ?? failed(/^ *"message": "(.*)",?$/m.exec(stderr)?.[1] ?? '')
    return { code: isLogin.test(sentence || stderr) ? 'auth' : 'engine_cli', sentence }
  },

  log: {
    files: ({ session, cwd, environment: { QWEN_RUNTIME_DIR, QWEN_HOME, HOME } }) => {
      const home = QWEN_RUNTIME_DIR ?? QWEN_HOME ?? `${HOME}/.qwen`
      return session === undefined
        ? []
        : [`${home}/projects/${cwd.replace(/[^a-zA-Z0-9]/g, '-')}/chats/${session}.jsonl`]
    },
    decode: (record, { startedAtMs }) => {
      if (!(Date.parse(record.text('timestamp')) >= startedAtMs)) return []
      if (/^(?:user|tool_result)$/.test(record.text('type'))) return [{ kind: 'asked' }]
      const told = record.at('systemPayload', 'uiEvent')
      if (told.text('event.name') === 'qwen-code.api_error') {
        const { error: reason, status } = failed(`[API Error: ${told.text('error_message')}]`)
        return [{ kind: 'retry', reason, status }]
      }
      if (told.text('event.name') !== 'qwen-code.api_response') return []
      const counts = {
        inputTokens: told.count('input_token_count'),
        outputTokens: told.count('output_token_count'),
        cachedInputTokens: told.count('cached_content_token_count'),
        reasoningTokens: told.count('thoughts_token_count'),
      }
      const of = { id: told.text('response_id') || undefined, model: told.text('model') || undefined }
      return [{ kind: 'usage', scope: 'step', usage: counts, ...of }]
    },
  },
}

export default qwen

// It speaks to many providers. Which one is the person's own choice, in the settings of Qwen Code; the model tells it here.
const keysFor = (model = ''): readonly string[] => {
  if (/claude/i.test(model)) return ['ANTHROPIC_*']
  if (/gemini/i.test(model)) return ['GEMINI_API_KEY', 'GEMINI_MODEL', 'GOOGLE_*']
  return ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL', 'DASHSCOPE_API_KEY', 'BAILIAN_CODING_PLAN_API_KEY']
}

// `auto`, which is its default, asks a model each time whether it may; a tool that needs a question is not offered at all.
const accessFlags: Readonly<Record<Access, readonly string[]>> = {
  read: ['--approval-mode', 'default', '--exclude-tools=write_file,edit,notebook_edit,run_shell_command'],
  write: ['--approval-mode', 'auto-edit'],
  full: ['--approval-mode', 'yolo'],
}

// The lowest of its settings: what a person wrote outweighs them. Without a bound it tries for more than ten minutes.
const defaults = JSON.stringify({
  model: { generationConfig: { maxRetries: 0, retryInitialDelayMs: 2000, retryMaxDelayMs: 5000 } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
})

// It gives its own environment to a server; `trust` spares a question that nobody could answer,
// `alwaysLoadTools` its agent a search for the tools.
const mcpConfig = ({
  name,
  command,
  args,
}: {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}) => JSON.stringify({ mcpServers: { [name]: { command, args, trust: true, alwaysLoadTools: true } } })

// What the CLI says by itself, such as an API error, used nothing. What a helper inside the turn says is no answer.
const assistant = (record: JsonView): readonly EngineEvent[] => {
  const message = record.at('message')
  const said = message.list('content').flatMap((block): readonly EngineEvent[] => {
    if (block.text('type') === 'tool_use') return [{ kind: 'tool', name: block.text('name') }]
    const isAnswer = block.text('type') === 'text' && record.text('parent_tool_use_id') === ''
    return isAnswer && !/^\[API Error: /.test(block.text('text')) ? [{ kind: 'text', text: block.text('text') }] : []
  })
  const of = { id: message.text('id') || undefined, model: message.text('model') || undefined }
  return [...usage('step', message.at('usage')).map(one => ({ ...one, ...of })), ...said]
}

const usage = (scope: 'step' | 'session', json: JsonView) =>
  json.json === undefined
    ? []
    : [
        {
          kind: 'usage',
          scope,
          usage: {
            inputTokens: json.count('input_tokens'),
            outputTokens: json.count('output_tokens'),
            cachedInputTokens: json.count('cache_read_input_tokens'),
          },
        } as const,
      ]

const refused = (block: JsonView): readonly EngineEvent[] => {
  const what = block.text('content')
  return block.flag('is_error') &&
    /EROFS|read-only file system|^(?:Error|Permission denied) writing to file.*(?:EACCES|EPERM)/i.test(what)
    ? [{ kind: 'denied', what }]
    : []
}

const denial = (one: JsonView): readonly EngineEvent[] => {
  const tool = one.text('tool_name')
  const what = `${tool} ${one.text('tool_input', 'file_path')}`.trim()
  return /^(?:write_file|edit|notebook_edit)$/.test(tool) ? [{ kind: 'denied', what }] : []
}

const end = (record: JsonView): EngineEvent =>
  record.flag('is_error') || record.text('subtype').startsWith('error')
    ? failed(record.text('error', 'message') || record.text('result') || record.text('subtype'))
    : { kind: 'result', ok: true, text: record.text('result') }

type Failed = Extract<EngineEvent, { kind: 'result'; ok: false }>

// `[API Error: 401 Incorrect API key provided.]`
const failed = (said: string): Failed => {
  const [, status, error] = /^\[API Error: (?:(\d{3}) )?([\s\S]*)\]/.exec(said) ?? []
  return { kind: 'result', ok: false, error: error ?? said, status: status === undefined ? undefined : Number(status) }
}
