import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Config } from '../config/config.ts'
import { isFolder } from '../config/is-folder.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { durationMs } from '../config/quantity.ts'
import { openState, type State } from '../launch/state.ts'
import { talk as ask } from '../launch/talk.ts'
import { usageExitStatus } from '../protocol/error-codes.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { isThreadName, threadNames } from '../protocol/talk-request.ts'
import { answer, answerFailure } from './answer.ts'
import { callerOf, closed } from './caller.ts'
import { dryRun } from './dry-run.ts'
import { follow, followAsJson } from './follow.ts'
import type { TalkOptions } from './options.ts'
import { progress } from './progress.ts'
import { readPrompt } from './prompt.ts'
import { refuse } from './refuse.ts'
import { tellEvent } from './tell-event.ts'
import type { Terminal } from './terminal.ts'
import { configOf } from './with-state.ts'

/** Asks an instance, and prints its answer. */
export const talk = async (terminal: Terminal, name: string, words: string, options: TalkOptions): Promise<number> => {
  const timeoutMs = durationMs(options.timeout ?? '0s')
  if (timeoutMs === undefined || (options.timeout !== undefined && timeoutMs === 0)) {
    terminal.say(`errand: --timeout must be a time such as 90s, 10m or 1h, at most 24d, not "${options.timeout}".`)
    return usageExitStatus
  }
  if (options.thread !== undefined && !isThreadName(options.thread)) {
    terminal.say(`errand: --thread must be ${threadNames}, not "${options.thread}".`)
    return usageExitStatus
  }
  const config = await configOf(terminal, options)()
  if (E.isLeft(config)) return refuse(terminal, config.left, options)
  // Whoever misspelled a name shall hear it before we wait for what is piped in.
  if (!config.right.instances.has(name)) {
    return answerFailure(terminal, noSuchInstance(config.right, name), name, options)
  }
  const cwd = options.cwd === undefined ? undefined : resolve(terminal.where.folder, options.cwd)
  if (cwd !== undefined && !(await isFolder(cwd)())) {
    return answerFailure(
      terminal,
      failure('invalid_request', `--cwd must name a folder, and ${cwd} is none.`),
      name,
      options,
    )
  }
  const prompt = await readPrompt(terminal, words, config.right.bodyLimitBytes)()
  if (E.isLeft(prompt)) return answerFailure(terminal, prompt.left, name, options)
  const opened = await openState(workingIn(config.right, name, cwd), terminal.where)()
  if (E.isLeft(opened)) return answerFailure(terminal, opened.left, name, options)
  const caller = callerOf(terminal)
  try {
    if (options.dryRun === true) return await dryRun(terminal, opened.right, name, prompt.right, options)
    const runs = cwd === undefined ? E.right(undefined) : await runsNot(opened.right, name)
    if (E.isLeft(runs)) return answerFailure(terminal, runs.left, name, options)
    const status = await askAndAnswer(terminal, opened.right, name, prompt.right, options, timeoutMs, caller.signal)
    return caller.status() ?? status
  } finally {
    await closed(terminal, opened.right)
    caller.off()
  }
}

const runsNot = async ({ registry }: State, name: string): Promise<E.Either<Failure, void>> => {
  const listed = await registry.list()()
  if (E.isLeft(listed)) return listed
  const running = listed.right.find(entry => entry.name === name && entry.life !== 'dead')
  return running === undefined
    ? E.right(undefined)
    : E.left(
        failure(
          'invalid_request',
          `${name} runs already, in process ${running.pid}, so --cwd cannot change where it works. End it: errand stop ${name}.`,
        ),
      )
}

const workingIn = (config: Config, name: string, cwd: string | undefined): Config => {
  const target = config.instances.get(name)
  if (cwd === undefined || target === undefined) return config
  return { ...config, instances: new Map([...config.instances, [name, { ...target, cwd }]]) }
}

const askAndAnswer = async (
  terminal: Terminal,
  state: State,
  name: string,
  prompt: string,
  options: TalkOptions,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<number> => {
  const shown = options.follow ? (options.json ? followAsJson(terminal) : follow(terminal, name)) : undefined
  const line = shown ?? progress(terminal, `${name} is asked`)
  const reply = await ask(state, {
    name,
    prompt,
    ...(options.from === undefined ? {} : { from: options.from }),
    ...(options.depth === undefined ? {} : { depth: options.depth }),
    ...(options.thread === undefined ? {} : { thread: options.thread }),
    ...(options.retry === undefined ? {} : { retry: options.retry }),
    ...(timeoutMs === 0 ? {} : { timeoutMs }),
    signal,
    verbose: options.verbose === true,
    onEvent: event => line.while(() => tellEvent(terminal, event)),
    ...(shown === undefined ? {} : { onProgress: shown.tell }),
  })()
  line.end()
  return answer(terminal, reply.envelope, options)
}
