import type { ServerResponse } from 'node:http'
import type { Api } from './apis.ts'

/** How a provider refuses, as its API words it. */
export type Refusal =
  | 'refuses'
  | 'forbids'
  | 'limits'
  | 'limits-for-a-while'
  | 'quota'
  | 'fails'
  | 'unavailable'
  | 'overloaded'
  | 'no-model'

/** Told by `limits-for-a-while`, in the header and in the body. */
export const retryAfterMs = 21_000

/** Answers a request with a refusal. */
export const refuse = (outgoing: ServerResponse, refusal: Refusal, api: Api): void => {
  const [status, body, headers = {}] = table[refusal][api]
  outgoing.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1', ...headers })
  outgoing.end(JSON.stringify(body))
}

export const isRefusal = (mode: string): mode is Refusal => Object.hasOwn(table, mode)

type Response = readonly [status: number, body: object, headers?: Readonly<Record<string, string>>]

const anthropic = (status: number, type: string, message: string, headers: Record<string, string> = {}): Response => [
  status,
  { type: 'error', error: { type, message }, request_id: 'req_1' },
  headers,
]

const openai = (
  status: number,
  type: string,
  code: string | null,
  message: string,
  headers: Record<string, string> = {},
): Pick<Record<Api, Response>, 'responses' | 'chat'> => {
  const response: Response = [status, { error: { message, type, param: null, code } }, headers]
  return { responses: response, chat: response }
}

const google = (code: number, status: string, message: string, details: readonly object[] = []): Response => [
  code,
  { error: { code, message, status, ...(details.length > 0 ? { details } : {}) } },
]

const seconds = String(retryAfterMs / 1000)
const rpc = 'type.googleapis.com/google.rpc'
const overQuota = 'You exceeded your current quota, please check your plan and billing details.'

const table: Readonly<Record<Refusal, Readonly<Record<Api, Response>>>> = {
  refuses: {
    messages: anthropic(401, 'authentication_error', 'invalid x-api-key'),
    ...openai(401, 'invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.'),
    gemini: google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
      { '@type': `${rpc}.ErrorInfo`, reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
    ]),
  },
  forbids: {
    messages: anthropic(
      403,
      'permission_error',
      'Your API key does not have permission to use the specified resource.',
    ),
    ...openai(
      403,
      'request_forbidden',
      'unsupported_country_region_territory',
      'Country, region, or territory not supported',
    ),
    gemini: google(
      403,
      'PERMISSION_DENIED',
      'Generative Language API has not been used in this project or is disabled.',
    ),
  },
  limits: {
    messages: anthropic(429, 'rate_limit_error', 'This request would exceed your rate limit.'),
    ...openai(429, 'requests', 'rate_limit_exceeded', 'Rate limit reached for requests'),
    gemini: google(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'),
  },
  'limits-for-a-while': {
    messages: anthropic(429, 'rate_limit_error', 'This request would exceed your rate limit.', {
      'retry-after': seconds,
    }),
    ...openai(
      429,
      'tokens',
      'rate_limit_exceeded',
      `Rate limit reached for requests. Please try again in ${seconds}s.`,
      { 'retry-after': seconds },
    ),
    gemini: google(429, 'RESOURCE_EXHAUSTED', `Resource has been exhausted. Please retry in ${seconds}s.`, [
      { '@type': `${rpc}.RetryInfo`, retryDelay: `${seconds}s` },
    ]),
  },
  quota: {
    messages: anthropic(
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
    ...openai(429, 'insufficient_quota', 'insufficient_quota', overQuota),
    gemini: google(429, 'RESOURCE_EXHAUSTED', overQuota, [
      {
        '@type': `${rpc}.QuotaFailure`,
        violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier', quotaValue: '50' }],
      },
    ]),
  },
  fails: {
    messages: anthropic(500, 'api_error', 'Internal server error'),
    ...openai(500, 'server_error', null, 'The server had an error while processing your request.'),
    gemini: google(500, 'INTERNAL', 'An internal error has occurred.'),
  },
  unavailable: {
    messages: anthropic(503, 'api_error', 'Service unavailable'),
    ...openai(503, 'server_error', null, 'The service is temporarily unavailable.'),
    gemini: google(503, 'UNAVAILABLE', 'The service is currently unavailable.'),
  },
  overloaded: {
    messages: anthropic(529, 'overloaded_error', 'Overloaded'),
    ...openai(
      503,
      'server_error',
      'server_is_overloaded',
      'Our servers are currently overloaded. Please try again later.',
    ),
    gemini: google(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  },
  'no-model': {
    messages: anthropic(404, 'not_found_error', 'model: no-such-model'),
    ...openai(
      404,
      'invalid_request_error',
      'model_not_found',
      'The model `no-such-model` does not exist or you do not have access to it.',
    ),
    gemini: google(404, 'NOT_FOUND', 'models/no-such-model is not found for API version v1beta'),
  },
}
