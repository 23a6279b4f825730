import { type Command, Option } from 'commander'
import type { Add, Chosen } from './chosen.ts'
import { count } from './count.ts'
import type { CheckOptions, DoctorOptions, InitOptions } from './options.ts'
import type { Terminal } from './terminal.ts'

/** The commands that tell what is ready, and make it so: `errand init`, `check` and `doctor`. */
export const addReady = (add: Add, terminal: Terminal, errand: Command, choose: (chosen: Chosen) => void): void => {
  add(
    'init',
    'write a budgets.json from what is installed',
    'Looks which provider CLIs are installed and logged in, and writes a budgets.json with one instance for each.',
    [
      'errand init',
      'errand init --config agents/budgets.json',
      'errand init --force           in place of the one that is there',
    ],
  )
    .option('--force', 'replace a budgets.json that is there')
    .action((options: InitOptions) =>
      choose(async () => (await import('./init.ts')).init(terminal, { ...errand.opts(), ...options })),
    )

  add(
    'check',
    'could the instances run now? may one ask the other?',
    'Says whether budgets.json is sound and its instances could run now: everything that is wrong, at once. With --to, ' +
      'whether a talk would be admitted, and which rule stops it.',
    ['errand check', 'errand check --json', 'errand check --from reviewer --to worker'],
  )
    .option('--to <name>', 'an instance: would a talk to it be admitted?')
    .option('--from <name>', 'who would ask (default: operator)')
    .addOption(
      new Option('--depth <n>', "the caller's own depth (default: 0 for operator, 1 for an instance)").argParser(
        count('a depth'),
      ),
    )
    .action((options: CheckOptions) =>
      choose(async () => (await import('./check.ts')).check(terminal, { ...errand.opts(), ...options })),
    )

  add(
    'doctor',
    'what is installed, what is wrong, how to mend it',
    'Looks at the provider CLIs (found, version, logged in, prices), the instances and the bus, and says what mends what is ' +
      'wrong. Exit status 0: every enabled instance of budgets.json could run now.',
    ['errand doctor', 'errand doctor --fix           mend what can be mended safely', 'errand doctor --json'],
  )
    .option('--fix', 'mend what is safe to mend: modes of our own files, entries and processes of hosts that died')
    .action((options: DoctorOptions) =>
      choose(async () => (await import('./doctor.ts')).doctor(terminal, { ...errand.opts(), ...options })),
    )
}
