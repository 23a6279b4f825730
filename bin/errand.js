#!/usr/bin/env node
// Old versions of Node must be able to parse this file: it is here to tell them what is missing.
import fs from 'node:fs'
import module from 'node:module'
import v8 from 'node:v8'

const neededMajor = 24

const refusal = () => {
  if (process.platform === 'win32') {
    return 'errand runs on Linux and macOS; on Windows it is not tested yet, so start it inside WSL.'
  }
  if (Number(process.versions.node.split('.')[0]) < neededMajor) {
    return (
      `errand needs Node ${neededMajor} or newer and this is Node ${process.versions.node}: ` +
      'install a newer one from https://nodejs.org, or start it as `npx errand …` in a checkout, which brings its own.'
    )
  }
  try {
    process.cwd()
    return undefined
  } catch {
    return 'The folder that this shell stands in does not exist any more. Go to another one, or back into it: cd "$PWD".'
  }
}

// Early versions of Node 24 say this on every start; every other warning stays.
const isNoise = text => /SQLite is an experimental feature|Type Stripping is an experimental feature/.test(text)

const quiet = () => {
  const emitWarning = process.emitWarning
  process.emitWarning = (warning, ...rest) => {
    if (!isNoise(String(warning))) emitWarning.call(process, warning, ...rest)
  }
}

const start = async () => {
  quiet()
  // A bus may live for days: V8 would let its young heap grow in a busy hour to several times of what lives, and keep that.
  v8.setFlagsFromString('--semi-space-growth-factor=1')
  module.enableCompileCache()
  const source = new URL('../src/cli/main.ts', import.meta.url)
  const built = new URL('../dist/src/cli/main.js', import.meta.url)
  const found = [source, built].find(url => fs.existsSync(url))
  if (found === undefined) {
    process.stderr.write('errand is not built: run `npm ci` in its folder.\n')
    process.exitCode = 78
    return
  }
  const { main } = await import(found.href)
  await main()
}

const refused = refusal()
if (refused === undefined) {
  await start()
} else {
  process.stderr.write(`${refused}\n`)
  process.exitCode = 78
}
