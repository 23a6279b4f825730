import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { Failure } from '../src/protocol/failure.ts'
import { type Cli, type CliName, latestCli, packages, pinnedCli } from './clis.ts'
import type { Expectations } from './expectations.ts'
import { explained, unlike } from './explained.ts'
import { patient, scenarioNames, scenarios } from './scenarios.ts'
import { type Asked, type Bench, openBench, type Ran } from './turn.ts'

// `pinned`: the versions that the engines were checked against; `short`: those, but for where a CLI waits by itself for half a
// minute or more; else the newest, and everything.
const kind = process.env['ERRAND_DRIFT']
const isPinned = kind === 'pinned' || kind === 'short'
const played = kind === 'short' ? scenarioNames.filter(name => !patient.has(name)) : scenarioNames

export interface Suite {
  /** One turn in a home of its own, for what is peculiar to a CLI. */
  readonly play: (
    t: ExecutionContext,
    asked: Asked,
  ) => Promise<Ran & { readonly answer?: string; readonly failed?: Failure }>
}

/** Every scenario, with the real CLI, each in a home of its own; what is expected of it stands in a table of its own. */
export const liveSuite = (name: CliName, expectations: Expectations): Suite => {
  let cli: Cli | undefined
  // What a plain answer takes here and now, on top of every limit: a busy machine is no fault of a CLI.
  let plainMs = 0
  const open = async (): Promise<Bench> => {
    if (cli === undefined) throw new Error(`${name} could not be installed: see the first test of this file.`)
    return openBench(name, [cli.path])
  }

  test.serial('it can be installed, and started', async t => {
    cli = await (isPinned ? pinnedCli(name) : latestCli(name))
    const { checkedAgainst } = (await using(open, async bench => bench)).engine
    t.is<string | undefined, string>(checkedAgainst, packages[name][1], 'test-engines/clis.ts says another version')
    t.log(`${name} ${cli.version}, checked against ${checkedAgainst}`)
    if (isPinned) t.is<string, string>(cli.version, packages[name][1])
  })

  for (const scenario of played) {
    test.serial(scenario, async t => {
      const { play } = scenarios[scenario]
      const expected = expectations[scenario]
      await using(open, async bench => {
        const turns = await play(bench, expected)
        for (const ran of turns) t.log(explained(ran))
        plainMs ||= turns[0]?.ms ?? 0
        const limited = { ...expected, withinMs: expected.withinMs + plainMs }
        const wrong = await unlike(bench, cli?.version ?? '', scenario, limited, turns)
        if (wrong.length > 0) t.fail(wrong.join('\n'))
        else t.pass()
      })
    })
  }
  return {
    play: async (t, asked) => {
      const ran = await using(open, bench => bench.turn(asked))
      t.log(explained(ran))
      const { outcome } = ran.report
      return { ...ran, ...(E.isRight(outcome) ? { answer: outcome.right.text } : { failed: outcome.left }) }
    },
  }
}

const using = async <A>(open: () => Promise<Bench>, use: (bench: Bench) => Promise<A>): Promise<A> => {
  const bench = await open()
  try {
    return await use(bench)
  } finally {
    await bench.close()
  }
}
