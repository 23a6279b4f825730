import { readFileSync } from 'node:fs'
import test from 'ava'
import { priceList } from '../../src/engine/price-list.ts'

test('the price list that is named is the one that the package depends on', t => {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  t.like(manifest, { dependencies: { [priceList.name]: priceList.version } })
  const installed = new URL(`../../node_modules/${priceList.name}/package.json`, import.meta.url)
  t.like(JSON.parse(readFileSync(installed, 'utf8')), { version: priceList.version })
})
