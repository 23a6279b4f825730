import type { Command } from 'commander'
import type { Add, Chosen } from './chosen.ts'
import type { Terminal } from './terminal.ts'

/** `errand budget`, and what the operator can do to one. */
export const addBudget = (add: Add, terminal: Terminal, errand: Command, choose: (chosen: Chosen) => void): void => {
  const budget = add(
    'budget',
    'what was spent, is held, and is left',
    'Shows what was spent, is held, and is left, in the current window of each budget.',
    [
      'errand budget',
      'errand budget worker --json',
      'errand budget add worker 2    two dollars more in the current window',
      'errand budget reset worker    the current window begins anew',
      'errand budget forgive 3f9c    give back what a turn of unknown cost was charged',
    ],
  )
  budget
    .argument('[name]', 'an instance; * for all together (default: every budget)')
    .action((name: string | undefined) =>
      choose(async () => (await import('./budget.ts')).budget(terminal, name, errand.opts())),
    )

  const change = (usage: string, summary: string, description: string, examples: readonly string[]): Command =>
    budget
      .command(usage)
      .summary(summary)
      .description(description)
      .helpOption('-h, --help', 'print this help')
      .addHelpText('after', `\nExamples:\n${examples.map(example => `  ${example}`).join('\n')}`)

  change(
    'add',
    'add dollars to the current window',
    'Add dollars to what an instance may spend in its current window.',
    ['errand budget add worker 2', 'errand budget add "*" 0.50'],
  )
    .argument('<name>', 'an instance; * for all together')
    .argument('<usd>', 'dollars, such as 2 or 0.50')
    .action((name: string, usd: string) =>
      choose(async () => (await import('./budget-add.ts')).budgetAdd(terminal, name, usd, errand.opts())),
    )

  change(
    'reset',
    'begin the current window anew',
    'Begins the current window of a budget anew: nothing spent, nothing added. What is held stays held; `errand log` keeps every turn.',
    ['errand budget reset worker', 'errand budget reset "*"'],
  )
    .argument('<name>', 'an instance; * for all together')
    .action((name: string) =>
      choose(async () => (await import('./budget-reset.ts')).budgetReset(terminal, name, errand.opts())),
    )

  change(
    'forgive',
    'give back what a turn of unknown cost was charged',
    'Gives back what a turn was charged beyond what it was seen to spend. Only where nobody can tell what it cost: a turn that was cut is charged all that it held.',
    ['errand budget forgive 3f9c'],
  )
    .argument('<turn>', 'the id of a turn, or its beginning')
    .action((turn: string) =>
      choose(async () => (await import('./budget-forgive.ts')).budgetForgive(terminal, turn, errand.opts())),
    )
}
