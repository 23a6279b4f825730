/**
 * Codex tells the tools of an MCP server as a namespace, which the mock of the API passes over: it is told them as plain
 * functions, `mcp__errand__delegate`.
 */
export const flattened = (body: Buffer): Buffer => {
  const request: { readonly tools?: readonly Tool[] } = JSON.parse(body.toString('utf8'))
  if (request.tools === undefined) return body
  const tools = request.tools.flatMap(({ type, name, tools: inner = [], ...rest }) =>
    type === 'namespace' ? inner.map(one => ({ ...one, name: `${name}__${one.name}` })) : [{ type, name, ...rest }],
  )
  return Buffer.from(JSON.stringify({ ...request, tools }))
}

/** And what the mock calls by such a name, is called as Codex expects it. */
export const unflattened = (answer: Buffer): Buffer =>
  Buffer.from(answer.toString('utf8').replace(/"name":"(mcp__\w+?)__(\w+)"/g, '"namespace":"$1","name":"$2"'))

interface Tool {
  readonly type: string
  readonly name?: string
  readonly tools?: readonly Tool[]
}
