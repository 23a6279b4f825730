import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Engine, EngineEvent, JsonView, LoggedRun } from '../../src/engine/engine.ts'
import { viewOf } from '../../src/engine/json-view.ts'

const transcripts = join(import.meta.dirname, '..', 'fixtures', 'transcripts')

/** The records of a file below the transcripts, one per line. */
export const recordsOf = (file: string): readonly JsonView[] =>
  readFileSync(join(transcripts, file), 'utf8')
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => viewOf(JSON.parse(line)))

/** What an engine reads in a session's log that its CLI really wrote. */
export const logged = (engine: Engine, file: string, run: LoggedRun): readonly EngineEvent[] =>
  recordsOf(file).flatMap(record => engine.log?.decode(record, run) ?? [])
