import type { Tool } from '@modelcontextprotocol/server'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode, leaf, sayMismatch } from '../protocol/decode.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Wish } from './errands.ts'

/** A tool was called, and its arguments are what they should be. */
export type Call =
  | { readonly tool: 'instances' }
  | { readonly tool: 'delegate' | 'delegate_later'; readonly wish: Wish }
  | { readonly tool: 'collect'; readonly id: string; readonly waitMs: number }
  | { readonly tool: 'cancel'; readonly id: string }

const string = { type: 'string' }
const wishSchema: Tool['inputSchema'] = {
  type: 'object',
  properties: { name: string, prompt: string, thread: { ...string, description: 'goes on with an earlier talk' } },
  required: ['name', 'prompt'],
}
const idSchema: Tool['inputSchema'] = { type: 'object', properties: { id: string }, required: ['id'] }

const longestWaitS = 600
const usualWaitS = 50

/** As a client is told of them. An agent reads all of it in each turn: every word costs. */
export const tools: Tool[] = [
  { name: 'instances', description: 'Agents you may ask: what for, budget left', inputSchema: { type: 'object' } },
  { name: 'delegate', description: 'Ask an agent; waits for its answer', inputSchema: wishSchema },
  {
    name: 'delegate_later',
    description: 'Ask an agent without waiting; returns an id to collect',
    inputSchema: wishSchema,
  },
  {
    name: 'collect',
    description: 'The answer to an id, or how far it is',
    inputSchema: { ...idSchema, properties: { id: string, wait: { type: 'number', description: 'seconds' } } },
  },
  { name: 'cancel', description: 'End what an id stands for', inputSchema: idSchema },
]

const text = leaf(
  'a string that is not empty',
  (value): value is string => typeof value === 'string' && value.trim() !== '',
)
const seconds = leaf(
  'a number of seconds, 0 or more',
  (value): value is number => typeof value === 'number' && value >= 0,
)
const wish = t.intersection([t.type({ name: text, prompt: text }), t.partial({ thread: text })])
const id = t.type({ id: text })
const collect = t.intersection([id, t.partial({ wait: seconds })])

/** What a client sent, as a call; the left says what of it is wrong. */
export const callOf = (tool: string, given: unknown): E.Either<Failure, Call> => {
  const read = <A>(codec: t.Decoder<unknown, A>, call: (args: A) => Call): E.Either<Failure, Call> =>
    pipe(
      decode(codec, given),
      E.bimap(
        wrong =>
          failure('invalid_request', `The arguments of ${tool} do not fit: ${wrong.map(sayMismatch).join('; ')}.`),
        call,
      ),
    )
  switch (tool) {
    case 'instances':
      return E.right({ tool })
    case 'delegate':
    case 'delegate_later':
      return read(wish, ({ name, prompt, thread }) => ({
        tool,
        wish: { name, prompt, ...(thread === undefined ? {} : { thread }) },
      }))
    case 'collect':
      return read(collect, ({ id, wait = usualWaitS }) => ({ tool, id, waitMs: Math.min(wait, longestWaitS) * 1000 }))
    case 'cancel':
      return read(id, ({ id }) => ({ tool, id }))
    default:
      return E.left(
        failure('invalid_request', `There is no tool "${tool}": ${tools.map(({ name }) => name).join(', ')}.`),
      )
  }
}
