import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Add, Chosen } from './chosen.ts'
import { count } from './count.ts'
import type { FanFlags } from './fan.ts'
import type { Terminal } from './terminal.ts'
import type { VerifyFlags } from './verify.ts'
import type { WorkFlags } from './work.ts'

/** Several instances as one piece of work: `errand fan`, `chain` and `verify`. */
export const addWork = (add: Add, terminal: Terminal, errand: Command, choose: (chosen: Chosen) => void): void => {
  common(
    add(
      'fan',
      'ask several instances the same at once',
      'Asks several instances the same at once, and prints every answer. Exit status 0: at least one answered; what the others ' +
        'met is said on stderr. None answered: the status of the first failure.',
      [
        'errand fan "What is wrong with this design?" --to reviewer,worker < design.md',
        'errand fan "Review the src folder" --to worker,worker,worker --at-once 2 --budget 0.50',
        'errand fan "Survey it" --to a,b --workflow nightly --json',
      ],
    )
      .argument('[prompt...]', 'what to ask; after -- if it begins with a dash; what is piped in is added to it')
      .requiredOption(
        '--to <names>',
        'instances, with commas between them; one that comes twice is asked twice',
        listed,
      )
      .addOption(new Option('--at-once <n>', 'talks at once (default: 8)').argParser(count('a number of talks', 1))),
  ).action((words: string[], options: FanFlags) =>
    choose(async () => (await import('./fan.ts')).fan(terminal, words.join(' '), { ...errand.opts(), ...options })),
  )

  common(
    add(
      'chain',
      'each gets the answer of the one before it',
      'Asks one instance after the other: the first gets the prompt, each other one the answer before it. Prints the last ' +
        'answer. Stops at the first failure, and gives its status; answers before that are kept (`errand log TURN --text`).',
      [
        'errand chain researcher writer editor "The history of the paper clip"',
        'git diff | errand chain reviewer worker --budget 1',
      ],
    ).argument('<name...>', 'instances, in order; then the prompt, in quotes, where none is piped in'),
  ).action((all: string[], options: WorkFlags) =>
    choose(async () => (await import('./chain.ts')).chain(terminal, all, { ...errand.opts(), ...options })),
  )

  common(
    add(
      'verify',
      'one answers, another judges',
      'Has an instance answer and another one judge; an answer that does not pass goes back with the reason. Prints the last ' +
        'answer. Exit status 0: it passed; 1: no answer passed.',
      [
        'errand verify worker --by reviewer "Mend the failing test"',
        'errand verify worker --by reviewer --most 5 --criteria "npm test passes" "Mend the failing test"',
      ],
    )
      .argument('<name>', 'the instance that answers')
      .argument('[prompt...]', 'what to ask; after -- if it begins with a dash; what is piped in is added to it')
      .requiredOption('--by <name>', 'the instance that judges')
      .addOption(new Option('--most <n>', 'answers at most (default: 3)').argParser(count('a number of answers', 1)))
      .option('--criteria <words>', 'what a good answer is (default: it does what was asked, and is right)'),
  ).action((name: string, words: string[], options: VerifyFlags) =>
    choose(async () =>
      (await import('./verify.ts')).verify(terminal, name, words.join(' '), { ...errand.opts(), ...options }),
    ),
  )
}

const common = (command: Command): Command =>
  command
    .option('--budget <usd>', 'dollars that all of it together may cost, such as 2 or 0.50')
    .option('--timeout <time>', 'give up after this long, such as 90s or 10m (default: as long as it takes)')
    .addOption(
      new Option('--retry <n>', 'repeat each talk up to n times, while trying again may help').argParser(
        count('a number of times'),
      ),
    )
    .option('--workflow <name>', 'keep each answer under this name: the same command again goes on where it stopped')
    .option('--fresh', 'with --workflow: begin anew')

const listed = (text: string): readonly string[] => {
  const names = text.split(',').map(name => name.trim())
  if (names.every(name => name !== '')) return names
  throw new InvalidArgumentError('It must be names of instances with commas between them.')
}
