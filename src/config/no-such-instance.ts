import { type Failure, failure } from '../protocol/failure.ts'
import type { Config } from './config.ts'
import { didYouMean } from './did-you-mean.ts'

/** No retry mends a name that the file does not have, so it is no `instance_unavailable`. */
export const noSuchInstance = ({ instances, file }: Pick<Config, 'instances' | 'file'>, name: string): Failure =>
  failure(
    'invalid_request',
    `${file} has no instance "${name}".${didYouMean(name, instances.keys()) || ` It has: ${[...instances.keys()].join(', ')}.`}`,
  )
