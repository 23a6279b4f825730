import type { Config } from '../launch/config.ts'
import { didYouMean } from '../launch/did-you-mean.ts'
import { type Failure, failure } from '../protocol/failure.ts'

/** Why a name is nobody's here; `undefined` where it is an instance of budgets.json. */
export const unknownInstance = ({ instances, file }: Config, name: string): Failure | undefined => {
  if (instances.has(name)) return undefined
  const names = [...instances.keys()]
  return failure(
    'instance_unavailable',
    `There is no instance "${name}" in ${file}.${didYouMean(name, names) || ` It has ${names.join(', ')}.`}`,
  )
}
