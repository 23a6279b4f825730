import type { TalkEvent } from '../launch/talk.ts'
import { oneLine } from '../protocol/failure.ts'
import { warn } from './refuse.ts'
import type { Terminal } from './terminal.ts'

/** What happens on the way to an answer, for a person. */
export const tellEvent = (terminal: Terminal, event: TalkEvent): void => {
  if (event.kind === 'warning') warn(terminal, [event.sentence])
  else if (!terminal.watched) return
  else if (event.kind === 'launched') terminal.say(terminal.dim(`launched ${event.instances.join(', ')}`))
  else if (event.kind === 'again') terminal.say(terminal.dim(oneLine(`trying again ${event.why}`)))
}
