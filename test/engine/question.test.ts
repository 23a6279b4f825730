import test from 'ava'
import command from '../../engines/command.ts'
import { questionIn, waitsForPerson } from '../../src/engine/question.ts'

test('what CLIs ask a person is recognised', t => {
  for (const line of [
    'No API key found. Starting login flow...',
    'Opening browser to complete authentication',
    'Opening your browser...',
    'If your browser did not open, visit this URL to authenticate:',
    'Open https://github.com/login/device in your browser',
    'Waiting for authentication...',
    '? Select login method:',
    'How would you like to authenticate for this project?',
    'Enter the authorization code: ',
    'Please paste your API key:',
    'First copy your one-time code: ABCD-1234',
  ])
    t.is(questionIn(line), 'login', line)
  for (const line of [
    'Do you trust the files in this folder?',
    'Press Enter to continue',
    'Press any key to exit…',
    'Would you like to update now?',
    'Do you want to proceed? ',
    'Continue? [y/N]',
  ])
    t.is(questionIn(line), 'other', line)
})

test('what CLIs say besides is no question', t => {
  for (const line of [
    'Reading additional input from stdin...',
    'Not logged in · Please run /login',
    'Error: No authentication information found.',
    'A new version is available: 1.2.3. Run npm install -g x to update.',
    'Loaded cached credentials.',
    'Listening on http://127.0.0.1:4000',
    `${'x'.repeat(400)} Press Enter to continue`,
    '',
  ])
    t.is(questionIn(line), undefined, line)
})

test('the sentence says what was asked and what to run, without addresses and codes', t => {
  const engine = { ...command, name: 'amp', login: { keys: [], how: 'amp login' } }
  const settings = { engine, cli: ['/bin/amp', '-x'], cwd: '/work' }
  const said = (line: string, about: 'login' | 'other', of = settings) => waitsForPerson(line, about, of).sentence
  t.is(
    said('Visit https://amp.example/auth/abc?token=s3cret#x or enter the code WXYZ-1234', 'login'),
    'The CLI of amp waits for a person: "Visit https://amp.example/… or enter the code …". Run "amp login".',
  )
  const byHand = 'Start /bin/amp -x once by hand in /work and answer it.'
  t.is(said('Do you trust this?', 'other'), `The CLI of amp waits for a person: "Do you trust this?". ${byHand}`)
  t.true(waitsForPerson('Opening browser', 'login', { ...settings, engine: command }).sentence.endsWith(byHand))
  t.is(waitsForPerson('x', 'login', settings).code, 'auth')
})
