import test from 'ava'
import { openHop } from './hop.ts'

// Gemini CLI is handed no server: its agent delegates in its shell.
const ways = {
  qwen: 'delegates',
  opencode: 'delegates',
  copilot: 'delegates',
  pi: 'delegates',
  gemini: 'tool',
} as const

for (const cli of ['qwen', 'opencode', 'copilot', 'pi', 'gemini'] as const) {
  test.serial(`${cli} delegates, and the answer comes back`, async t => {
    const hop = await openHop({
      reviewer: { cli, mode: ways[cli], access: 'read' },
      worker: { command: ['cat'], more: { peers: ['reviewer'] } },
    })
    try {
      const { stdout } = await hop.errand('talk', 'reviewer', '--json', 'Say hi <<ALPHA>>')
      t.log(stdout.trim())
      t.regex(JSON.parse(stdout).text, /(?:the other one|the command) said: .*Say hi <<BETA>>/s)
      const turns: readonly Record<string, unknown>[] = JSON.parse((await hop.errand('log', '--json')).stdout)
      t.deepEqual(
        turns.map(({ instance, depth, outcome }) => [instance, depth, outcome]),
        [
          ['worker', 2, 'success'],
          ['reviewer', 1, 'success'],
        ],
      )
    } finally {
      await hop.close()
    }
  })
}
