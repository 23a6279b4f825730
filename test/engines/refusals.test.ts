import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import { type Judged, judgeOf } from './one-stream.ts'

// What the CLIs and their providers say, word for word, and what it means.
const told = execFileSync(process.execPath, [
  fileURLToPath(new URL('../fixtures/fakes/AUTH-00.mjs', import.meta.url)),
  '--list',
])
  .toString()
  .split('\n')
  .filter(line => line !== '')
  .map(line => line.split('\t'))

const meanings: Readonly<Record<string, string>> = {
  oauth_expired: 'auth',
  oauth_expired_login: 'auth',
  invalid_key: 'auth',
  invalid_key_ext: 'auth',
  not_logged_in: 'auth',
  bearer: 'auth',
  credit_low: 'quota_exhausted',
  credit_low_400: 'quota_exhausted',
  forbidden: 'auth',
  region_codex: 'auth',
  codex_refresh: 'auth',
  codex_401: 'auth',
  cloudflare: 'engine_cli',
  opencode_noauth: 'auth',
  limit_5h: 'rate_limited',
  limit_session: 'rate_limited',
  limit_weekly: 'rate_limited',
  limit_epoch: 'rate_limited',
  limit_spend: 'quota_exhausted',
  limit_codex: 'rate_limited',
  rate_429: 'rate_limited',
  overloaded: 'rate_limited',
  api_500: 'engine_cli',
  conn: 'engine_cli',
  login_ok_but_401_digits: 'engine_cli',
}

// Others of their kinds.
const siblings: readonly (readonly [words: string, code: string])[] = [
  ['Your session has expired. Please log in again.', 'auth'],
  ['OAuth access token has been revoked', 'auth'],
  ['API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}', 'auth'],
  [
    'Incorrect API key provided: sk-abc***xyz. You can find your API key at https://platform.openai.com/account/api-keys.',
    'auth',
  ],
  ['API key expired. Please renew the API key.', 'auth'],
  ['401 Unauthorized', 'auth'],
  ['Error: 403 Forbidden', 'auth'],
  ['HTTP 401: bad credentials', 'auth'],
  ['Your account does not have access to Claude Code. Please contact your administrator.', 'auth'],
  ['This organization has been disabled.', 'auth'],
  ['Your organization has been disabled', 'auth'],
  ['User location is not supported for the API use.', 'auth'],
  ['You must be logged in to use this command', 'auth'],
  ['Please authenticate by running `gh auth login`', 'auth'],
  ['No API key found. Set OPENAI_API_KEY.', 'auth'],
  ['You are not signed in', 'auth'],
  ['Login required', 'auth'],
  ['Session expired, please sign in', 'auth'],
  ['Access denied: your subscription does not include this feature', 'auth'],
  ['Permission denied on resource project my-project. PERMISSION_DENIED', 'auth'],
  ['You exceeded your current quota, please check your plan and billing details.', 'quota_exhausted'],
  ['insufficient_quota', 'quota_exhausted'],
  ['Your credit balance is too low to access the Anthropic API.', 'quota_exhausted'],
  ['Insufficient credits. Add more at https://openrouter.ai/credits', 'quota_exhausted'],
  ['This request requires more credits, or fewer max_tokens.', 'quota_exhausted'],
  ['You have reached your monthly spending limit', 'quota_exhausted'],
  ['Your account balance is insufficient', 'quota_exhausted'],
  ['402 Payment Required', 'quota_exhausted'],
  ['Billing hard limit has been reached', 'quota_exhausted'],
  ['You have run out of credits', 'quota_exhausted'],
  ["You've reached your monthly spend limit", 'quota_exhausted'],
  ['You have exceeded your premium request allowance', 'quota_exhausted'],
  ["You've hit your Opus limit · resets 3pm (UTC)", 'rate_limited'],
  ["You've reached your weekly limit · resets Jun 9 at 1am (UTC)", 'rate_limited'],
  ['5-hour limit reached ∙ resets 2pm', 'rate_limited'],
  ['Weekly limit reached ∙ resets Oct 6 at 1pm', 'rate_limited'],
  ['Claude usage limit reached. Your limit will reset at 3pm (UTC).', 'rate_limited'],
  ["You're out of extra usage · resets 3pm (UTC)", 'rate_limited'],
  ['Your limit will reset at 7pm (Europe/Berlin).', 'rate_limited'],
  ['stream error: exceeded retry limit, last status: 429 Too Many Requests', 'rate_limited'],
  ['Selected model is at capacity. Please try a different model.', 'rate_limited'],
  ['The model is currently overloaded. Please try again later.', 'rate_limited'],
  ['API Error: 529 Overloaded. This is a server-side issue, usually temporary', 'rate_limited'],
  ['503 Service Unavailable', 'rate_limited'],
  [
    'Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Used 29000. Please try again in 6s.',
    'rate_limited',
  ],
  [
    "Quota exceeded for quota metric 'Generate Content API requests per minute'. Please retry in 34.2s.",
    'rate_limited',
  ],
  ['Server is busy, please try again later', 'rate_limited'],
  ['Too many concurrent requests', 'rate_limited'],
  ['API Error: 500 Internal server error', 'engine_cli'],
  ['API Error: 502 Bad Gateway', 'engine_cli'],
  ['API Error: Request timed out.', 'engine_cli'],
  ['fetch failed: getaddrinfo ENOTFOUND api.anthropic.com', 'engine_cli'],
  ['connect ECONNREFUSED 127.0.0.1:4401', 'engine_cli'],
  ['Prompt is too long', 'engine_cli'],
  ['read /home/u/auth/login/limit.ts: ENOENT', 'engine_cli'],
  ['request req_011CUs4291 took 429 ms', 'engine_cli'],
  ['Tool call 403 of 1000 timed out', 'engine_cli'],
  ['SSL certificate problem: unable to get local issuer certificate', 'engine_cli'],
  ['unexpected status 403 Forbidden: <html><body>Attention Required! | Cloudflare</body></html>', 'engine_cli'],
  ['Session ID 1b2c is already in use.', 'session_state'],
  ['No conversation found to continue', 'session_state'],
  ['Session not found: ses_123', 'session_state'],
  ['thread not found', 'session_state'],
]

