#!/usr/bin/env node
// A reviewer: has the worker survey what the request is about, from inside its own turn, then judges what was found. Where
// the request brings a survey along, that one is judged; whoever makes it the judge gets a verdict as JSON.
// The request comes on stdin, the answer goes to stdout, what it cost goes to the file that ERRAND_REPORT names.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

const usdPerReview = 0.003
const usdPerKilobyte = 0.0002
const shownPerKind = 5
const tests = /(^|\/)(test|tests|__tests__|spec|bench|examples|scripts)\/|\.(test|spec)\.[cm]?[jt]sx?$/
const prose = /\.(md|txt|rst|html)$/

/** What each kind of finding means; the order is the order of the review. */
const verdicts = {
  secret: ['must fix', 'looks like a secret: take it out, and replace the key', () => true],
  conflict: ['must fix', 'a merge conflict was left', () => true],
  debugger: ['must fix', 'a debugger statement was left', name => !prose.test(name)],
  only: ['must fix', 'one test keeps all the others from running', name => tests.test(name)],
  log: ['should fix', 'prints to the console: left from debugging?', name => !tests.test(name) && !prose.test(name)],
  swallowed: ['should fix', 'an error is swallowed', () => true],
  silenced: ['should fix', 'a checker is silenced: is it still needed?', () => true],
  long: ['should fix', 'long: could it be two files?', name => !prose.test(name)],
  todo: ['could fix', 'an open end', () => true],
  untested: ['could fix', 'no test has its name', name => !tests.test(name)],
  blanks: ['could fix', 'blanks at the end of the line', name => !/\.(md|diff|patch)$/.test(name)],
}

const main = () => {
  const request = fs.readFileSync(0, 'utf8')
  const answer = /^Surveyed \d+ files/m.test(request) ? request : ask('worker', request)
  report(usdPerReview + (usdPerKilobyte * Buffer.byteLength(answer)) / 1024)
  console.log(/^You are the judge\b/.test(request) ? verdict(answer) : review(answer))
}

/** One errand: who asks and how deep this is, `errand` knows from the turn that it runs in. */
const ask = (instance, prompt) => {
  const asked = spawnSync('errand', ['talk', instance], {
    input: prompt,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (asked.status === 0) return asked.stdout
  const why =
    asked.error?.code === 'ENOENT' ? '`errand` is not on PATH; ask me with `errand talk`.' : asked.stderr.trim()
  console.error(`No survey from ${instance}: ${why || asked.error?.message || 'no answer'}`)
  process.exit(1)
}

const findingsIn = answer =>
  answer.split('\n').flatMap(line => {
    const [, name, number, kind, text] = /^(.+?):(\d+): ([a-z]+): ?(.*)$/.exec(line) ?? []
    return name !== undefined && verdicts[kind]?.[2](name) ? [{ name, number, kind, text }] : []
  })

/** What a judge is asked for. */
const verdict = answer => {
  const findings = findingsIn(answer)
  const left = findings.filter(({ kind }) => verdicts[kind][0] === 'must fix')
  const places = left.map(({ name, number, kind }) => `${name}:${number} (${kind})`).join(', ')
  return JSON.stringify(
    left.length > 0
      ? { verdict: 'fail', reason: `Must be fixed first: ${places}.` }
      : { verdict: 'pass', reason: `Nothing that must be fixed is left among ${findings.length} findings.` },
  )
}

const review = answer => {
  const findings = findingsIn(answer)
  const facts = answer
    .split('\n')
    .filter(line => /^(Surveyed|Longest)/.test(line))
    .map(line => `  ${line}`)
  const sections = Object.keys(verdicts).flatMap(kind =>
    section(
      kind,
      findings.filter(finding => finding.kind === kind),
    ),
  )
  if (answer.startsWith('Surveyed 0 files')) return 'Verdict: there is nothing to review here.'
  return [verdictOn(findings), '', ...sections, 'What was read (by worker):', ...facts].join('\n')
}

const verdictOn = findings => {
  const count = weight => findings.filter(({ kind }) => verdicts[kind][0] === weight).length
  const [must, should, could] = ['must fix', 'should fix', 'could fix'].map(count)
  if (must + should + could === 0) return 'Verdict: nothing stands out.'
  const what = must > 0 ? 'not ready' : should > 0 ? 'ready after a look' : 'fine; small things only'
  return `Verdict: ${what} (${must} must fix, ${should} should fix, ${could} could fix).`
}

const section = (kind, findings) => {
  if (findings.length === 0) return []
  const [weight, meaning] = verdicts[kind]
  const shown = findings
    .slice(0, shownPerKind)
    .map(({ name, number, text }) => `  ${name}:${number}  ${text}`.trimEnd())
  const rest = findings.length - shown.length
  return [`${weight}: ${meaning}`, ...shown, ...(rest > 0 ? [`  … and ${rest} more`] : []), '']
}

const report = usd => {
  const file = process.env.ERRAND_REPORT
  if (file) fs.appendFileSync(file, `${JSON.stringify({ usd: Number(usd.toFixed(4)), model: 'judge' })}\n`)
}

main()
