import fs from 'node:fs'
import path from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts/lib/index.js'
import { decode } from '../protocol/decode.ts'

/** The version of the package that a program belongs to, as npm installed it: for one that does not tell it. */
export const packageVersion = (program: string): string | undefined => {
  try {
    for (let at = path.dirname(fs.realpathSync(program)); path.basename(at) !== 'node_modules'; at = path.dirname(at)) {
      if (path.dirname(at) === at) return undefined
      const file = path.join(at, 'package.json')
      const found = fs.existsSync(file) ? decode(described, JSON.parse(fs.readFileSync(file, 'utf8'))) : undefined
      // A package.json without a version only says of what kind the files beside it are.
      if (found !== undefined && E.isRight(found)) return found.right.version
    }
  } catch {
    // Nobody else can tell either.
  }
  return undefined
}

const described = t.type({ name: t.string, version: t.string })
