import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { Failure } from '../../src/protocol/failure.ts'
import { openStore, type StoreOptions } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

/** A folder of this test's own, gone after it. */
export const testFolder = (t: ExecutionContext): string => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'errand-store-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const right = <A>(either: E.Either<Failure, A>): A => {
  if (E.isLeft(either)) throw new Error(`${either.left.code}: ${either.left.sentence}`)
  return either.right
}

export const left = <A>(either: E.Either<Failure, A>): Failure => {
  if (E.isRight(either)) throw new Error(`no failure, but ${JSON.stringify(either.right)}`)
  return either.left
}

export const opened = async (t: ExecutionContext, folder: string, options?: StoreOptions): Promise<Store> => {
  const store = right(await openStore(folder, options)())
  t.teardown(() => store.close())
  return store
}
