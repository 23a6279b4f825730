// A provider CLI whose agent does as its prompt says, `[["delegate", {…}], …]`: it starts the MCP server that it was handed
// (COMMAND ARGS… after its own path), calls these tools, and answers with what they said. A word `pause` waits for a file.
import { existsSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const calls = JSON.parse(await text(process.stdin))
const [command, args, names] = process.argv.slice(2)
const env = Object.fromEntries(JSON.parse(names).map(name => [name, process.env[name]]))
const client = new Client({ name: 'agent', version: '1' })
await client.connect(new StdioClientTransport({ command, args: JSON.parse(args), env, stderr: 'inherit' }))
const said = [client.getInstructions()]
for (const call of calls) {
  if (call === 'pause') {
    writeFileSync('paused', '')
    while (!existsSync('go')) await sleep(20)
  } else {
    const { content, isError = false } = await client.callTool({ name: call[0], arguments: call[1] ?? {} })
    said.push(`${isError ? 'ERROR ' : ''}${content.map(({ text }) => text).join('')}`)
  }
}
await client.close()
process.stdout.write(JSON.stringify(said))
