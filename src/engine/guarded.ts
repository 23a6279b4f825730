import { isAbsolute } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as t from 'io-ts/lib/index.js'
import { decode, type Json, leaf, sayMismatch } from '../protocol/decode.ts'
import { isErrorCode } from '../protocol/error-codes.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { causeOf } from './cause.ts'
import type { Command, Engine, EngineEnd, EngineEvent, EngineTask } from './engine.ts'
import { viewOf } from './json-view.ts'
import type { LoggedRun } from './session-log.ts'

type Refused<A> = E.Either<Failure<'invalid_handler_response'>, A>

/** An engine whose every word is looked at: its file is a user's, and may throw or answer anything. */
export interface Guarded {
  readonly command: (task: EngineTask) => Refused<Command>
  readonly decode: (record: Json) => Refused<readonly EngineEvent[]>
  /** `[]` where the engine does not read stderr. */
  readonly decodeError: (line: string) => Refused<readonly EngineEvent[]>
  /** The paths of its session's log; `[]` where it has none. */
  readonly logFiles: (run: LoggedRun) => Refused<readonly string[]>
  readonly decodeLog: (record: Json, run: LoggedRun) => Refused<readonly EngineEvent[]>
  readonly classify: (end: EngineEnd, nowMs: number) => Failure
}

export const guarded = (engine: Engine): Guarded => {
  const fault = (member: string, why: string): Failure<'invalid_handler_response'> =>
    failure('invalid_handler_response', `The engine ${engine.name} is at fault: ${member} ${why}.`)

  // Plain, since it is asked for every record.
  const ask = <A>(member: string, codec: t.Decoder<unknown, A>, answer: () => unknown): Refused<A> => {
    try {
      const decoded = decode(codec, answer())
      if (E.isRight(decoded)) return decoded
      return E.left(fault(member, `answered wrongly: ${decoded.left.map(sayMismatch).join('; ')}`))
    } catch (thrown) {
      return E.left(fault(member, `threw: ${said(thrown)}`))
    }
  }

  return {
    command: task => ask('command', command, () => engine.command(task)),
    decode: record => ask('decode', events, () => engine.decode(viewOf(record))),
    decodeError: line => ask('decodeError', events, () => engine.decodeError?.(line) ?? []),
    logFiles: of => ask('log.files', paths, () => engine.log?.files(of) ?? []),
    decodeLog: (record, of) => ask('log.decode', events, () => engine.log?.decode(viewOf(record), of) ?? []),
    classify: (end, nowMs) =>
      E.toUnion(
        pipe(
          ask('classify', why, () => engine.classify(end)),
          E.map(told => causeOf({ name: engine.name, classify: () => told }, end, nowMs)),
        ),
      ),
  }
}

// Not every value can be made a text of: `Object.create(null)` throws once more.
const said = (thrown: unknown): string =>
  thrown instanceof Error ? String(thrown.message) : typeof thrown === 'string' ? thrown : 'something that is no Error'

type Fields = { readonly [key: string]: unknown }

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const isText = (value: unknown): value is string => typeof value === 'string'
const isAbsentOr = (is: (value: unknown) => boolean, value: unknown): boolean => value === undefined || is(value)
const isNumber = (value: unknown): value is number => typeof value === 'number'
const isFlag = (value: unknown): boolean => typeof value === 'boolean'
const isScope = (value: unknown): boolean => value === 'step' || value === 'turn' || value === 'session'

const text = leaf('a string', isText)
const argument = leaf('a string without NUL', (value): value is string => isText(value) && !value.includes('\0'))

const files = leaf(
  'texts by plain file names (letters, digits, ".", "_", "-")',
  (value): value is Readonly<Record<string, string>> =>
    isFields(value) &&
    Object.entries(value).every(([name, text]) => /^(?!\.+$)[\w.-]{1,100}$/.test(name) && isText(text)),
)

const paths = t.readonlyArray(
  leaf('an absolute path', (value): value is string => isText(value) && isAbsolute(value) && !value.includes('\0')),
)

const command: t.Decoder<unknown, Command> = t.intersection([
  t.type({ file: argument, args: t.readonlyArray(argument), stdin: text }),
  t.partial({ env: t.readonly(t.record(t.string, argument)), files }),
])

// Written out, and not as a union of codecs: it stands between every record of a CLI and us.
const isEvent = (value: unknown): value is EngineEvent => {
  if (!isFields(value)) return false
  switch (value['kind']) {
    case 'session':
      return isText(value['id'])
    case 'model':
      return isText(value['model'])
    case 'text':
      return isText(value['text']) && isAbsentOr(isFlag, value['delta']) && isAbsentOr(isText, value['message'])
    case 'tool':
      return isText(value['name'])
    case 'denied':
      return isText(value['what'])
    case 'usage':
      return (
        isScope(value['scope']) &&
        isFields(value['usage']) &&
        isAbsentOr(isText, value['id']) &&
        isAbsentOr(isText, value['model']) &&
        isAbsentOr(isFlag, value['cacheApart']) &&
        isAbsentOr(isFlag, value['reasoningApart'])
      )
    case 'asked':
      return true
    case 'cost':
      return isScope(value['scope']) && isAbsentOr(isText, value['id'])
    case 'retry':
      return (
        ['status', 'retryAfterMs'].every(name => isAbsentOr(isNumber, value[name])) &&
        isAbsentOr(isText, value['reason'])
      )
    case 'result':
      if (!isAbsentOr(isFlag, value['mayGoOn'])) return false
      return value['ok'] === true
        ? isText(value['text'])
        : value['ok'] === false &&
            isText(value['error']) &&
            isAbsentOr(isNumber, value['status']) &&
            isAbsentOr(isText, value['type'])
    default:
      return false
  }
}

const isEvents = (value: unknown): value is readonly EngineEvent[] => Array.isArray(value) && value.every(isEvent)

// The one that is wrong is named: its author sees all of them as right.
const events = new t.Type<readonly EngineEvent[], readonly EngineEvent[], unknown>(
  'a list of engine events',
  isEvents,
  (value, context) => {
    if (isEvents(value)) return t.success(value)
    if (!Array.isArray(value)) return t.failure(value, context)
    const wrong: unknown = value.find(event => !isEvent(event))
    const key = isFields(wrong)
      ? `an event of kind ${JSON.stringify(wrong['kind'])} with the members ${Object.keys(wrong).join(', ')}`
      : 'an event'
    return t.failure(wrong, [...context, { key, type: t.unknown }], 'as docs/engines.md lists it')
  },
  same => same,
)

const why = leaf(
  'a failure with a code of docs/protocol.md and a sentence',
  (value): value is Failure =>
    isFields(value) &&
    isText(value['code']) &&
    isErrorCode(value['code']) &&
    isText(value['sentence']) &&
    isAbsentOr(after => isNumber(after) && after >= 0, value['retryAfterMs']),
)
