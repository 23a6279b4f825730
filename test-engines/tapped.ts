import type { Command, Engine, EngineEnd } from '../src/engine/engine.ts'

/** What an engine was shown: to be told when a CLI says something else than it did. */
export interface Heard {
  /** What it had to be started. */
  readonly command?: Command
  /** The last records of stdout, cut. */
  readonly records: readonly string[]
  /** How the CLI ended, where its engine was asked to judge that. */
  readonly end?: EngineEnd
}

/** The same engine, listened to. The process that it starts is no other. */
export const tapped = (engine: Engine): { readonly engine: Engine; readonly heard: () => Heard } => {
  const records: string[] = []
  let end: EngineEnd | undefined
  let command: Command | undefined
  return {
    engine: {
      ...engine,
      command: task => {
        command = engine.command(task)
        return command
      },
      decode: record => {
        records.push((JSON.stringify(record.json) ?? '').slice(0, 240))
        if (records.length > 5) records.shift()
        return engine.decode(record)
      },
      classify: ended => {
        end = ended
        return engine.classify(ended)
      },
    },
    heard: () => ({
      records,
      ...(command === undefined ? {} : { command }),
      ...(end === undefined ? {} : { end }),
    }),
  }
}
