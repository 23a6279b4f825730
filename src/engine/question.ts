import { type Failure, failure } from '../protocol/failure.ts'
import type { EngineSettings } from './settings.ts'

/** Whether a line asks a person something that nobody is there to answer: for a login, or anything else. */
export const questionIn = (line: string): 'login' | 'other' | undefined => {
  const said = line.slice(0, longestQuestion)
  if (login.test(said)) return 'login'
  return other.test(said) ? 'other' : undefined
}

/** Why a turn is ended whose CLI waits for a person, and what that person has to do. */
export const waitsForPerson = (
  line: string,
  about: 'login' | 'other',
  { engine, cli, cwd }: Pick<EngineSettings, 'engine' | 'cli' | 'cwd'>,
): Failure<'auth'> => {
  const said = `The CLI of ${engine.name} waits for a person: "${withoutSecrets(line.slice(0, longestQuestion).trim())}".`
  const how = engine.login?.how
  const byHand = `Start ${cli.join(' ')} once by hand in ${cwd} and answer it.`
  return failure('auth', `${said} ${about === 'login' && how !== undefined ? `Run "${how}".` : byHand}`)
}

/** Addresses and codes of a login belong to one person: of an address only the place is left. */
const withoutSecrets = (text: string): string =>
  text.replace(/(\bhttps?:\/\/[^\s/?#]{1,200})\S*/gi, '$1/…').replace(/\b[A-Z0-9]{3,8}-[A-Z0-9]{3,8}\b/g, '…')

// Questions are short; what is long is output.
const longestQuestion = 400

const login = new RegExp(
  [
    'opening (?:your |the |a )?(?:default |web )?browser',
    'open(?:ed)? (?:your|the|a) browser',
    '(?:open|visit|go to|navigate to|browse to) (?:this|the following|the) (?:url|link|page|address)',
    '(?:open|visit|go to|navigate to) https?://',
    'waiting for (?:browser |user )?(?:authentication|authorization|authorisation|login|log-in|sign-?in)',
    'starting (?:the )?login',
    'login flow',
    '(?:enter|paste) (?:the|your|this) (?:[\\w-]+ ){0,2}(?:code|api[ -]?key|token|password|passphrase)',
    'one-time code',
    '(?:select|choose) (?:a |your |the )?(?:login|log-in|auth\\w*|sign-?in) method',
    'how (?:would|do) you (?:like|want) to (?:authenticate|log ?in|sign ?in)',
  ].join('|'),
  'i',
)

const other = new RegExp(
  [
    'do you trust ',
    'trust (?:the files in )?this (?:folder|directory|workspace)\\?',
    '(?:press|hit) (?:enter|return|any key)',
    '(?:would|do) you (?:like|want) to (?:update|upgrade|install|continue|proceed|enable|share|send)',
    '[[(](?:y/n|yes/no)[\\])]',
  ].join('|'),
  'i',
)
