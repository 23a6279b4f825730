import test from 'ava'
import { readRecords } from '../../src/engine/records.ts'
import type { Json } from '../../src/protocol/decode.ts'

interface Heard {
  readonly records: readonly Json[]
  readonly noise: string
  readonly tooLong: number
}

const read = async (chunks: Iterable<Uint8Array>, limitBytes = 8 * 1024 * 1024): Promise<Heard> => {
  const records: Json[] = []
  let tooLong = 0
  const stream = readRecords(limitBytes, {
    record: record => void records.push(record),
    tooLong: () => {
      tooLong++
    },
    isLate: () => false,
    busy: () => undefined,
  })
  for (const chunk of chunks) stream.push(chunk)
  await stream.end()
  return { records, noise: stream.noise().trim(), tooLong }
}

const whole = (text: string, limitBytes?: number): Promise<Heard> => read([Buffer.from(text)], limitBytes)

const byteByByte = (text: string): readonly Uint8Array[] => [...Buffer.from(text)].map(byte => Buffer.of(byte))

// A small generator of its own, so that a failure can be run again.
const randomFrom = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const cutAtRandom = (bytes: Buffer, random: (below: number) => number): readonly Uint8Array[] => {
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random(random(2) === 0 ? 4 : 200)
    // Copies, as a pipe gives them: whoever keeps a part of one must not see the next.
    chunks.push(Uint8Array.from(bytes.subarray(at, at + size)))
    at += size
  }
  return chunks
}

