import path from 'node:path'
import type { Budget, Limits } from '../budget/budget.ts'
import type { Price } from '../engine/settings.ts'
import { limitMicroUsd } from '../protocol/money.ts'
import type { InstanceText } from './codec.ts'
import type { InstanceConfig } from './config.ts'
import type { BudgetText, PriceText } from './members.ts'
import { durationMs, sizeBytes } from './quantity.ts'

const defaultTimeoutMs = 600_000
const defaultLineLimitBytes = 8 * 1024 ** 2

/** One instance with its defaults, its paths from `folder` on. */
export const fillInstance = (
  name: string,
  text: InstanceText,
  folder: string,
  total: Budget | undefined,
): InstanceConfig => {
  const told = text.engine === 'command' ? text.command : text.cli
  const cli = typeof told === 'string' ? [told] : told
  return {
    name,
    engine: text.engine,
    enabled: text.enabled ?? true,
    peers: text.peers ?? [],
    delegates: text.delegates ?? true,
    maxDepth: text.maxDepth ?? 3,
    port: text.port ?? 0,
    concurrency: text.concurrency ?? 1,
    queueLimit: text.queue ?? 256,
    queueTimeoutMs: durationMs(text.queueTimeout ?? '') ?? defaultTimeoutMs,
    maxTurnsPerRoot: text.maxTurnsPerRoot ?? 50,
    limits: limitsOf(text, total),
    cli: cli === undefined ? undefined : fromFolder(cli, folder),
    args: text.args ?? [],
    cwd: path.resolve(folder, text.cwd ?? '.'),
    env: text.env ?? [],
    timeoutMs: durationMs(text.timeout ?? '') ?? defaultTimeoutMs,
    lineLimitBytes: sizeBytes(text.lineLimit) ?? defaultLineLimitBytes,
    ...idleTimeoutOf(text),
    ...(text.description === undefined ? {} : { description: text.description }),
    ...(text.model === undefined ? {} : { model: text.model }),
    ...(text.access === undefined ? {} : { access: text.access }),
    ...(text.instructions === undefined ? {} : { instructionsFile: path.resolve(folder, text.instructions) }),
    ...(text.price === undefined ? {} : priceOf(text.price)),
  }
}

export const budgetOf = (text: BudgetText): Budget => ({
  per: text.per ?? 'total',
  ...(text.usd === undefined ? {} : { microUsd: limitMicroUsd(text.usd) }),
  ...(text.tokens === undefined ? {} : { tokens: text.tokens }),
  ...(text.turns === undefined ? {} : { turns: text.turns }),
})

const limitsOf = (text: InstanceText, total: Budget | undefined): Limits => ({
  ...(text.budget === undefined ? {} : { budget: budgetOf(text.budget) }),
  ...(total === undefined ? {} : { total }),
  ...(text.maxTurnUsd === undefined ? {} : { maxTurnMicroUsd: limitMicroUsd(text.maxTurnUsd) }),
  ...(text.maxTurnTokens === undefined ? {} : { maxTurnTokens: text.maxTurnTokens }),
})

const idleTimeoutOf = ({ idleTimeout }: InstanceText): { readonly idleTimeoutMs?: number } => {
  const idleTimeoutMs = durationMs(idleTimeout ?? '')
  return idleTimeoutMs === undefined ? {} : { idleTimeoutMs }
}

// A bare name is looked for on PATH; what has a slash is a path.
export const fromFolder = ([program = '', ...args]: readonly string[], folder: string): readonly string[] => [
  program.includes('/') ? path.resolve(folder, program) : program,
  ...args,
]

const priceOf = (text: PriceText): { readonly price?: Price } => {
  const { inputPerMTok, outputPerMTok, cachedInputPerMTok, cacheWritePerMTok, perTurn } = text
  if (perTurn !== undefined) return { price: { perTurn } }
  if (inputPerMTok === undefined || outputPerMTok === undefined) return {}
  return {
    price: {
      inputPerMTok,
      outputPerMTok,
      ...(cachedInputPerMTok === undefined ? {} : { cachedInputPerMTok }),
      ...(cacheWritePerMTok === undefined ? {} : { cacheWritePerMTok }),
    },
  }
}
