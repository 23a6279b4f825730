#!/usr/bin/env node
// A surveyor: reads a diff, or the files and folders that a request names, and says what a reviewer should look at.
// The request comes on stdin, the answer goes to stdout, what it cost goes to the file that ERRAND_REPORT names.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const usdPerSurvey = 0.002
const usdPerKilobyte = 0.00001
const fileLimitBytes = 512 * 1024
const manyLines = 300
const binary = /\.(png|jpe?g|gif|ico|pdf|zip|gz|tgz|woff2?|wasm|node|db|sqlite)$/i
const code = /\.([cm]?[jt]sx?|py|rb|go|rs|java|kt|php|cs|swift)$/
const tests = /(^|\/)(tests?|__tests__|spec)\/|[._-](test|spec)\.|(^|\/)test_/
const generated = /(^|\/)(node_modules|dist|coverage|\.git)\/|(^|\/)(package-lock\.json|yarn\.lock|pnpm-lock\.yaml)$/

const marks = [
  ['secret', /AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----|\bgh[po]_[A-Za-z0-9]{36}|\bsk-[A-Za-z0-9_-]{24,}/],
  ['secret', /\b(password|secret|api_?key|token)\b["']?\s*[:=]\s*["'][^"'\s${}]{12,}["']/i],
  ['conflict', /^(<{7} |>{7} )/],
  ['debugger', /^\s*debugger\s*;?\s*$/],
  ['only', /\b(test|it|describe)\.only\(/],
  ['log', /\bconsole\.(log|debug)\(/],
  ['swallowed', /\bcatch\s*(\([^)]*\))?\s*\{\s*\}|^\s*except:\s*(pass)?$/],
  ['silenced', /(?:\/\/|#|\/\*)\s*(@ts-ignore|@ts-nocheck|eslint-disable|noqa)\b/],
  ['todo', /(?:\/\/|#|\/\*|<!--)\s*(TODO|FIXME|XXX|HACK)\b/],
  ['blanks', /[ \t]+$/],
]

const main = () => {
  const request = fs.readFileSync(0, 'utf8')
  const files = /^(diff --git |@@ -)/m.test(request) ? filesOfDiff(request) : filesOfDisk(request)
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  report(usdPerSurvey + (usdPerKilobyte * bytes) / 1024)
  console.log(survey(files, bytes))
}

/** The added lines of a diff, with the numbers that they have in the new file. */
const filesOfDiff = diff => {
  const files = []
  let number = 0
  for (const line of diff.split('\n')) {
    const name = /^\+\+\+ (?:b\/)?([^\t\r]+)/.exec(line)?.[1]
    const hunk = /^@@ -\S+ \+(\d+)/.exec(line)?.[1]
    if (name !== undefined) files.push({ name, lines: [], bytes: 0 })
    else if (line.startsWith('+')) files.at(-1)?.lines.push([number, line.slice(1).replace(/\r$/, '')])
    number = hunk === undefined ? number + Number(/^[+ ]/.test(line)) : Number(hunk)
  }
  for (const file of files) file.bytes = file.lines.reduce((sum, [, line]) => sum + Buffer.byteLength(line) + 1, 0)
  return files.filter(({ name }) => name !== '/dev/null')
}

/** Every file below what the request names; the whole folder when it names nothing that exists here. */
const filesOfDisk = request => {
  const words = request.split(/[\s"'`,;:()]+/).map(word => word.replace(/[.?!]+$/, '').replace(/^\.\/(?=.)|\/$/g, ''))
  const named = words.filter(word => word && !path.isAbsolute(word) && !word.startsWith('..') && fs.existsSync(word))
  const names = list(named.length > 0 ? named : ['.']).filter(name => !binary.test(name) && !generated.test(name))
  return names.flatMap(read)
}

const list = roots => {
  try {
    const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...roots]
    const listed = execFileSync('git', args, { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 * 1024 * 1024 })
    return [...new Set(listed.toString().split('\0').filter(Boolean))]
  } catch {
    return [...new Set(roots)].flatMap(walk) // no git here, or no repository
  }
}

const walk = name => {
  if (!fs.statSync(name).isDirectory()) return [name]
  const entries = fs.readdirSync(name, { withFileTypes: true }).filter(entry => entry.isFile() || entry.isDirectory())
  const paths = entries.filter(entry => !entry.name.startsWith('.')).map(entry => path.join(name, entry.name))
  return paths.filter(entry => !generated.test(`${entry}/`)).flatMap(walk)
}

const read = name => {
  const found = fs.statSync(name, { throwIfNoEntry: false })
  if (!found?.isFile() || found.size > fileLimitBytes) return []
  const text = fs.readFileSync(name, 'utf8')
  const lines = text.split('\n').map((line, at) => [at + 1, line.replace(/\r$/, '')])
  return text.includes('\0') ? [] : [{ name, bytes: found.size, lines }]
}

const survey = (files, bytes) => {
  const longest = files.toSorted((a, b) => b.lines.length - a.lines.length).slice(0, 5)
  const found = files.flatMap(({ name, lines }) => lines.flatMap(([number, line]) => look(name, number, line)))
  const long = files.filter(({ lines }) => lines.length > manyLines)
  const tested = new Set(
    list(['.'])
      .filter(name => tests.test(name))
      .flatMap(name => path.basename(name).split(/[._]/)),
  )
  const sources = files.filter(({ name }) => code.test(name) && !tests.test(name))
  const nameless = sources.filter(({ name }) => !tested.has(path.parse(name).name))
  // Where most have no test of their name, tests are not named after files here, and it says nothing.
  const untested = nameless.length * 2 > sources.length ? [] : nameless
  return [
    `Surveyed ${files.length} files, ${files.reduce((sum, { lines }) => sum + lines.length, 0)} lines, ${bytes} bytes.`,
    `Longest: ${longest.map(({ name, lines }) => `${name} (${lines.length})`).join(', ') || 'none'}.`,
    ...found,
    ...long.map(({ name, lines }) => `${name}:1: long: ${lines.length} lines`),
    ...untested.map(({ name }) => `${name}:1: untested:`),
  ].join('\n')
}

const look = (name, number, line) => {
  const hit = marks.find(([, pattern]) => pattern.test(line))
  if (hit === undefined) return []
  const shown = hit[0] === 'secret' ? '(not shown)' : line.trim().slice(0, 100) // a survey must not spread a secret
  return [`${name}:${number}: ${hit[0]}: ${shown}`]
}

const report = usd => {
  const file = process.env.ERRAND_REPORT
  if (file) fs.appendFileSync(file, `${JSON.stringify({ usd: Number(usd.toFixed(4)), model: 'surveyor' })}\n`)
}

main()
