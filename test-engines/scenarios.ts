import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { failure } from '../src/protocol/failure.ts'
import type { Expected } from './expectations.ts'
import type { Mode } from './model.ts'
import { closedUrl } from './place.ts'
import { unknownSessions } from './setups.ts'
import type { Asked, Bench, Ran } from './turn.ts'

/** Something that happens to a CLI. */
export interface Scenario {
  readonly play: (bench: Bench, expected: Expected) => Promise<readonly Played[]>
}

/** A turn that was run, and what of it is to be seen outside of its report. */
export interface Played extends Ran {
  /** What the answer has to hold. */
  readonly mustSay?: RegExp
  /** Whether the file that the model wanted is there. */
  readonly made?: boolean
  /** Whether the model had begun an answer, where that is what was to be cut. */
  readonly begun?: boolean
  /** The end of it was ours: it must come after so long. */
  readonly notBeforeMs?: number
}

const simple = (asked: Asked, mustSay?: RegExp): Scenario => ({
  play: async bench => [{ ...(await bench.turn(asked)), ...(mustSay === undefined ? {} : { mustSay }) }],
})

const refused = (mode: Mode): Scenario => simple({ mode })

const lines = 'a line of a long prompt\n'.repeat(9000)
const writing = 'echo written > made.txt'

const writes = (access: 'read' | 'write' | 'full', mode: 'tool' | 'write'): Scenario => ({
  play: async bench => {
    const ran = await bench.turn({ mode, settings: { access }, command: writing })
    return [{ ...ran, made: existsSync(join(bench.place.cwd, 'made.txt')) }]
  },
})

const badSession = (session: string | undefined): Scenario => ({
  play: async bench => [await bench.turn({ mode: 'ok', resume: { session: session ?? unknownSessions[bench.name] } })],
})

const cutAfter = async (bench: Bench, timeoutMs: number): Promise<Played> => {
  const ran = await bench.turn({ mode: 'stalls', settings: { timeoutMs } })
  return { ...ran, notBeforeMs: timeoutMs, begun: bench.model.hasBegun() }
}

export const scenarios = {
  'an answer': simple({ mode: 'ok' }, /^model=\S+ marks=ALPHA system=none /),
  'a prompt of 200 KB': simple(
    { mode: 'ok', prompt: `<<FIRST>> ${lines} <<LAST>>` },
    /marks=FIRST,LAST .*chars=2\d{5}$/,
  ),
  'a prompt that looks like a flag': simple({ mode: 'ok', prompt: '--help <<DASH>>' }, /marks=DASH /),
  'a prompt that looks like a command': simple({ mode: 'ok', prompt: '/help <<SLASH>>' }, /marks=SLASH /),
  instructions: simple({ mode: 'ok', settings: { instructions: '-be "brief" instructed-short' } }, /system=short /),
  'long instructions': simple(
    { mode: 'ok', settings: { instructions: `instructed-long ${'€'.repeat(60_000)}` } },
    /system=long /,
  ),
  'not logged in': simple({ mode: 'refuses', loggedIn: false }),
  'a refused key': refused('refuses'),
  'a forbidden account': refused('forbids'),
  'too many requests': refused('limits'),
  'too many requests, and when to come back': refused('limits-for-a-while'),
  'an exhausted quota': refused('quota'),
  'a failing server': refused('fails'),
  'a server out of service': refused('unavailable'),
  'an overloaded model': refused('overloaded'),
  'nobody listens': { play: async bench => [await bench.turn({ mode: 'ok', url: await closedUrl() })] },
  'an unknown model': refused('no-model'),
  'a session that is not there': badSession(undefined),
  'a session that is none': badSession('no-such-session'),
  'a session goes on': {
    play: async bench => {
      const first = await bench.turn({ mode: 'ok' })
      const { session = '', sessionTotal: { microUsd, tokens } = {} } = first.report
      const resume = {
        session,
        ...(microUsd === undefined ? {} : { totalMicroUsd: microUsd }),
        ...(tokens === undefined ? {} : { totalTokens: tokens }),
      }
      const second = await bench.turn({ mode: 'ok', prompt: 'And again <<BETA>>', resume })
      return [first, { ...second, mustSay: /marks=ALPHA,BETA / }]
    },
  },
  'cancelled in mid-answer': {
    play: async bench => [
      await bench.turn({
        mode: 'stalls',
        meanwhile: ({ begun, cancel }) =>
          void begun.then(() => cancel.abort(failure('cancelled', 'The caller hung up.'))),
      }),
    ],
  },
  'time is up in mid-answer': {
    // A slow machine may not get as far as an answer in the first.
    play: async bench => {
      const soon = await cutAfter(bench, 6000)
      return [bench.model.hasBegun() ? soon : await cutAfter(bench, 45_000)]
    },
  },
  'the hold is crossed in mid-turn': {
    play: async (bench, { allowance = { microUsd: 500_000 } }) => [
      await bench.turn({ mode: 'dear', allowance, settings: { access: 'full' } }),
    ],
  },
  'read: its file tool': writes('read', 'write'),
  'read: its shell': writes('read', 'tool'),
  'write: its file tool': writes('write', 'write'),
  'full: its shell': writes('full', 'tool'),
  'full: its file tool': writes('full', 'write'),
  'the file system refuses': {
    play: async bench => [
      await bench.turn({ mode: 'write', settings: { access: 'full' }, writesTo: await unwritable(bench) }),
    ],
  },
} as const satisfies Readonly<Record<string, Scenario>>

export type ScenarioName = keyof typeof scenarios

export const scenarioNames = Object.keys(scenarios).filter((name): name is ScenarioName =>
  Object.hasOwn(scenarios, name),
)

/** Those in which some CLIs try again for a long time. */
export const patient: ReadonlySet<ScenarioName> = new Set([
  'too many requests, and when to come back',
  'a failing server',
  'a server out of service',
  'nobody listens',
])

// Root may write wherever modes forbid it, but not there.
const unwritable = async ({ place }: Bench): Promise<string> => {
  if (process.getuid?.() === 0) return '/sys/made.txt'
  const folder = join(place.cwd, 'locked')
  await mkdir(folder, { mode: 0o500 })
  return join(folder, 'made.txt')
}
