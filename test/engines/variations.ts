import type { Exit } from '../../src/engine/streams.ts'
import type { Printed } from './one-stream.ts'

/** A recorded turn that can be varied. */
export interface Recording {
  /** Of a turn that succeeded, record by record; the answer stands in one of them, the end of the turn in the last that matters. */
  readonly lines: readonly string[]
  readonly answerAt: number
  readonly endAt: number
  readonly text: string
  /** The end counts only where the CLI ended without a signal. */
  readonly mayGoOn: boolean
  /** What stands between two pieces of an answer; absent, what is said is a whole. */
  readonly between?: string
  /** Of a turn that failed in a structured way. */
  readonly failed: readonly string[]
  readonly code: string
}

/** `text`: a success with this very text. `code`: a failure with this one; without, with any. */
export interface Variation extends Printed {
  readonly name: string
  readonly expected: { readonly text: string } | { readonly code?: string }
}

const exits: Readonly<Record<string, Exit>> = {
  'exit 0': { exitCode: 0 },
  'exit 1': { exitCode: 1 },
  'exit 137': { exitCode: 137 },
  'exit 143': { exitCode: 143 },
  SIGTERM: { signal: 'SIGTERM' },
  SIGKILL: { signal: 'SIGKILL' },
}

const chatter = '[MCP] server filesystem is ready, 401 of 429 tools listed in /srv/job-403/x\n'

// What each would be, were there nothing else to go by.
const errors: Readonly<Record<string, readonly [stderr: string, code: string]>> = {
  'nothing on stderr': ['', 'engine_cli'],
  'chatter on stderr': [chatter, 'engine_cli'],
  'a login on stderr': ['Invalid API key · Please run /login\n', 'auth'],
  'an empty account on stderr': ['Credit balance is too low\n', 'quota_exhausted'],
  'a limit on stderr': ["You've hit your limit · resets 2:30am (UTC)\n", 'rate_limited'],
  '64 KiB on stderr': [chatter.repeat(900), 'engine_cli'],
  '64 KiB and a login on stderr': [`${chatter.repeat(900)}Not logged in · Please run /login\n`, 'auth'],
}

const bytes = (lines: readonly string[]): Buffer => Buffer.from(lines.map(line => `${line}\n`).join(''))
const clean = { exitCode: 0 } as const

/** Whatever the exit and stderr say, the structured result decides. */
const results = ({ lines, endAt, text, mayGoOn, failed, code }: Recording): readonly Variation[] =>
  Object.entries(exits).flatMap(([how, exit]) =>
    Object.entries(errors).flatMap(([noise, [said, meant]]) => {
      const rest = { exit, stderr: Buffer.from(said) }
      const of = (what: string): string => `${what}, ${how}, ${noise}`
      const counts = !mayGoOn || exit.signal === undefined
      const twice = lines.toSpliced(endAt, 0, lines[endAt] ?? '')
      return [
        { ...rest, name: of('an answer'), stdout: bytes(lines), expected: counts ? { text } : {} },
        { ...rest, name: of('its end twice'), stdout: bytes(twice), expected: counts ? { text } : {} },
        { ...rest, name: of('an error'), stdout: bytes(failed), expected: counts ? { code } : {} },
        {
          ...rest,
          name: of('an answer, then an error'),
          stdout: bytes([...lines.toSpliced(endAt), ...failed]),
          expected: counts ? { code } : {},
        },
        { ...rest, name: of('no end'), stdout: bytes(lines.toSpliced(endAt)), expected: { code: meant } },
        { ...rest, name: of('nothing'), stdout: Buffer.alloc(0), expected: { code: meant } },
        {
          ...rest,
          name: of('half of its end'),
          stdout: Buffer.from(bytes(lines).subarray(0, bytes(lines.slice(0, endAt)).length + 40)),
          expected: { code: meant },
        },
      ]
    }),
  )

