import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test, { type ExecutionContext } from 'ava'
import { newOwner } from '../../src/launch/hosting.ts'
import { recover } from '../../src/launch/recover.ts'
import type { State } from '../../src/launch/state.ts'
import { startTimeOf, thisProcess } from '../../src/process/identity.ts'
import { echo, makeWorld, right, scripted } from './world.ts'

/** A process in a group of its own, that carries this mark. */
const processOf = async (
  t: ExecutionContext,
  mark: string,
): Promise<{ readonly pid: number; readonly lives: () => boolean }> => {
  const child = spawn('sleep', ['600'], { detached: true, env: { ...process.env, ERRAND_TURN: mark } })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  return { pid: child.pid ?? 0, lives: () => child.exitCode === null && child.signalCode === null }
}

/** A turn whose host was killed, and the process that the ledger had recorded of it. */
const cutTurn = async (state: State, turn: string, recorded: { readonly pid: number; readonly startTime: string }) => {
  await heldTurn(state, turn)
  await right(state.ledger.started(turn, recorded))
}

const heldTurn = async ({ ledger, registry }: State, turn: string) => {
  const { owner } = newOwner()
  await right(
    registry.claim({ owner, process: { ...thisProcess(), startTime: '1' } }, [{ name: turn, engine: 'command' }]),
  )
  const chain = { turn, root: turn, instance: 'worker', from: 'operator', depth: 1, engine: 'command', owner }
  await right(ledger.enter({ ...chain, tokenDigest: turn, limits: {}, maxTurnsPerRoot: 50 }, true))
}

test('of what a dead host left, only what is still the same process is ended: no stranger that got its number', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(echo) } })
  const orphan = await processOf(t, 'turn-1')
  const stranger = await processOf(t, 'turn-11')
  const outside = await processOf(t, '')
  await cutTurn(state, 'turn-1', { pid: orphan.pid, startTime: startTimeOf(orphan.pid) ?? '' })
  await cutTurn(state, 'turn-2', { pid: stranger.pid, startTime: '1' })
  await cutTurn(state, 'turn-3', { pid: outside.pid, startTime: String(Number(startTimeOf(outside.pid)) - 1) })
  await cutTurn(state, 'turn-4', { pid: 1, startTime: '1' })
  await cutTurn(state, 'turn-5', { pid: 0, startTime: '' })
  t.is((await right(recover(state))).length, 5)
  t.false(orphan.lives())
  t.true(stranger.lives())
  t.true(outside.lives())
})

test('what a turn left behind that had ended just before its host died is ended too', async t => {
  const state = await (await makeWorld(t)).state({ instances: { worker: scripted(echo) } })
  const left = await processOf(t, 'outer:turn-1')
  const other = await processOf(t, 'turn-2')
  await heldTurn(state, 'turn-1')
  const cost = { microUsd: 0, basis: 'none' } as const
  await right(state.ledger.settle({ turn: 'turn-1', cost, tokens: 0, outcome: 'success', answer: 'x' }))
  t.is((await right(recover(state))).length, 1)
  t.false(left.lives())
  t.true(other.lives())
})
