import { readFileSync } from 'node:fs'
import test from 'ava'
import { covered } from './covered.ts'

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

const ids = read('vectors/cases.jsonl')
  .split('\n')
  .filter(line => line !== '')
  .map(line => String(JSON.parse(line).id))

test('every fault case has a test that proves it, and no other is named', t => {
  t.is(ids.length, 90)
  t.deepEqual(Object.keys(covered).toSorted(), ids.toSorted())
})

test('the tests that are named are there', t => {
  for (const [id, proofs] of Object.entries(covered)) {
    t.true(proofs.length > 0, id)
    for (const [file, title] of proofs) {
      const titles = [...read(file).matchAll(/(?:\btest(?:\.serial)?\(\s*|^\s*)('(?:[^'\\\n]|\\.)*'|`[^`]*`)/gm)].map(
        ([, one]) => one,
      )
      t.true(
        titles.some(one => one?.includes(title)),
        `${id}: ${file} has no test "${title}"`,
      )
    }
  }
})
