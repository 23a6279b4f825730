import test from 'ava'
import { namesOf } from '../../src/engine/provider-keys.ts'

const engine = { env: ['THECLI_*', '{provider}'] }
const passes = (model: string | undefined): readonly string[] => namesOf(engine, model).slice(1)

test('of the keys on a machine pass those of the provider of the model', t => {
  t.deepEqual(passes('anthropic/claude-opus-4-5'), ['ANTHROPIC_*', 'ANTHROPIC_API_KEY'])
  t.deepEqual(passes('openrouter/anthropic/claude-opus-4-5'), ['OPENROUTER_*', 'OPENROUTER_API_KEY'])
  t.deepEqual(passes('kimi-coding/k2'), ['KIMI_CODING_*', 'KIMI_API_KEY'])
  t.deepEqual(passes('my.own/model'), ['MY_OWN_*', 'MY_API_KEY'])
})

test('some providers call their keys otherwise', t => {
  t.deepEqual(passes('amazon-bedrock/us.anthropic.claude'), ['AWS_*'])
  t.true(passes('google/gemini-2.5-pro').includes('GEMINI_API_KEY'))
})

test('no provider, no key', t => {
  for (const model of [undefined, '', 'claude-opus-4-5', '/x', '//']) t.deepEqual(passes(model), [], model)
  t.deepEqual(passes('constructor/x'), ['CONSTRUCTOR_*', 'CONSTRUCTOR_API_KEY'])
})

test('the names of an engine are its own, told for a model or not', t => {
  t.deepEqual(namesOf({}, 'anthropic/x'), [])
  t.deepEqual(namesOf({ env: model => [`OF_${model}`] }, 'x'), ['OF_x'])
})