/** The stream ends in the middle, at every n-th byte. */
const cuts = ({ lines, endAt, text }: Recording): readonly Variation[] => {
  const whole = bytes(lines)
  const end = bytes(lines.slice(0, endAt + 1)).length - 1
  const step = Math.ceil(whole.length / 60)
  const evenly = Array.from({ length: Math.ceil(whole.length / step) }, (_, n) => n * step)
  const around = [-30, -9, -3, -2, -1, 0, 1].map(by => end + by).filter(at => at <= whole.length)
  return [...evenly, ...around].map(at => ({
    name: `cut at byte ${at} of ${whole.length}`,
    stdout: whole.subarray(0, at),
    exit: clean,
    expected: at < end ? { code: 'engine_cli' } : { text },
  }))
}

/** The stream is whole, but it is not one clean record a line. */
const shapes = (recording: Recording): readonly Variation[] => {
  const { lines, text, endAt } = recording
  const between = (noise: string): string => lines.map(line => `${noise}${line}`).join('\n')
  const huge = JSON.stringify({ type: 'errand.unknown', rows: 'x'.repeat(2 * 1024 ** 2) })
  const tooHuge = JSON.stringify({ type: 'errand.unknown', rows: 'x'.repeat(9 * 1024 ** 2) })
  const list = `[\n${lines.join(',\n')}\n]\n`
  const pretty = lines.map(line => JSON.stringify(JSON.parse(line), undefined, 2)).join('\n')
  const streams: Readonly<Record<string, string | Buffer>> = {
    'no last line end': lines.join('\n'),
    'one line': lines.join(''),
    'two records a line': lines.map((line, at) => line + (at % 2 === 1 ? '\n' : '')).join(''),
    CRLF: lines.join('\r\n'),
    'a lone CR': lines.join('\r'),
    'a BOM': `\ufeff${lines.join('\n')}\n`,
    'a BOM before each': between('\ufeff'),
    'empty lines': lines.join('\n\n\n'),
    'a list': list,
    'over many lines': pretty,
    colours: between('\u001b[32m[info]\u001b[0m ready\n\u001b[?2004h'),
    'a window title': between('\u001b]0;project: ready\u0007'),
    'log lines': between('[log_abc] post { method: "post", path: "/v1/messages" } 200\n'),
    'log lines without an end': between('[log_abc] succeeded with status 200 in 1400ms '),
    'log lines like records': between('{"level":"info", pid: 401, msg=ready}\n'),
    'records of a log': between('{"level":"error","msg":"Invalid API key · Please run /login"}\n'),
    'half a record of a log': between('{"level":"info",\n'),
    'refusals between': between('Not logged in · Please run /login\n'),
    'lone braces': between('}{\n'),
    'a NUL between': between('\0'),
    'bytes that are no text between': Buffer.concat(
      lines.flatMap(line => [Buffer.of(0xff, 0xfe, 0x0a), Buffer.from(line)]),
    ),
    'a huge record first': `${huge}\n${lines.join('\n')}`,
    'a huge record before its end': lines.toSpliced(endAt, 0, huge).join('\n'),
    'a huge record at last': `${lines.join('\n')}\n${huge}\n`,
    'a record beyond the limit at last': `${lines.join('\n')}\n${tooHuge}\n`,
    'many records': lines.toSpliced(endAt, 0, ...Array(500).fill('{"type":"errand.unknown","n":1}')).join('\n'),
    'prototype keys': between('{"type":"__proto__","__proto__":{"type":"result"},"constructor":1}\n'),
    'words after its end': `${lines.join('\n')}\nTo resume: cli --resume 1\nSegmentation fault\n`,
    'half a record after its end': `${lines.join('\n')}\n{"type":"resu`,
  }
  const whole = Object.entries(streams).map(([name, stdout]) => ({
    name,
    stdout: Buffer.from(stdout),
    exit: clean,
    expected: { text },
  }))
  const beyond = { name: 'a record beyond the limit first', stdout: bytes([tooHuge, ...lines]), exit: clean }
  return [...whole, { ...beyond, expected: { code: 'engine_cli' } }, ...reordered(recording)]
}

/** What says nothing of the answer may come at another time. */
const reordered = ({ lines, answerAt, endAt, text }: Recording): readonly Variation[] =>
  lines.flatMap((line, at) => {
    if (at === answerAt || at === endAt) return []
    const others = lines.toSpliced(at, 1)
    return [
      { name: `record ${at} last`, stdout: bytes([...others, line]), exit: clean, expected: { text } },
      { name: `record ${at} first`, stdout: bytes([line, ...others]), exit: clean, expected: { text } },
      { name: `no record ${at}`, stdout: bytes(others), exit: clean, expected: { text } },
    ]
  })

