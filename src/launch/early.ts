import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { Talk } from '../client/delegate.ts'
import { operator } from '../config/codec.ts'
import type { Config, InstanceConfig } from '../config/config.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { decodeTalkRequest } from '../protocol/envelope.ts'
import { type Failure, failure } from '../protocol/failure.ts'

/** What the target would refuse for certain, told before anything is launched or sent. It refuses in any case. */
export const refuseEarly = (config: Config, name: string, talk: Talk): E.Either<Failure, InstanceConfig> =>
  pipe(
    E.fromNullable<Failure>(noSuchInstance(config, name))(config.instances.get(name)),
    E.chainFirstW(() => decodeTalkRequest({ ...talk, depth: talk.depth + 1 })),
    E.chainFirstW(() => fits(config, talk)),
    E.chainW(target => admits(target, talk)),
  )

const fits = ({ bodyLimitBytes }: Config, { prompt }: Talk): E.Either<Failure, void> => {
  const length = Buffer.byteLength(JSON.stringify(prompt))
  return length <= bodyLimitBytes
    ? E.right(undefined)
    : E.left(
        failure(
          'request_too_large',
          `The prompt takes ${length} bytes; ${bodyLimitBytes} is the limit ("bus": { "bodyLimit" } in budgets.json).`,
        ),
      )
}

const admits = (target: InstanceConfig, { fromInstance, depth }: Talk): E.Either<Failure, InstanceConfig> => {
  const { name, enabled, maxDepth, peers } = target
  if (!enabled) return E.left(failure('bus_disabled', `${name} is disabled in budgets.json ("enabled": false).`))
  if (depth + 1 > maxDepth) {
    return E.left(
      failure('max_depth_exceeded', `${name} accepts talks to depth ${maxDepth}; this one has ${depth + 1}.`),
    )
  }
  if (fromInstance === name) return E.left(failure('peer_not_allowed', `${name} cannot talk to itself.`))
  if (fromInstance === operator || peers.includes('*') || peers.includes(fromInstance)) return E.right(target)
  return E.left(failure('peer_not_allowed', `${fromInstance} is not among the peers of ${name} in budgets.json.`))
}
