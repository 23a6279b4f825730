import { readFileSync } from 'node:fs'
import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { engineNames, loadEngine } from '../../src/engine/load.ts'
import { aPath, oneTurn, script } from './one-turn.ts'

const keys = [
  ...['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN', 'OPENAI_API_KEY', 'CODEX_API_KEY', 'GEMINI_API_KEY'],
  ...['GOOGLE_API_KEY', 'OPENROUTER_API_KEY', 'DASHSCOPE_API_KEY', 'GH_TOKEN', 'GITHUB_TOKEN', 'COPILOT_GITHUB_TOKEN'],
  ...['XAI_API_KEY', 'DEEPSEEK_API_KEY', 'MISTRAL_API_KEY', 'GROQ_API_KEY', 'AZURE_OPENAI_API_KEY', 'FACTORY_API_KEY'],
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AMP_API_KEY', 'NPM_TOKEN', 'ERRAND_SECRET'],
]

/** Of the machine's keys, those that the CLI of an engine sees, in its environment, its arguments or its input. */
const keysSeen = async (name: string, model?: string): Promise<readonly string[]> => {
  const engine = await loadEngine(name, import.meta.dirname)()
  if (E.isLeft(engine)) throw new Error(engine.left)
  const log = aPath('seen')
  const source = `require('fs').writeFileSync(process.env.FAKE_LOG, JSON.stringify([process.env, process.argv, require('fs').readFileSync(0, 'utf8')]))`
  await oneTurn({
    engine: engine.right,
    cli: [...script(source), '--'],
    environment: { FAKE_LOG: log, ...Object.fromEntries(keys.map(key => [key, `value-of-${key}.`])) },
    settings: model === undefined ? {} : { model },
  })
  const seen = readFileSync(log, 'utf8')
  return keys.filter(key => seen.includes(`value-of-${key}.`))
}

const expected: readonly (readonly [string, string | undefined, readonly string[]])[] = [
  ['command', undefined, []],
  ['claude', undefined, ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN']],
  ['codex', undefined, ['OPENAI_API_KEY', 'CODEX_API_KEY']],
  ['gemini', undefined, ['GEMINI_API_KEY', 'GOOGLE_API_KEY']],
  ['qwen', undefined, ['OPENAI_API_KEY', 'DASHSCOPE_API_KEY']],
  ['copilot', undefined, ['GH_TOKEN', 'GITHUB_TOKEN', 'COPILOT_GITHUB_TOKEN']],
  ['opencode', 'anthropic/claude-sonnet-4-5', ['ANTHROPIC_API_KEY']],
  ['opencode', 'openai/gpt-5', ['OPENAI_API_KEY']],
  ['pi', 'anthropic/claude-sonnet-4-5', ['ANTHROPIC_API_KEY']],
  ['pi', 'google/gemini-2.5-pro', ['GEMINI_API_KEY', 'GOOGLE_API_KEY']],
]

for (const [name, model, its] of expected)
  test(`a CLI sees the keys of its own provider and nobody else's: ${[name, model].filter(Boolean).join(', ')}`, async t => {
    t.deepEqual(await keysSeen(name, model), its)
  })

test('every engine stands in that table', t => {
  t.deepEqual([...new Set(expected.map(([name]) => name))].sort(), engineNames.toSorted())
})
