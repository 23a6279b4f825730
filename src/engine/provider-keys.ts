import type { Engine } from './engine.ts'

/** The variables of an engine that pass the allow-list; `{provider}` stands for the keys of the model's own provider. */
export const namesOf = ({ env = [] }: Pick<Engine, 'env'>, model: string | undefined): readonly string[] =>
  (typeof env === 'function' ? env(model) : env).flatMap(name => (name === '{provider}' ? keysOf(model ?? '') : [name]))

/** Of the many keys on a machine, those that `provider/model` needs. */
const keysOf = (model: string): readonly string[] => {
  const provider = model.slice(0, Math.max(0, model.indexOf('/'))).toLowerCase()
  if (provider === '') return []
  const name = provider.toUpperCase().replace(/[^A-Z0-9]+/g, '_')
  // `kimi-coding` and `kimi` have one key.
  return peculiar.get(provider) ?? [`${name}_*`, `${name.split('_', 1)[0]}_API_KEY`]
}

const peculiar: ReadonlyMap<string, readonly string[]> = new Map([
  ['amazon-bedrock', ['AWS_*']],
  ['cloudflare-ai-gateway', ['CLOUDFLARE_*']],
  ['cloudflare-workers-ai', ['CLOUDFLARE_*']],
  ['fireworks-ai', ['FIREWORKS_*']],
  ['github-copilot', ['COPILOT_GITHUB_TOKEN', 'GITHUB_TOKEN']],
  ['google', ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY']],
  ['google-vertex', ['GOOGLE_*', 'GCLOUD_PROJECT', 'VERTEX_*']],
  ['google-vertex-anthropic', ['GOOGLE_*', 'GCLOUD_PROJECT', 'VERTEX_*']],
  ['huggingface', ['HF_TOKEN']],
  ['moonshotai', ['MOONSHOT_API_KEY']],
  ['togetherai', ['TOGETHER_*']],
  ['vercel', ['AI_GATEWAY_API_KEY']],
  ['vercel-ai-gateway', ['AI_GATEWAY_API_KEY']],
  ['zhipuai', ['ZHIPU_*']],
])