const record = (...records: readonly object[]): string => records.map(one => `${JSON.stringify(one)}\n`).join('')

// How each CLI tells in its records that it failed.
const failing: Readonly<Record<string, (words: string) => string>> = {
  claude: result => record({ type: 'result', subtype: 'success', is_error: true, result, total_cost_usd: 0 }),
  codex: message => record({ type: 'error', message }, { type: 'turn.failed', error: { message } }),
  copilot: message =>
    record({ type: 'session.error', data: { errorType: 'query', message } }, { type: 'result', exitCode: 1 }),
  gemini: message => record({ type: 'result', status: 'error', error: { type: 'unknown', message } }),
  opencode: message => record({ type: 'error', error: { name: 'APIError', data: { message } } }),
  pi: errorMessage =>
    record({ type: 'agent_end', messages: [{ role: 'assistant', stopReason: 'error', errorMessage }] }),
  qwen: message => record({ type: 'result', subtype: 'error_during_execution', is_error: true, error: { message } }),
}

const rows: readonly (readonly [words: string, code: string])[] = [
  ...told.map(([name = '', words = '']) => [words, meanings[name] ?? 'no meaning'] as const),
  ...siblings,
]

for (const [name, failed] of Object.entries(failing)) {
  test(`${name}: a refusal means the same in a record, on stdout and on stderr`, async t => {
    const judge = await judgeOf(name)
    const empty = Buffer.alloc(0)
    const exit = { exitCode: 1 }
    const wrong: string[] = []
    for (const [words, code] of rows) {
      const line = Buffer.from(`${words}\n`)
      const came: Readonly<Record<string, Judged>> = {
        record: await judge({ stdout: Buffer.from(failed(words)), exit }),
        stdout: await judge({ stdout: line, exit }),
        stderr: await judge({ stdout: empty, stderr: line, exit }),
      }
      for (const [place, judged] of Object.entries(came))
        if (!('code' in judged) || judged.code !== code)
          wrong.push(`${words}, in ${place}: ${JSON.stringify(judged)}, not ${code}`)
    }
    t.deepEqual(wrong, [])
  })
}
