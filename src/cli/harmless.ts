import { stripVTControlCharacters } from 'node:util'

/** What an agent wrote, without what would steer a terminal: colours, titles, the clipboard, a cursor that goes back. */
export const harmless = (text: string): string => stripVTControlCharacters(text).replace(steering, '')

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