const rows: readonly [title: string, text: string, records: readonly Json[], noise?: string][] = [
  ['a line each', '{"a":1}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ['several on a line', '{"a":1}{"b":2} {"c":3}\n', [{ a: 1 }, { b: 2 }, { c: 3 }]],
  ['one over many lines', '{\n  "a": [\n    1,\n    {}\n  ]\n}\n', [{ a: [1, {}] }]],
  ['over many lines, without indentation', '{\n"a":\n{\n"b": true\n}\n}\n', [{ a: { b: true } }]],
  ['a list on one line', '[{"a":1},{"b":[{"c":2}]}]\n', [{ a: 1 }, { b: [{ c: 2 }] }]],
  ['a list over lines', '[\n{"a":1},\n{"b":2}\n]\n', [{ a: 1 }, { b: 2 }]],
  ['CRLF', '{"a":1}\r\n{"b":2}\r\n', [{ a: 1 }, { b: 2 }]],
  ['a byte order mark', '\ufeff{"a":1}\n', [{ a: 1 }]],
  ['no last newline', '{"a":1}\n{"b":2}', [{ a: 1 }, { b: 2 }]],
  ['terminal escapes', '\u001b[?2004h{"a":1}\n\u001b]0;title\u0007\u001b[0m{"b":2}\u001b[0m\n', [{ a: 1 }, { b: 2 }]],
  ['a log before a record on its line', '[log_1] ok {"a":1}\n', [{ a: 1 }], '[log_1] ok'],
  ['a log behind a record on its line', '{"a":1} done\n{"b":2}\n', [{ a: 1 }, { b: 2 }], 'done'],
  ['a log that looks like an object', '{ method: "post" }\n{"a":1}\n', [{ a: 1 }], '{ method: "post" }'],
  ['an open brace in a log', 'loading {\n{"a":1}\n{"b":2}\n', [{ a: 1 }, { b: 2 }], 'loading {'],
  ['an open list in a log', 'files: [ {"a":1}\n{"b":2}\n', [{ a: 1 }, { b: 2 }], 'files: ['],
  ['a record cut in a string', '{"a":"cut\n{"b":1}\n', [{ b: 1 }], '{"a":"cut'],
  ['a record cut after a colon', '{"a":\n{"b":1}\n{"c":2}\n', [{ b: 1 }, { c: 2 }], '{"a":'],
  ['a record cut after a colon, at the end', '{"a":\n{"b":1}\n', [{ b: 1 }]],
  ['a record cut in a list', '{"a":[\n{"b":1}\n{"c":2}\n', [{ b: 1 }, { c: 2 }], '{"a":['],
  ['half a record at the end', '{"a":1}\n{"b":', [{ a: 1 }]],
  ['inside a cut record nothing is taken for one', '{"a":{"type":"result"},\n{"b":1}\n', [{ b: 1 }]],
  ['braces and quotes in strings', '{"a":"}{\\"[\\\\"}\n', [{ a: '}{"[\\' }]],
  ['escapes and surrogates', '{"a":"\\u00e9\\ud83d\\ude00é😀\\n"}x\n', [{ a: 'é😀é😀\n' }], 'x'],
  [
    'numbers that are none',
    '{"a":01}\n{"a":.5}\n{"a":1e999}\n',
    [{ a: Number.POSITIVE_INFINITY }],
    '{"a":01}\n{"a":.5}',
  ],
  ['bare words that some programs print', '{"a":NaN,"b":-Infinity,"c":1}\n', [{ a: '', b: '', c: 1 }]],
  ['only text', 'Invalid API key · Please run /login\n', [], 'Invalid API key · Please run /login'],
  ['nothing', '', []],
  ['a key that means something to JavaScript', '{"__proto__":{"x":1}}\n', [JSON.parse('{"__proto__":{"x":1}}')]],
]

for (const [title, text, records, noise = ''] of rows) {
  test(`records: ${title}`, async t => {
    for (const heard of [await whole(text), await read(byteByByte(text))]) {
      t.deepEqual(heard.records, records)
      t.is(heard.noise, noise)
      t.is(heard.tooLong, 0)
    }
  })
}

test('a record that is damaged is told in its place, and its words are no noise', async t => {
  const heard: string[] = []
  const long = `{"long":"${'x'.repeat(2_000_000)}"}`
  const stream = readRecords(8_000_000, {
    record: record => void heard.push(Object.keys(Object(record)).join()),
    torn: () => void heard.push('torn'),
    tooLong: () => undefined,
    isLate: () => false,
    busy: () => undefined,
  })
  const text = `first\n${long}\n{"type":"text","text":"Not log[log] ready\nged in"}\nlost\n{"after":1}\nlast\n{"type":"te`
  for (const bytes of cutEvery(Buffer.from(text), 100_000)) stream.push(bytes)
  await stream.end()
  t.deepEqual(heard, ['long', 'torn', 'after'])
  t.is(stream.noise().trim(), 'first\nlast')
})

test.serial('however a stream is cut, its records are the same', async t => {
  const strange = rows.map(([, text]) => (text.endsWith('\n') || text === '' ? text : `${text}\n`)).join('')
  const bytes = Buffer.from(strange)
  const expected = await read([bytes])
  t.true(expected.records.length > 30)
  for (let seed = 1; seed <= 200; seed++) {
    const heard = await read(cutAtRandom(bytes, randomFrom(seed)))
    t.deepEqual(heard.records, expected.records, `seed ${seed}`)
    t.is(heard.noise, expected.noise, `seed ${seed}`)
  }
})

test.serial('whatever JSON can say survives, pretty or plain, between any noise', async t => {
  const random = randomFrom(7)
  const pick = <A>(all: readonly A[], otherwise: A): A => all[random(all.length)] ?? otherwise
  const value = (depth: number): Json => {
    if (depth === 0 || random(3) === 0)
      return pick<Json>([null, true, 0, -1.5e-7, '', 'ü\n"\\{[', '\u2028\u0000', 1e21], null)
    if (random(2) === 0) return Array.from({ length: random(4) }, () => value(depth - 1))
    return Object.fromEntries(Array.from({ length: random(4) }, (_, at) => [`k${at}"`, value(depth - 1)]))
  }
  const records = Array.from({ length: 300 }, (_, at) => ({ at, value: value(4) }))
  const noises = ['', '\n', '\r\n', ' ', '] ', ', ', 'log: ', 'why? "quoted ', "it's {", '\u001b[0m', '[2026] {x} ']
  const text = records.map(record => JSON.stringify(record, null, random(3)) + pick(noises, '')).join('')
  for (let seed = 1; seed <= 20; seed++) {
    t.deepEqual((await read(cutAtRandom(Buffer.from(text), randomFrom(seed)))).records, records, `seed ${seed}`)
  }
})

test('one record may be as long as the limit and no longer; what follows is not read', async t => {
  const record = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
  t.is((await whole(`${record(1000)}\n`, 1000)).records.length, 1)
  t.deepEqual(await whole(`${record(1001)}\n{"b":1}\n`, 1000), { records: [], noise: '', tooLong: 1 })
  t.is((await whole(`${record(900)}\n`.repeat(50), 1000)).records.length, 50)
})

test('a limit beyond all measure is one too', async t => {
  t.deepEqual((await whole('{"a":1', Number.MAX_SAFE_INTEGER)).records, [])
  t.is((await whole(`{"a":"${'x'.repeat(3_000_000)}"}`, Number.MAX_SAFE_INTEGER)).records.length, 1)
})

test('text that is no record has no limit, and its end is kept', async t => {
  const { noise, records, tooLong } = await whole(
    `${'chatter without end '.repeat(100_000)}\nlast words\n{"a":1}`,
    1000,
  )
  t.deepEqual(records, [{ a: 1 }])
  t.is(tooLong, 0)
  t.true(noise.endsWith('last words'))
  t.true(Buffer.byteLength(noise) <= 16 * 1024)
})

test.serial('long records are parsed elsewhere, and the order is kept', async t => {
  const long = (name: string) => ({ name, text: 'ä'.repeat(1_500_000), list: [1, { __proto__: null, deep: [[]] }] })
  const many = {
    name: 'many',
    rows: Array.from({ length: 60_000 }, (_, at) => ({ at, text: `row ${at}`, none: null })),
  }
  const records = [{ a: 1 }, long('one'), { b: 2 }, long('two'), many, { c: 3 }]
  const text = records.map(record => `${JSON.stringify(record)}\n`).join('')
  const heard = await read(cutEvery(Buffer.from(text), 65_536))
  t.deepEqual(heard.records, JSON.parse(JSON.stringify(records)))
})

// The processor time of this thread, so that a busy machine changes nothing.
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

test.serial('the loop goes on while a long record is parsed', async t => {
  const row = '{"at":1,"text":"some words","none":null},'
  const chunks = cutEvery(Buffer.from(`{"rows":[${row.repeat(400_000)}{}]}`), 65_536)
  let longestMs = 0
  let last = cpuMs()
  const beat = (): void => {
    longestMs = Math.max(longestMs, cpuMs() - last)
    last = cpuMs()
  }
  const records: Json[] = []
  const stream = readRecords(64 * 1024 * 1024, {
    record: record => void records.push(record),
    tooLong: () => undefined,
    isLate: () => false,
    busy: () => undefined,
  })
  const beats = setInterval(beat, 1)
  for (const chunk of chunks) {
    stream.push(chunk)
    await new Promise(resolve => setImmediate(resolve))
    beat()
  }
  await stream.end()
  clearInterval(beats)
  beat()
  t.is(records.length, 1)
  t.true(longestMs < 1000, `it stood still for ${Math.round(longestMs)} ms`)
})

test.serial('what nobody would print takes no more than its share of time', async t => {
  const size = 2_000_000
  const hostile: readonly [string, string][] = [
    ['open braces', '{'.repeat(size)],
    ['open braces, a line each', '{\n'.repeat(size / 2)],
    ['keys that open, a line each', '{"a":\n'.repeat(size / 6)],
    ['open lists', '['.repeat(size)],
    ['empty lines', '\n'.repeat(size)],
    ['lines that look like records', '{"x}\n'.repeat(size / 5)],
    ['quotes', '{"'.repeat(size / 2)],
    ['backslashes', `{"a":"${'\\\\'.repeat(size / 2)}`],
    ['records inside a broken one', `{"a":[${'\n{"b":1},'.repeat(size / 9)}`],
  ]
  for (const [title, text] of hostile) {
    const begunMs = cpuMs()
    await read(cutEvery(Buffer.from(text), 65_536), 64 * 1024 * 1024)
    const ms = cpuMs() - begunMs
    t.true(ms < 5000, `${title}: ${Math.round(ms)} ms`)
  }
})

const cutEvery = (bytes: Buffer, size: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    Uint8Array.from(bytes.subarray(at * size, (at + 1) * size)),
  )
