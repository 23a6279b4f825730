import type { Access, Engine, EngineEvent, Failure, JsonView, LoggedRun, McpServer } from '../src/engine/engine.ts'

/** GitHub Copilot CLI, headless: records on stdout, the prompt on stdin. What it used stands in its session's log alone. */
const copilot: Engine = {
  name: 'copilot',
  cli: 'copilot',
  install: 'Install Copilot CLI with "npm install -g @github/copilot", or name its path as "cli".',
  output: 'json',
  env: [
    ...['COPILOT_GITHUB_TOKEN', 'GH_TOKEN', 'GITHUB_TOKEN', 'COPILOT_GH_HOST', 'GH_HOST', 'COPILOT_HOME'],
    ...['COPILOT_CACHE_HOME', 'COPILOT_MODEL', 'COPILOT_OFFLINE', 'COPILOT_PROVIDER_*'],
  ],
  checkedAgainst: '1.0.102',
  provider: '*',
  resumes: true,
  takesMcp: true,
  login: {
    keys: [
      ...['COPILOT_GITHUB_TOKEN', 'GH_TOKEN', 'GITHUB_TOKEN', 'COPILOT_PROVIDER_API_KEY'],
      ...['COPILOT_PROVIDER_BEARER_TOKEN', 'COPILOT_PROVIDER_API_KEY_COMMAND', 'COPILOT_PROVIDER_BASE_URL'],
    ],
    files: ['~/.config/gh/hosts.yml'],
    how: 'copilot login',
  },
  cannotTell: [
    'Whether somebody is logged in by "copilot login": the key lies in the credential store of the system.',
    'What a premium request of a plan without AI credits costs; AI credits are charged at a cent each.',
    'Which shell commands the approvals that a person saved allow: with "read" these may write.',
  ],

  command: ({
    cli: [file = 'copilot', ...leading],
    args,
    prompt,
    model,
    access,
    instructions,
    session,
    mcp,
    folder,
  }) => ({
    file,
    args: [
      ...[...leading, '--output-format=json', '--no-auto-update', '--disable-client-telemetry', '--no-ask-user'],
      session === undefined ? `--session-id=${sessionOf(folder)}` : `--resume=${session}`,
      ...(model === undefined ? [] : [`--model=${model}`]),
      ...(access === undefined ? [] : [accessFlags[access]]),
      '--allow-tool=shell(errand:*)',
      ...(mcp === undefined ? [] : [`--additional-mcp-config=${serversOf(mcp)}`, `--allow-tool=${mcp.name}`]),
      ...args,
    ],
    stdin: prompt,
    env: {
      // Set by a person for their own shell, it would outweigh what an instance may do.
      ...(access === 'read' || access === 'write' ? { COPILOT_ALLOW_ALL: 'false' } : {}),
      ...(instructions === undefined ? {} : { COPILOT_CUSTOM_INSTRUCTIONS_DIRS: folder }),
    },
    files: instructions === undefined ? {} : { 'errand.instructions.md': `---\napplyTo: "**"\n---\n${instructions}\n` },
  }),

  decode: record => {
    const data = record.at('data')
    // What a helper inside the turn says is no answer, and its error is not that of the turn.
    const isOwn = record.text('agentId') === ''
    switch (record.text('type')) {
      case 'model.call_start':
        return [{ kind: 'model', model: data.text('model') }]
      case 'assistant.message':
        return isOwn ? [{ kind: 'text', text: data.text('content') }] : []
      case 'tool.execution_start':
        return [{ kind: 'tool', name: data.text('toolName') }]
      case 'tool.execution_complete':
        return denied(data)
      case 'model.call_failure':
        return [{ kind: 'retry', status: data.number('statusCode'), reason: causeIn(data.text('errorMessage')) }]
      case 'session.error':
        return isOwn ? [failed(data)] : []
      case 'session.usage_checkpoint':
        return credits('session', data)
      case 'result':
        return [{ kind: 'session', id: record.text('sessionId') }, ...end(record)]
      default:
        return []
    }
  },

  classify: ({ result, stderr }) => {
    const refusal = refusals.find(([line]) => line.test(stderr))?.[1] ?? 'engine_cli'
    return result === undefined
      ? { code: refusal, sentence: '' }
      : { code: codes.get(result.type ?? '') ?? 'engine_cli', sentence: result.error }
  },

  log: {
    files: run => {
      const { HOME = '.', COPILOT_HOME = `${HOME}/.copilot` } = run.environment
      const session = run.session ?? sessionOf(run.folder)
      return COPILOT_HOME.startsWith('/') && /^[\w-]+$/.test(session)
        ? [`${COPILOT_HOME}/session-state/${session}/events.jsonl`]
        : []
    },
    decode: (record, run) => (isOf(run, record) ? logged(record) : []),
  },
}

