import { Command, Option } from 'commander'
import type { Add, Chosen } from './chosen.ts'
import { count } from './count.ts'
import type { LogOptions, TalkOptions, UpOptions } from './options.ts'
import { addBudget } from './program-budget.ts'
import { addReady } from './program-ready.ts'
import { addWork } from './program-work.ts'
import type { Terminal } from './terminal.ts'

/** The command line as a whole; `choose` hears which command it is, so that parsing runs nothing. */
export const program = (terminal: Terminal, version: string, choose: (chosen: Chosen) => void): Command => {
  const errand = new Command('errand')
    .description('Named coding agents on this machine send each other on errands, within budgets.')
    .version(version, '-V, --version', 'print the version')
    .option('--config <file>', 'budgets.json (default: $ERRAND_CONFIG, else looked for upward from here)')
    .option('--json', 'print JSON on stdout; words for people go to stderr')
    .option('--verbose', 'show the log on stderr')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .usage('[options] <command>')
    .addHelpText('after', examplesOfAll)

  const add: Add = (usage, summary, description, examples) =>
    errand
      .command(usage)
      .summary(summary)
      .description(description)
      .helpOption('-h, --help', 'print this help')
      .addHelpText('after', `\nExamples:\n${examples.map(example => `  ${example}`).join('\n')}`)

  add(
    'up',
    'keep instances running, until Ctrl-C',
    'Launches instances and keeps them listening, until Ctrl-C or `errand stop`. Turns that run then have 10 s to end; ' +
      'a second Ctrl-C ends them at once.',
    [
      'errand up                     all instances of budgets.json',
      'errand up worker              one of them',
      'errand up --json              a line of JSON for each, when it listens',
      'errand up --take-over         after an upgrade: take the place of the process that hosts them, which ends its turns',
    ],
  )
    .argument('[name...]', 'instances of budgets.json (default: all)')
    .option('--take-over', 'host also what another process hosts; that one answers what it still runs, and ends')
    .action((names: string[], options: UpOptions) =>
      choose(async () => (await import('./up.ts')).up(terminal, names, { ...errand.opts(), ...options })),
    )

  add(
    'talk',
    'ask an instance, print its answer',
    'Asks an instance and prints its answer. If it does not run, it is launched for this one talk, and with it whom it may ask.',
    [
      'errand talk reviewer "Review the src folder"',
      'git diff | errand talk reviewer "look at this"',
      'errand talk worker --timeout 2m --retry 3 --json < question.txt',
      'errand talk worker --from reviewer --dry-run "may reviewer ask?"',
      'errand talk worker --follow "say what you do while you do it"',
    ],
  )
    .argument('<name>', 'an instance of budgets.json')
    .argument('[prompt...]', 'what to ask; after -- if it begins with a dash; what is piped in is added to it')
    .option('--from <name>', 'speak as this instance (default: operator)')
    .addOption(new Option('--depth <n>', "the caller's own depth (default: 0)").argParser(count('a depth')))
    .option('--timeout <time>', 'give up after this long, such as 90s or 10m (default: as long as it takes)')
    .addOption(
      new Option('--retry <n>', 'repeat up to n times, while trying again may help').argParser(
        count('a number of times'),
      ),
    )
    .option('--follow', 'show on stderr what it does meanwhile; with --json an event a line, the answer last')
    .option('--thread <name>', 'go on with this conversation, where its engine keeps sessions')
    .option('--cwd <folder>', 'where the instance works, if this talk launches it')
    .option('--dry-run', 'say what would happen, and ask nobody')
    .action((name: string, words: string[], options: TalkOptions) =>
      choose(async () =>
        (await import('./talk.ts')).talk(terminal, name, words.join(' '), { ...errand.opts(), ...options }),
      ),
    )

  addWork(add, terminal, errand, choose)

  add(
    'mcp',
    'an MCP server on stdio, by which an agent delegates',
    'Serves MCP on stdin and stdout: tools that list the instances, ask them, and collect their answers. Instances get it by ' +
      'themselves; your own agent gets it as below.',
    [
      'claude mcp add errand -- errand --config /path/to/budgets.json mcp',
      'codex mcp add errand -- errand --config /path/to/budgets.json mcp',
    ],
  ).action(() => choose(async () => (await import('./mcp.ts')).mcp(terminal, version, errand.opts())))

  add('ps', 'what runs', 'Shows what runs: instance, engine, address, process, turns, budget.', [
    'errand ps',
    'errand ps --json',
  ]).action(() => choose(async () => (await import('./ps.ts')).ps(terminal, errand.opts())))

  addBudget(add, terminal, errand, choose)

  add(
    'log',
    'the turns, newest first, or one of them',
    'Lists the turns, newest first; or shows one, with what it delegated and what that cost.',
    [
      'errand log',
      'errand log 3f9c               one turn; the beginning of its id is enough',
      'errand log 3f9c --text        what it answered',
    ],
  )
    .argument('[turn]', 'the id of a turn, or its beginning')
    .option('--text', 'print the answer of the turn (kept for 24 hours)')
    .addOption(
      new Option('-n, --limit <n>', 'how many turns to list').default(50).argParser(count('a number of turns', 1)),
    )
    .action((turn: string | undefined, options: LogOptions) =>
      choose(async () => (await import('./log.ts')).log(terminal, turn, { ...errand.opts(), ...options })),
    )

  addReady(add, terminal, errand, choose)

  add('cancel', 'end a turn', 'Ends a turn with all that it delegated, and says what was ended.', [
    'errand cancel 3f9c            the beginning of its id is enough; `errand log` lists them',
    'errand cancel 3f9c --json',
  ])
    .argument('<turn>', 'the id of a turn, or its beginning')
    .action((turn: string) => choose(async () => (await import('./cancel.ts')).cancel(terminal, turn, errand.opts())))

  add('stop', 'end instances', 'Ends instances. A turn that runs has 10 s to end by itself, then it is ended.', [
    'errand stop                   all that run',
    'errand stop worker',
  ])
    .argument('[name...]', 'instances that run (default: all)')
    .action((names: string[]) => choose(async () => (await import('./stop.ts')).stop(terminal, names, errand.opts())))

  return speakPlainly(errand, terminal)
}

const examplesOfAll = `
Examples:
  errand talk reviewer "Review the src folder"
  git diff | errand talk reviewer "look at this"
  errand up                     keep the instances running, in another terminal
  errand log                    who asked whom, what came of it, and what it cost

Exit status:
  0   done
  1   \`errand verify\`: no answer passed
  64  wrong command line
  65  wrong request, prompt or budgets.json
  70  cancelled, or the state folder cannot be trusted
  74  the output could not be written
  75  failed, and trying again may help
  77  not allowed, or the budget is used up
  78  the instance is disabled, its CLI is not logged in, or its account is empty
  130 Ctrl-C`

const speakPlainly = (command: Command, terminal: Terminal): Command => {
  command
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError(true)
    .configureOutput({
      writeOut: text => terminal.out(text.replace(/\n$/, '')),
      writeErr: text => terminal.say(text.replace(/\n$/, '')),
      outputError: (text, write) => write(`errand: ${text.replace(/^error: /, '')}`),
    })
    .showHelpAfterError(`(\`${pathOf(command)} --help\` says how it goes.)`)
  for (const each of command.commands) speakPlainly(each, terminal)
  return command
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