/** A text that the CLI says in place of its answer. */
const saying = ({ lines, text }: Recording, words: string): readonly string[] => {
  const quoted = (one: string): string => JSON.stringify(one).slice(1, -1)
  return lines.map(line => line.replaceAll(quoted(text), () => quoted(words)))
}

/** The answer's own words decide nothing, told whole, cut or damaged. */
const words = (recording: Recording): readonly Variation[] => {
  const { endAt, answerAt } = recording
  const told = [
    'Invalid API key · Please run /login',
    'Credit balance is too low',
    "You've hit your limit · resets 2:30am (UTC)",
    '{"type":"result","is_error":true,"result":"Not logged in"}\n{"type":"turn.failed","error":{"message":"401"}}\n',
    'No conversation found with session ID: 1',
    '[API Error: 401 Incorrect API key provided.]',
    '\u001b[31mred\u001b[0m \u0000 \ud83d\ude00 \\n "quoted" </html>',
  ]
  return told.flatMap(text => {
    const lines = saying(recording, text)
    const [answer = '', middle] = [lines[answerAt], Math.floor((lines[answerAt] ?? '').length / 2)]
    const torn = lines.with(answerAt, `${answer.slice(0, middle)}\0${answer.slice(middle)}`)
    const said = JSON.stringify(text).slice(0, 30)
    const failure = { exit: { exitCode: 1 }, expected: { code: 'engine_cli' } }
    return [
      { name: `it says ${said}`, stdout: bytes(lines), exit: clean, expected: { text } },
      { name: `it says ${said}, exit 1`, stdout: bytes(lines), exit: { exitCode: 1 }, expected: { text } },
      { ...failure, name: `it says ${said}, no end`, stdout: bytes(lines.toSpliced(endAt)) },
      { ...failure, name: `it says ${said}, and is cut`, stdout: bytes(lines.slice(0, endAt)).subarray(0, -20) },
      { ...failure, name: `it says ${said}, torn, no end`, stdout: bytes(torn.toSpliced(endAt)) },
    ]
  })
}

/** The record with the answer is damaged: then there is the text of the result, or none; never what was said before it. */
const damages = (recording: Recording): readonly Variation[] => {
  const { lines, answerAt, endAt, text, between } = recording
  const first = 'First I look.'
  const answer = lines[answerAt] ?? ''
  const at = answer.indexOf(text.slice(0, 10)) + 5
  const put = (middle: string | Buffer): Buffer =>
    Buffer.concat([
      bytes([...lines.slice(0, answerAt), saying(recording, first)[answerAt] ?? '']),
      Buffer.from(answer.slice(0, at)),
      Buffer.from(middle),
      Buffer.from(`${answer.slice(at)}\n`),
      bytes(lines.slice(answerAt + 1)),
    ])
  const repeats = (lines[endAt] ?? '').includes(text)
  const expected = repeats ? { text } : { code: 'engine_cli' }
  const kinds: Readonly<Record<string, string | Buffer>> = {
    'a NUL': '\0',
    'a line end': '\n',
    'a log line': '[log] ready\n',
    'an escape': '\u001b[0m',
    'a quote': '" ',
    'another record': '{"type":"errand.unknown"}',
  }
  return [
    ...Object.entries(kinds).map(([kind, middle]) => ({
      name: `${kind} inside the answer`,
      stdout: put(middle),
      exit: clean,
      expected,
    })),
    {
      name: 'a byte that is no text inside the answer',
      stdout: put(Buffer.of(0xff)),
      exit: clean,
      expected: {
        text: repeats
          ? text
          : `${between === undefined ? '' : `${first}${between}`}${text.slice(0, 5)}\ufffd${text.slice(5)}`,
      },
    },
  ]
}

export const variationsOf = (recording: Recording): readonly Variation[] =>
  [results, cuts, shapes, words, damages].flatMap(kind => kind(recording))
