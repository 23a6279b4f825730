import { isUtf8 } from 'node:buffer'
import * as E from 'fp-ts/lib/Either.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import { type Failure, failure } from '../protocol/failure.ts'
import { warn } from './refuse.ts'
import type { Terminal } from './terminal.ts'

const noticeAfterMs = 2000

/** The words of the command line and what was piped in, joined by an empty line. */
export const readPrompt =
  (terminal: Terminal, words: string | undefined, limitBytes: number): TE.TaskEither<Failure, string> =>
  async () => {
    const piped = terminal.typed ? '' : await readPiped(terminal, limitBytes)
    if (piped === undefined) {
      return E.left(
        failure('request_too_large', `What was piped in is longer than ${limitBytes} bytes (bus.bodyLimit).`),
      )
    }
    if (piped.includes('\0')) {
      return E.left(failure('invalid_request', 'What was piped in is not text: there are NUL characters in it.'))
    }
    const parts = [words ?? '', piped].filter(part => part.trim() !== '')
    return parts.length > 0
      ? E.right(parts.join('\n\n'))
      : E.left(
          failure(
            'invalid_request',
            'There is nothing to ask: the prompt is empty. Write one after the name, or pipe one in.',
          ),
        )
  }

// A pipe that nobody closes would be waited for without a word.
const readPiped = async (terminal: Terminal, limitBytes: number): Promise<string | undefined> => {
  const notice = setTimeout(() => terminal.say('errand: reading standard input to its end …'), noticeAfterMs)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of terminal.stdin) {
      bytes += chunk.length
      if (bytes > limitBytes) return undefined
      chunks.push(chunk)
    }
  } catch {
    // Closed or a folder: there is no more to read.
  } finally {
    clearTimeout(notice)
  }
  const all = Buffer.concat(chunks)
  if (!isUtf8(all)) warn(terminal, ['what was piped in is not all UTF-8; the bytes that are not go as "\uFFFD".'])
  return all.toString('utf8')
}
