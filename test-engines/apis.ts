/** Whose words: Anthropic's messages, OpenAI's responses and chat completions, Google's generateContent. */
export type Api = 'messages' | 'responses' | 'chat' | 'gemini'

/** The API that a path belongs to, and whether it asks the model for an answer. */
export const apiOf = (path: string): Api | undefined => {
  if (/:(?:streamG|g)enerateContent\b/.test(path)) return 'gemini'
  if (/\/messages(?:\?|$)/.test(path)) return 'messages'
  if (/\/responses(?:\?|$)/.test(path)) return 'responses'
  return /\/chat\/completions(?:\?|$)/.test(path) ? 'chat' : undefined
}
