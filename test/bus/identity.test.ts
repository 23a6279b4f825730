import { createHash } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import type { ProvedTurn } from '../../src/budget/ledger.ts'
import { authenticate, type Caller, newTurn, tokenDigestOf } from '../../src/bus/identity.ts'
import { type Failure, failure } from '../../src/protocol/failure.ts'
import { createBus } from '../fixtures/bus.ts'

const proved: ProvedTurn = { turn: 't', root: 'r', instance: 'reviewer', depth: 1, owner: 'alive' }

/** A host whose ledger knows one token, and notes each digest that it is asked for. */
const aDoor = async (t: ExecutionContext, secret: string | undefined, { owner = 'alive', store = true } = {}) => {
  const { host, ledger, close } = await createBus({ secret })
  t.teardown(close)
  const { token, tokenDigest } = newTurn()
  const looks: string[] = []
  const no = failure('internal_error', 'The store does not answer.')
  const door = authenticate({
    ...host,
    ownerLives: async of => of === 'alive',
    ledger: {
      ...ledger,
      proved: digest => async () => {
        looks.push(digest)
        if (!store) return E.left(no)
        return E.right(digest === tokenDigest ? { ...proved, owner } : undefined)
      },
    },
  })
  const ask = async (...authorization: readonly string[]): Promise<Caller | Failure['code']> => {
    const came = await door(authorization)()
    return E.isLeft(came) ? came.left.code : came.right
  }
  return { token, looks, ask, door }
}

const strange = (bearer: string): readonly (readonly string[])[] => [
  [],
  [''],
  [bearer],
  ['Bearer'],
  ['Bearer '],
  [`Bearer${bearer}`],
  [`xBearer ${bearer}`],
  [` Bearer ${bearer}`],
  [`Basic ${bearer}`],
  [`Bearer ${bearer} `],
  [`Bearer ${bearer} ${bearer}`],
  [`Bearer x ${bearer}`],
  [`Bearer ${bearer}`, `Bearer ${bearer}`],
]

test('a new turn has an id, a token that nobody can guess, and keeps a digest of it alone', t => {
  const turns = Array.from({ length: 100 }, newTurn)
  for (const { turn, token, tokenDigest } of turns) {
    t.regex(turn, /^[0-9a-f]{16}$/)
    t.regex(token, /^[0-9a-f]{64}$/)
    t.is(tokenDigest, createHash('sha256').update(token).digest('hex'))
    t.false(token.includes(turn))
  }
  t.is(new Set(turns.flatMap(({ turn, token }) => [turn, token])).size, 200)
  t.is(tokenDigestOf('é'), createHash('sha256').update(Buffer.from('é')).digest('hex'))
})

test('the secret is the operator, in one header of the form of the protocol', async t => {
  const { looks, ask, door } = await aDoor(t, 'k')
  for (const good of ['Bearer k', 'bearer k', 'BEARER  k']) t.deepEqual(await ask(good), { kind: 'operator' }, good)
  for (const bad of [...strange('k'), ['Bearer K'], ['Bearer kk']]) t.is(await ask(...bad), 'auth_failed', String(bad))
  t.deepEqual(looks, [], 'the store is asked for what may be a token alone')
  const refused = await door([])()
  t.like(refused, {
    left: {
      sentence:
        'The bus secret is missing or wrong. Send it in the header Authorization as a bearer token, or talk by the errand command.',
    },
  })
})

test('a token is its turn while the owner of that lives', async t => {
  const { token, looks, ask } = await aDoor(t, 'k')
  t.deepEqual(await ask(`Bearer ${token}`), { kind: 'turn', proved })
  t.is(await ask(`Bearer ${newTurn().token}`), 'auth_failed')
  t.is(looks.length, 2)
  const like = [token.slice(1), `${token}0`, `0${token}`, token.toUpperCase().replace(/^./, 'A'), `g${token.slice(1)}`]
  for (const bad of [...strange(token), ...like.map(one => [`Bearer ${one}`])]) t.is(await ask(...bad), 'auth_failed')
  t.is(looks.length, 2)
  const gone = await aDoor(t, 'k', { owner: 'dead' })
  t.is(await gone.ask(`Bearer ${gone.token}`), 'auth_failed')
})

test('without a secret whoever proves nothing claims; a token proves still', async t => {
  const { token, ask } = await aDoor(t, undefined)
  for (const form of [...strange('k'), ['Bearer k'], ['Bearer '], [`Bearer ${newTurn().token}`]])
    t.deepEqual(await ask(...form), { kind: 'claim' }, String(form))
  t.deepEqual(await ask(`Bearer ${token}`), { kind: 'turn', proved })
  const gone = await aDoor(t, undefined, { owner: 'dead' })
  t.deepEqual(await gone.ask(`Bearer ${gone.token}`), { kind: 'claim' })
})

test('a store that does not answer proves nobody', async t => {
  for (const secret of ['k', undefined]) {
    const { token, ask } = await aDoor(t, secret, { store: false })
    t.is(await ask(`Bearer ${token}`), 'internal_error')
  }
})
