import { type Failure, failure } from '../protocol/failure.ts'

export const noTurn = (id: string): Failure =>
  failure('invalid_request', `There is no turn whose id begins with "${id}". \`errand log\` lists them.`)
