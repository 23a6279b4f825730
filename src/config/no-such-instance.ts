import { didYouMean } from '../protocol/did-you-mean.ts'
import { type Failure, failure } from '../protocol/failure.ts'
import type { Config } from './config.ts'

/** No retry mends a name that the file does not have, so it is no `instance_unavailable`. */
export const noSuchInstance = ({ instances, file }: Pick<Config, 'instances' | 'file'>, name: string): Failure =>
  failure(
    'invalid_request',
    `${file} has no instance "${name}".${didYouMean(name, instances.keys()) || ` It has: ${[...instances.keys()].join(', ')}.`}`,
  )
