import test from 'ava'
import { judgeOf } from './one-stream.ts'

const said = { usage: { input_tokens: 1, output_tokens: 1 } }
const claudeSays = (text: string) => ({
  type: 'assistant',
  message: { id: 'm', content: [{ type: 'text', text }], ...said },
})
const codexSays = (text: string) => ({ type: 'item.completed', item: { type: 'agent_message', text } })
const copilotSays = (content: string) => ({ type: 'assistant.message', data: { content } })
const copilotError = { type: 'session.error', data: { errorType: 'authentication', message: 'The token was refused.' } }
const geminiSays = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true })
const opencodeSays = (text: string, messageID = '') => ({ type: 'text', part: { text, messageID } })
const opencodeError = { type: 'error', error: { name: 'APIError', data: { message: 'Overloaded', statusCode: 529 } } }
const opencodeStops = { type: 'step_finish', part: { reason: 'stop', cost: 0.1, tokens: {} } }
const piEnds = (stopReason: string, text: string, errorMessage = '') => ({
  type: 'agent_end',
  messages: [{ role: 'assistant', stopReason, errorMessage, content: [{ type: 'text', text }] }],
})

// Records in which one field, or one record, says success and another one does not.
const rows: readonly (readonly [
  what: string,
  engine: string,
  records: readonly object[],
  text: string,
  code?: string,
])[] = [
  [
    'no error, but a subtype of one',
    'claude',
    [claudeSays('half'), { type: 'result', subtype: 'error_max_turns', is_error: false, result: '' }],
    '',
    'engine_cli',
  ],
  [
    'no error, a subtype of one, a text',
    'claude',
    [{ type: 'result', subtype: 'error_during_execution', is_error: false, result: 'half' }],
    '',
    'engine_cli',
  ],
  [
    'a success without a text',
    'claude',
    [claudeSays('half'), { type: 'result', subtype: 'success', is_error: false }],
    '',
    'engine_cli',
  ],
  [
    'a success whose text is none',
    'claude',
    [{ type: 'result', subtype: 'success', is_error: false, result: 42 }],
    '',
    'engine_cli',
  ],
  [
    'an error after a success',
    'claude',
    [
      { type: 'result', is_error: false, result: 'done' },
      { type: 'result', is_error: true, result: 'Not logged in' },
    ],
    '',
    'auth',
  ],
  [
    'the end is there twice, the second one longer',
    'claude',
    [
      { type: 'result', is_error: false, result: 'one' },
      { type: 'result', is_error: false, result: 'one and two' },
    ],
    'one and two',
  ],

  [
    'the end of a failed turn without a word',
    'codex',
    [
      codexSays('half'),
      { type: 'turn.failed', error: { message: 'unexpected status 401 Unauthorized' } },
      { type: 'turn.completed' },
    ],
    '',
    'auth',
  ],
  [
    'a failed turn, then another one that answers',
    'codex',
    [{ type: 'turn.failed', error: { message: 'stream error' } }, codexSays('after all'), { type: 'turn.completed' }],
    'after all',
  ],
  [
    'a turn that ends without a word',
    'codex',
    [{ type: 'turn.completed', usage: { input_tokens: 1, output_tokens: 1 } }],
    '',
    'engine_cli',
  ],
  [
    'only thoughts',
    'codex',
    [{ type: 'item.completed', item: { type: 'reasoning', text: 'hm' } }, { type: 'turn.completed' }],
    '',
    'engine_cli',
  ],
  [
    'an error item in a turn that answers',
    'codex',
    [codexSays('yes'), { type: 'item.completed', item: { type: 'error', message: '401' } }, { type: 'turn.completed' }],
    'yes',
  ],

  [
    'exit status 0 after an error',
    'copilot',
    [copilotSays('half'), copilotError, { type: 'result', exitCode: 0 }],
    '',
    'auth',
  ],
  [
    'an error that it got over',
    'copilot',
    [copilotError, copilotSays('after all'), { type: 'result', exitCode: 0 }],
    'after all',
  ],
  ['no exit status', 'copilot', [copilotSays('half'), { type: 'result' }], '', 'engine_cli'],
  ['an exit status in words', 'copilot', [copilotSays('half'), { type: 'result', exitCode: '0' }], '', 'engine_cli'],
  [
    'a tool was called last',
    'copilot',
    [
      copilotSays('I look.'),
      { type: 'tool.execution_start', data: { toolName: 'view' } },
      { type: 'result', exitCode: 0 },
    ],
    '',
    'engine_cli',
  ],

  [
    'a status that nobody knows',
    'gemini',
    [geminiSays('half'), { type: 'result', status: 'cancelled' }],
    '',
    'engine_cli',
  ],
  ['an error without a message', 'gemini', [geminiSays('half'), { type: 'result', status: 'error' }], '', 'engine_cli'],
  [
    'a notice before the answer',
    'gemini',
    [{ type: 'error', severity: 'error', message: '401' }, geminiSays('yes'), { type: 'result', status: 'success' }],
    'yes',
  ],
  [
    'an answer and an error in one object',
    'gemini',
    [{ response: 'half', error: { message: 'API key not valid' } }],
    '',
    'auth',
  ],
  ['an object without an answer', 'gemini', [{ response: '', stats: {} }], '', 'engine_cli'],

  ['a stop after an error', 'opencode', [opencodeSays('half'), opencodeError, opencodeStops], '', 'rate_limited'],
  ['an error that it got over', 'opencode', [opencodeError, opencodeSays('after all'), opencodeStops], 'after all'],
  ['an error after a stop', 'opencode', [opencodeSays('half'), opencodeStops, opencodeError], '', 'rate_limited'],
  [
    'cut at its length',
    'opencode',
    [opencodeSays('half'), { type: 'step_finish', part: { reason: 'length' } }],
    '',
    'engine_cli',
  ],
  [
    'a reason that nobody knows',
    'opencode',
    [opencodeSays('half'), { type: 'step_finish', part: { reason: 'other' } }],
    '',
    'engine_cli',
  ],
  [
    'an answer in two parts',
    'opencode',
    [opencodeSays('It is', 'm'), opencodeSays('fine.', 'm'), opencodeStops],
    'It is\n\nfine.',
  ],
  ['a stop without a word', 'opencode', [opencodeStops], '', 'engine_cli'],

  ['a run that broke', 'pi', [piEnds('error', 'half', '401: {"message":"no"}')], '', 'auth'],
  ['a run that was aborted', 'pi', [piEnds('aborted', 'half')], '', 'engine_cli'],
  [
    'a run that broke, and one that answers',
    'pi',
    [piEnds('error', '', 'prompt is too long'), piEnds('stop', 'after all')],
    'after all',
  ],
  ['a stop without a word', 'pi', [piEnds('stop', '')], '', 'engine_cli'],
  ['a reason that nobody knows', 'pi', [piEnds('toolUse', 'half')], '', 'engine_cli'],

  [
    'no error, but a subtype of one',
    'qwen',
    [{ type: 'result', subtype: 'error_max_turns', is_error: false, result: 'half' }],
    '',
    'engine_cli',
  ],
  [
    '"success" around an error',
    'qwen',
    [{ type: 'result', subtype: 'success', is_error: true, result: '[API Error: 401 no]' }],
    '',
    'auth',
  ],
  ['a success without a text', 'qwen', [{ type: 'result', subtype: 'success', is_error: false }], '', 'engine_cli'],
]

for (const [what, engine, records, text, code] of rows) {
  test(`${engine}: ${what}`, async t => {
    const judge = await judgeOf(engine)
    const stdout = Buffer.from(records.map(one => `${JSON.stringify(one)}\n`).join(''))
    for (const exitCode of [0, 1]) {
      const judged = await judge({ stdout, exit: { exitCode } })
      t.is('code' in judged ? judged.code : undefined, code, JSON.stringify(judged))
      if ('code' in judged) t.notRegex(judged.sentence, /^(?:|success|error)$/)
      else t.is(judged.text, text)
    }
  })
}
