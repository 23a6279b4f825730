import { delimiter } from 'node:path'

type Variables = Readonly<Record<string, string | undefined>>

/** Where the variables of a turn come from. */
export interface EnvironmentSources {
  /** Of the host. */
  readonly host: Variables
  /** Names that the engine and the instance let through; `*` at the end is a prefix. */
  readonly engineNames: readonly string[]
  readonly instanceNames: readonly string[]
  /** What the engine's command adds. */
  readonly command: Readonly<Record<string, string>>
  /** What the turn adds; nothing outweighs it. */
  readonly turn: Readonly<Record<string, string>> & { readonly ERRAND_TURN: string }
  /** Whether the turn may tell what it spends in ERRAND_REPORT. */
  readonly tells: boolean
  /** Leads PATH. */
  readonly binFolder: string | undefined
}

/** The whole environment of a provider CLI: an allow-list, so that nothing of the host reaches an agent by accident. */
export const environmentOf = (sources: EnvironmentSources): Readonly<Record<string, string>> => {
  const { host, engineNames, instanceNames, command, turn, tells, binFolder } = sources
  const fromHost = Object.entries(host).flatMap(([name, value]) =>
    value !== undefined && passes(name, engineNames, instanceNames) ? [[name, value] as const] : [],
  )
  const all: Record<string, string> = { ...noBrowser, ...Object.fromEntries(fromHost), ...command, ...turn }
  all['ERRAND_TURN'] = [host['ERRAND_TURN'], turn.ERRAND_TURN].filter(mark => mark).join(':')
  all['PATH'] = pathWith(all['PATH'] || defaultPath, binFolder)
  delete all['ERRAND_SECRET']
  if (!tells) delete all['ERRAND_REPORT']
  return all
}

const passes = (name: string, engineNames: readonly string[], instanceNames: readonly string[]): boolean => {
  if (ours.has(name)) return false
  if (isNamed(name, instanceNames)) return true
  return (isNamed(name, allowed) && !isNamed(name, desktop)) || (isNamed(name, engineNames) && !isNamed(name, nesting))
}

const isNamed = (name: string, patterns: readonly string[]): boolean =>
  patterns.some(pattern =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) && pattern.length > 1 : name === pattern,
  )

const bothCases = (names: readonly string[]): readonly string[] => names.flatMap(name => [name, name.toLowerCase()])

const allowed = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_*', 'TERM', 'TMPDIR', 'XDG_*', 'SSH_AUTH_SOCK'],
  ...bothCases(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY']),
  ...bothCases(['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE']),
]

// The secret and the turn of whoever started the bus; a turn has its own, or none.
const ours = new Set(['ERRAND_SECRET', 'ERRAND_TOKEN', 'ERRAND_TURN', 'ERRAND_CONFIG', 'ERRAND_REPORT'])

// A login that opens a browser waits for a person who is not there. Openers ask for BROWSER where they see no desktop, and
// some CLIs for NO_BROWSER; no display is passed either.
const noBrowser = { BROWSER: 'true', NO_BROWSER: 'true' }

const desktop = ['XDG_CURRENT_DESKTOP', 'XDG_SESSION_*', 'XDG_MENU_PREFIX', 'XDG_ACTIVATION_TOKEN']

// By these a CLI recognises that it runs inside another one, or inside an editor, and refuses or behaves otherwise. An
// engine's prefix must not let them in; an instance that names one means it.
const nesting = [
  ...['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SSE_PORT', 'CLAUDE_CODE_SESSION_ID', 'CLAUDE_CODE_REMOTE*'],
  ...['CLAUDE_CODE_CHILD_SESSION', 'CLAUDE_CODE_AGENT*', 'CLAUDE_AGENT*', 'CLAUDE_SESSION_*', 'CLAUDE_PID'],
  ...['CODEX_SANDBOX*', 'CODEX_THREAD_ID', 'CODEX_INTERNAL_*', 'GEMINI_CLI', 'GEMINI_CLI_IDE_*', 'GEMINI_CLI_SURFACE'],
  ...['QWEN_CODE', 'QWEN_CODE_CLI', 'QWEN_CODE_IDE_*', 'QWEN_CODE_SESSION_ID', 'QWEN_CODE_PROMPT_ID'],
  ...['QWEN_CODE_PROJECT_DIR', 'QWEN_CODE_LAUNCHER_PID', 'QWEN_CODE_ENTRYPOINT', 'QWEN_CODE_SERVE*'],
  ...['OPENCODE', 'OPENCODE_PID', 'OPENCODE_CLIENT', 'OPENCODE_SERVER_*', 'OPENCODE_WORKSPACE_ID', 'OPENCODE_ROUTE'],
  ...['OPENCODE_EDITOR_SSE_PORT', 'COPILOT_CLI', 'COPILOT_CLI_*', 'COPILOT_AGENT*', 'AI_AGENT'],
  ...['PI_CODING_AGENT', 'PI_SESSION_*', 'PI_PROVIDER', 'PI_MODEL', 'PI_REASONING_LEVEL'],
]

const defaultPath = ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)

const pathWith = (path: string, binFolder: string | undefined): string =>
  binFolder === undefined
    ? path
    : [binFolder, ...path.split(delimiter).filter(part => part !== binFolder)].join(delimiter)