export default copilot

const accessFlags: Readonly<Record<Access, string>> = {
  read: '--deny-tool=write',
  write: '--allow-tool=write',
  full: '--allow-all',
}

// A server inherits the environment, so no variable needs to be named.
const serversOf = ({ name, command, args }: McpServer): string =>
  JSON.stringify({ mcpServers: { [name]: { type: 'local', command, args, tools: ['*'] } } })

// Only its last record tells the session; a turn that is cut is found in the log by an id that it was given: a UUID made
// of the name of the turn's folder, which no other turn has.
const sessionOf = (folder: string): string => {
  const hex = [1, 2, 3, 4].map(seed => digest(folder, seed)).join('')
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5')
}

const digest = (text: string, seed: number): string => {
  let hash = seed
  for (const letter of text)
    hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x5bd1e995 + 2 * seed) ^ (hash >>> 15)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

// Only what writes: a command that was refused may have been a test run as well.
const denied = (data: JsonView): readonly EngineEvent[] => {
  const tool = data.text('toolTelemetry', 'properties', 'command')
  const [said, printed] = [data.text('error', 'message'), data.text('result', 'content')]
  if (/^(?:create|edit|insert|str_replace|apply_patch)$/.test(tool) && !data.flag('success')) {
    if (data.text('error', 'code') === 'denied') return [{ kind: 'denied', what: tool }]
    return /EACCES|EPERM|EROFS/.test(said) ? [{ kind: 'denied', what: said }] : []
  }
  const isFailed = (data.number('shellExecution', 'exitCode') ?? 0) !== 0
  return isFailed && /read-only file system/i.test(printed) ? [{ kind: 'denied', what: printed }] : []
}

// An error after which it goes on with another model is none yet.
const failed = (data: JsonView): EngineEvent => {
  const [error, status] = [data.text('message'), data.number('statusCode')]
  return data.flag('eligibleForAutoSwitch')
    ? { kind: 'retry', status, reason: error }
    : { kind: 'result', ok: false, error, status, type: data.text('errorType') }
}

// Of a failure it tells no more than that: why, an error told before.
const end = (record: JsonView): readonly EngineEvent[] =>
  record.number('exitCode') === 0 ? [{ kind: 'result', ok: true, text: '' }] : []

// The API's answer is a JSON text in a string.
const causeIn = (message: string): string =>
  /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(message)?.[1]?.replace(/\\(["\\/])/g, '$1') ?? message

const codes: ReadonlyMap<string, Failure['code']> = new Map([
  ['authentication', 'auth'],
  ['authorization', 'auth'],
  ['quota', 'quota_exhausted'],
])

const refusals: readonly (readonly [RegExp, Failure['code']])[] = [
  [/^Error: No authentication information found/m, 'auth'],
  [/^Error: No session.* matched '/m, 'session_state'],
]

const isOf = ({ startedAtMs }: LoggedRun, record: JsonView): boolean =>
  Date.parse(record.text('timestamp')) >= startedAtMs

// Each request: input includes what the cache gave and took. Totals go on over resumed sessions, so they are not looked at.
const logged = (record: JsonView): readonly EngineEvent[] => {
  if (record.text('type') === 'assistant.turn_start') return [{ kind: 'asked' }]
  if (record.text('type') !== 'session.usage_record') return []
  const used = record.at('data', 'usage')
  const usage = {
    inputTokens: used.count('inputTokens'),
    outputTokens: used.count('outputTokens'),
    cachedInputTokens: used.count('cacheReadTokens'),
    cacheWriteTokens: used.count('cacheWriteTokens'),
    reasoningTokens: used.count('reasoningTokens'),
  }
  const id = record.text('id')
  return [
    { kind: 'usage', scope: 'step', id, model: used.text('model'), usage },
    ...credits('step', used.at('copilotUsage'), id),
  ]
}

// A credit is a cent; with a provider of one's own there are none.
const credits = (scope: 'step' | 'session', data: JsonView, id?: string): readonly EngineEvent[] => {
  const nano = data.number('totalNanoAiu') ?? 0
  return nano === 0 ? [] : [{ kind: 'cost', scope, id, usd: nano / 1e11 }]
}
