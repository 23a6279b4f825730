import type { CliName } from './clis.ts'

/** What a person would have set up for a CLI, so that it speaks to the model on loopback. */
export interface Setup {
  readonly model: string
  /** Variables of the host. */
  readonly env: Readonly<Record<string, string>>
  /** Of those, the ones that the engine does not let through by itself. */
  readonly envNames: readonly string[]
  /** `args` of the instance. */
  readonly args: readonly string[]
  /** Files in the home folder, by their path in there. */
  readonly files: Readonly<Record<string, object>>
}

/** With a key, or as on a machine where nobody has logged in. */
export const setupOf = (name: CliName, url: string, loggedIn = true): Setup => {
  const { model, env = {}, envNames = [], args = [], files = {} } = (loggedIn ? ready : fresh)[name](url)
  return { model, env, envNames, args, files }
}

/** An id of the right shape that no session has. */
export const unknownSessions: Readonly<Record<CliName, string>> = {
  claude: '0b0b0b0b-1111-4222-8333-444444444444',
  codex: '01a22f9d-a0a9-7863-8dd9-d8317442a7f3',
  gemini: '0b0b0b0b-1111-4222-8333-444444444444',
  opencode: 'ses_dcf4c19f7ffeBBvYa0aITtb5P0',
  qwen: '0b0b0b0b-1111-4222-8333-444444444444',
  copilot: '0b0b0b0b-1111-4222-8333-444444444444',
  pi: '0b0b0b0b-1111-4222-8333-444444444444',
}

type PartialSetup = Pick<Setup, 'model'> & Partial<Setup>

// Some CLIs mask every occurrence of their key in what they print: a short one would spoil it.
const key = 'sk-ant-api03-dummy-of-some-length'

const tools = { tool_call: true, limit: { context: 200_000, output: 8000 } }

const ready: Readonly<Record<CliName, (url: string) => PartialSetup>> = {
  claude: url => ({
    model: 'claude-sonnet-4-5',
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
  }),
  codex: url => ({
    model: 'gpt-5',
    env: { MODEL_KEY: key },
    envNames: ['MODEL_KEY'],
    args: codexArgs(`{name="mock",base_url="${url}/v1",env_key="MODEL_KEY",wire_api="responses"}`),
  }),
  gemini: url => ({
    model: 'gemini-2.5-pro',
    env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url },
    files: { '.gemini/settings.json': { security: { auth: { selectedType: 'gemini-api-key' } } } },
  }),
  opencode: url => ({
    model: 'mock/mock-model',
    env: { MODEL_KEY: key },
    envNames: ['MODEL_KEY'],
    files: {
      '.config/opencode/opencode.json': {
        provider: {
          mock: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${url}/v1`, apiKey: '{env:MODEL_KEY}' },
            models: { 'mock-model': { cost: { input: 3, output: 15 }, ...tools } },
          },
        },
      },
    },
  }),
  qwen: url => ({
    model: 'qwen3-coder-plus',
    env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1` },
    files: { '.qwen/settings.json': { security: { auth: { selectedType: 'openai' } } } },
  }),
  copilot: url => ({
    model: 'gpt-5',
    env: {
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_OFFLINE: 'true',
    },
  }),
  pi: url => ({
    model: 'mock/mock-model',
    env: { MODEL_KEY: key },
    envNames: ['MODEL_KEY'],
    files: {
      '.pi/agent/models.json': {
        providers: {
          mock: {
            baseUrl: `${url}/v1`,
            api: 'openai-completions',
            apiKey: '$MODEL_KEY',
            models: [
              {
                id: 'mock-model',
                contextWindow: 200_000,
                maxTokens: 8000,
                cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
              },
            ],
          },
        },
      },
    },
  }),
}

// No key and no login. The address stays where the CLI takes one without a key, so that nothing leaves the machine.
const fresh: Readonly<Record<CliName, (url: string) => PartialSetup>> = {
  claude: url => ({ model: 'claude-sonnet-4-5', env: { ANTHROPIC_BASE_URL: url } }),
  codex: url => ({
    model: 'gpt-5',
    args: codexArgs(`{name="mock",base_url="${url}/v1",wire_api="responses",requires_openai_auth=true}`),
  }),
  gemini: () => ({ model: 'gemini-2.5-pro' }),
  opencode: () => ({ model: 'anthropic/claude-sonnet-4-5' }),
  qwen: () => ({ model: 'qwen3-coder-plus' }),
  copilot: () => ({ model: 'gpt-5' }),
  pi: () => ({ model: 'anthropic/claude-sonnet-4-5' }),
}

const codexArgs = (provider: string): readonly string[] => [
  ...['-c', 'model_provider="mock"'],
  ...['-c', `model_providers.mock=${provider}`],
]
