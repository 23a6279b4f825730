import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { admit } from '../bus/admit.ts'
import type { Talk } from '../client/delegate.ts'
import type { Config, InstanceConfig } from '../config/config.ts'
import { noSuchInstance } from '../config/no-such-instance.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import { decodeTalkRequest } from '../protocol/talk-request.ts'

/** What the target would refuse for certain, told before anything is launched or sent. It refuses in any case. */
export const refuseEarly = (config: Config, name: string, talk: Talk): E.Either<Failure, InstanceConfig> =>
  pipe(
    E.fromNullable<Failure>(noSuchInstance(config, name))(config.instances.get(name)),
    E.chainFirst(() => fits(config, talk)),
    E.chainFirst(target =>
      pipe(
        decodeTalkRequest({ ...talk, depth: talk.depth + 1, ext: { thread: talk.thread } }),
        E.chain(admit(target, { kind: 'operator' }, config.file)),
      ),
    ),
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
