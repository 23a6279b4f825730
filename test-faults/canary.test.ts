import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import test from 'ava'
import { errand, placeOf, shell } from '../test/cli/errand.ts'
import { until } from './measure.ts'
import { talkTo, up } from './up.ts'

const canaries = {
  secret: 'canary-secret-5f2c9d1e7b3a',
  environment: 'canary-environment-8d1e4c6a2f',
  prompt: 'canary-prompt-3b7a9e2d5c',
} as const

const filesUnder = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => path.join(folder, file))
    .filter(file => statSync(file, { throwIfNoEntry: false })?.isFile())

/** The command lines of all processes, but for our own. */
const commandLines = (): string =>
  readdirSync('/proc')
    .filter(pid => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .map(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      } catch {
        return ''
      }
    })
    .join('\n')

test('a canary in the secret, in the environment and in a prompt sings nowhere but where it was sent', async x => {
  const told = 'cat >/dev/null; env >&2; echo "$ANTHROPIC_API_KEY" >&2;'
  const place = placeOf(x, {
    fails: shell(`${told} exit 3`),
    named: shell(`${told} exit 3`, { env: ['ANTHROPIC_API_KEY', 'CANARY_TOKEN'] }),
    slow: shell('cat >/dev/null; touch ready; while [ ! -e go ]; do sleep 0.05; done; echo done', {
      env: ['ANTHROPIC_API_KEY'],
    }),
    empty: shell('cat', { budget: { usd: 0 } }),
  })
  const environment = {
    ...place.environment,
    ERRAND_SECRET: canaries.secret,
    ANTHROPIC_API_KEY: canaries.environment,
    CANARY_TOKEN: canaries.environment,
  }
  const bus = {
    ...(await up(x, { ...place, environment }, ['fails', 'named', 'slow', 'empty'])),
    secret: canaries.secret,
  }
  const prompt = `say ${canaries.prompt}`

  const slow = talkTo(bus, 'slow', prompt)
  await until('it runs', () => filesUnder(place.folder).some(file => file.endsWith('ready')))
  const lines = commandLines()
  for (const canary of Object.values(canaries)) x.false(lines.includes(canary), `${canary} is in a command line`)
  place.write('go', '')

  const answers = [(await slow).text]
  for (const name of ['fails', 'named', 'empty']) answers.push((await talkTo(bus, name, prompt)).text)
  answers.push((await talkTo({ ...bus, secret: `${canaries.secret}x` }, 'fails', prompt)).text)
  for (const answer of answers) for (const canary of Object.values(canaries)) x.false(answer.includes(canary), answer)

  const asked = await errand({ ...place, environment }, ['talk', 'fails', '--verbose'], { input: prompt })
  const log = await errand({ ...place, environment }, ['log'])
  for (const canary of Object.values(canaries))
    x.false((asked.stdout + asked.stderr + log.stdout + log.stderr).includes(canary))

  await bus.kill('SIGTERM')
  for (const canary of Object.values(canaries)) x.false(bus.said().includes(canary))
  const files = filesUnder(place.stateHome)
  x.true(files.length >= 3)
  for (const file of files) {
    const text = readFileSync(file, 'latin1')
    for (const [what, canary] of Object.entries(canaries)) x.false(text.includes(canary), `the ${what} is in ${file}`)
    if (!/\/bin\/[^/]+$/.test(file)) x.is(statSync(file).mode & 0o077, 0, file)
  }
  for (const file of filesUnder(place.folder).filter(file => !file.endsWith('budgets.json'))) {
    for (const canary of Object.values(canaries)) x.false(readFileSync(file, 'latin1').includes(canary), file)
  }
})
