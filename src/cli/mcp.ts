import type { TalkEvent } from '../launch/talk.ts'
import { serveMcp } from '../mcp/serve.ts'
import { oneLine } from '../protocol/failure.ts'
import { warn } from './refuse.ts'
import type { Common, Terminal } from './terminal.ts'
import { withState } from './with-state.ts'

/** Serves an MCP client on stdin and stdout until it is gone; words for people go to stderr. */
export const mcp = (terminal: Terminal, version: string, options: Common): Promise<number> =>
  withState(terminal, { ...options, json: false }, async state => {
    const end = new AbortController()
    const off = terminal.onSignal(() => end.abort())
    await serveMcp(state, {
      input: process.stdin,
      output: process.stdout,
      version,
      end: end.signal,
      onEvent: event => tell(terminal, event),
      onError: error => terminal.say(`errand: ${oneLine(error.message)}`),
      verbose: options.verbose === true,
    })
    off()
    return 0
  })

const tell = (terminal: Terminal, event: TalkEvent): void => {
  if (event.kind === 'warning') warn(terminal, [event.sentence])
}
