import type { ServerResponse } from 'node:http'
import type { Api } from './apis.ts'

/** The first events of a streamed answer, and then nothing. */
export const beginAnswer = (api: Api, outgoing: ServerResponse): void => {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const one of beginnings[api]) {
    const name = 'type' in one ? `event: ${one.type}\n` : ''
    outgoing.write(`${name}data: ${JSON.stringify(one)}\n\n`)
  }
}

const beginnings: Readonly<Record<Api, readonly object[]>> = {
  messages: [
    event('message_start', {
      message: {
        id: 'msg_begun',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 1200, output_tokens: 1 },
      },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'I begin' } }),
  ],
  responses: [
    event('response.created', {
      response: { id: 'resp_begun', object: 'response', status: 'in_progress', output: [] },
    }),
    event('response.output_item.added', {
      output_index: 0,
      item: { id: 'msg_begun', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
    }),
    event('response.output_text.delta', { item_id: 'msg_begun', output_index: 0, content_index: 0, delta: 'I begin' }),
  ],
  chat: [
    {
      id: 'chat_begun',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'mock-model',
      choices: [{ index: 0, delta: { role: 'assistant', content: 'I begin' }, finish_reason: null }],
    },
  ],
  gemini: [{ candidates: [{ content: { role: 'model', parts: [{ text: 'I begin' }] }, index: 0 }] }],
}

function event(type: string, rest: object): { readonly type: string } {
  return { type, ...rest }
}
