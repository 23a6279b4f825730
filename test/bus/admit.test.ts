import test from 'ava'
import * as E from 'fp-ts/lib/Either.js'
import { type Admitted, admit } from '../../src/bus/admit.ts'
import type { Caller } from '../../src/bus/identity.ts'
import type { TalkRequest } from '../../src/protocol/talk-request.ts'

type Instance = Parameters<typeof admit>[0]

const worker: Instance = {
  ...{ name: 'worker', enabled: true, maxDepth: 3, peers: ['reviewer'] },
  settings: { engine: { name: 'some', resumes: true } },
}
const proved = { turn: 't1', root: 'r1', instance: 'reviewer', depth: 1, owner: 'host' }
const operator: Caller = { kind: 'operator' }
const turn: Caller = { kind: 'turn', proved }
const claim: Caller = { kind: 'claim' }

const talk: TalkRequest = { fromInstance: 'reviewer', prompt: 'hi', depth: 2 }

interface Asked {
  readonly instance?: Partial<Instance>
  readonly caller?: Caller
  readonly talk?: Partial<TalkRequest>
}

const asked = ({ instance, caller = operator, talk: more }: Asked): E.Either<string, Admitted> => {
  const admitted = admit({ ...worker, ...instance }, caller, '/b.json')({ ...talk, ...more })
  return E.isLeft(admitted) ? E.left(`${admitted.left.code}: ${admitted.left.sentence}`) : admitted
}

test('what is let through says who asks, how deep, and what it goes on with or belongs to', t => {
  const plain = { prompt: 'hi', from: 'reviewer', depth: 2 }
  t.deepEqual(asked({}), E.right(plain))
  t.deepEqual(asked({ talk: { protocolVersion: 1, capabilities: ['x'], ext: {} } }), E.right(plain))
  const ext = { thread: 'th', root: 'mine' }
  t.deepEqual(asked({ talk: { ext } }), E.right({ ...plain, ...ext }))
  t.deepEqual(asked({ caller: claim, talk: { ext } }), E.right({ ...plain, ...ext }))
  const ofTurn = E.right({ ...plain, thread: 'th', parent: proved })
  t.deepEqual(asked({ caller: turn, talk: { ext } }), ofTurn, 'the root of a turn is proved, not claimed')
})

// In the order of the checks; each is true together with all that stand below it.
const refusals: readonly [Asked, string][] = [
  [{ instance: { enabled: false } }, 'bus_disabled: Instance worker is disabled ("enabled": false in /b.json).'],
  [{ caller: turn, talk: { depth: 9 } }, 'invalid_request: This turn token speaks at depth 2, not 9.'],
  [
    { instance: { maxDepth: 1 }, caller: turn },
    'max_depth_exceeded: Depth 2 is beyond the maxDepth of worker, 1, in /b.json.',
  ],
  [{ caller: turn, talk: { fromInstance: 'worker' } }, 'peer_not_allowed: This turn token speaks for reviewer only.'],
  [{ talk: { fromInstance: 'worker' } }, 'peer_not_allowed: Instance worker does not talk to itself.'],
  [{ instance: { peers: [] } }, 'peer_not_allowed: "reviewer" is not among the peers of worker in /b.json.'],
  [
    { instance: { settings: { engine: { name: 'some' } } }, talk: { ext: { thread: 'th' } } },
    'invalid_request: worker runs on the engine some, which keeps no sessions: a talk to it goes on with no thread.',
  ],
]

test('a refusal names the rule, and the earlier rule is the one that is named', t => {
  refusals.forEach(([first, sentence], at) => {
    t.deepEqual(asked(first), E.left(sentence))
    for (const [later] of refusals.slice(at + 1)) {
      const both: Asked = {
        ...{ ...later, ...first },
        instance: { ...later.instance, ...first.instance },
        talk: { ...later.talk, ...first.talk },
      }
      t.deepEqual(asked(both), E.left(sentence))
    }
  })
})

test('depth: the deepest is let in, one more is not; a turn speaks one deeper than it runs', t => {
  t.true(E.isRight(asked({ talk: { depth: 3 } })))
  t.true(E.isLeft(asked({ talk: { depth: 4 } })))
  t.true(E.isRight(asked({ talk: { depth: 0 } })))
  t.true(E.isRight(asked({ caller: turn })))
  for (const depth of [0, 1, 3]) t.true(E.isLeft(asked({ caller: turn, talk: { depth } })), `${depth}`)
})

test('peers: by their exact name, or anyone; the operator by the secret alone; nobody is called "*"', t => {
  const isLetIn = (peers: readonly string[], fromInstance: string, caller: Caller = operator): boolean =>
    E.isRight(asked({ instance: { peers }, caller, talk: { fromInstance } }))
  t.true(isLetIn(['other', 'reviewer'], 'reviewer'))
  t.true(isLetIn(['other', '*'], 'reviewer'))
  t.true(isLetIn(['*'], '*'))
  t.true(isLetIn([], 'operator'))
  t.false(isLetIn([], 'operator', claim))
  t.false(isLetIn([], 'reviewer'))
  t.false(isLetIn(['reviewer'], 'Reviewer'))
  t.false(isLetIn(['reviewer'], 'review'))
  t.false(isLetIn(['reviewer'], '*'))
  t.true(isLetIn(['*'], 'operator', claim))
})

test('a long name is not told at length', t => {
  const who = 'x'.repeat(1000)
  t.deepEqual(
    asked({ talk: { fromInstance: who } }),
    E.left(`peer_not_allowed: "${'x'.repeat(64)}" is not among the peers of worker in /b.json.`),
  )
})

test('a thread needs an engine that keeps sessions, as far as its engine is known', t => {
  const ext = { thread: 'th' }
  t.true(E.isRight(asked({ talk: { ext } })))
  const forgets = { settings: { engine: { name: 'some', resumes: false } } }
  t.true(E.isLeft(asked({ instance: forgets, talk: { ext } })))
  t.true(E.isRight(asked({ instance: forgets })))
  t.true(E.isRight(asked({ instance: forgets, talk: { ext: { root: 'mine' } } })))
  const { settings: _, ...unloaded } = worker
  t.true(E.isRight(admit(unloaded, operator, '/b.json')({ ...talk, ext })))
})
